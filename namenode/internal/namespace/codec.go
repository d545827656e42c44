package namespace

import (
	"errors"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// opVersion is the version of the op format, the first byte of every op.
const opVersion = 1

// What follows the kind: a byte of these flags, then what they announce.
const (
	opHasUser = 1 << iota
	opHasGroups
	opHasHost
	opHasCall
)

// AppendTo puts the op's binary form behind b: version, kind, flags, time, caller, call, arguments.
func (o *Op) AppendTo(b []byte) []byte {
	var flags byte
	if o.Caller.User != "" {
		flags |= opHasUser
	}
	if len(o.Caller.Groups) > 0 {
		flags |= opHasGroups
	}
	if o.Caller.Host != "" {
		flags |= opHasHost
	}
	if o.CallID != 0 || o.ClientID != [16]byte{} {
		flags |= opHasCall
	}
	b = append(b, opVersion, byte(o.Kind()), flags)
	b = appendInt(b, o.Time)
	if flags&opHasUser != 0 {
		b = appendString(b, o.Caller.User)
	}
	if flags&opHasGroups != 0 {
		b = appendStrings(b, o.Caller.Groups)
	}
	if flags&opHasHost != 0 {
		b = appendString(b, o.Caller.Host)
	}
	if flags&opHasCall != 0 {
		b = append(b, o.ClientID[:]...)
		b = appendInt(b, o.CallID)
	}
	return o.Args.appendTo(b)
}

// DecodeOp reads what AppendTo wrote. The op keeps nothing of b.
func DecodeOp(b []byte) (*Op, error) {
	d := &decoder{b: b}
	if v := d.byte(); d.err == nil && v != opVersion {
		return nil, fmt.Errorf("op of version %d, this program knows version %d", v, opVersion)
	}
	k := Kind(d.byte())
	if d.err == nil && (k == 0 || k >= kindEnd) {
		return nil, fmt.Errorf("op of unknown kind %d", uint8(k))
	}
	flags := d.byte()
	o := &Op{Time: d.int64()}
	if flags&opHasUser != 0 {
		o.Caller.User = d.string()
	}
	if flags&opHasGroups != 0 {
		o.Caller.Groups = d.strings()
	}
	if flags&opHasHost != 0 {
		o.Caller.Host = d.string()
	}
	if flags&opHasCall != 0 {
		copy(o.ClientID[:], d.raw(16))
		o.CallID = getInt[int32](d)
	}
	if d.err == nil {
		o.Args = kindTable[k].make()
		o.Args.decodeFrom(d)
	}
	if d.err == nil && len(d.b) > 0 {
		d.err = errors.New("bytes are left behind its end")
	}
	if d.err != nil {
		return nil, fmt.Errorf("bad op of %d bytes: %w", len(b), d.err)
	}
	return o, nil
}

func (a *SetParams) appendTo(b []byte) []byte {
	p := &a.Params
	b = appendBool(b, p.Permissions)
	b = appendStrings(b, []string{p.Superuser, p.Supergroup, p.Pool})
	for _, v := range p.numbers() {
		b = appendInt(b, *v)
	}
	return appendInt(appendInt(b, p.MinReplication), p.MaxReplication)
}

func (a *SetParams) decodeFrom(d *decoder) {
	p := &a.Params
	p.Permissions = d.bool()
	if s := d.strings(); len(s) == 3 {
		p.Superuser, p.Supergroup, p.Pool = s[0], s[1], s[2]
	} else {
		d.fail(errShort)
	}
	for _, v := range p.numbers() {
		*v = d.int64()
	}
	p.MinReplication, p.MaxReplication = getInt[int16](d), getInt[int16](d)
}

func (a *StartSegment) appendTo(b []byte) []byte { return appendUint(b, a.Term) }
func (a *StartSegment) decodeFrom(d *decoder)    { a.Term = d.uvarint() }

func (a *Mkdirs) appendTo(b []byte) []byte {
	return appendBool(appendUint(appendString(b, a.Path), a.Perm), a.CreateParent)
}

func (a *Mkdirs) decodeFrom(d *decoder) {
	a.Path, a.Perm, a.CreateParent = d.string(), getUint[dfs.Perm](d), d.bool()
}

func (a *Create) appendTo(b []byte) []byte {
	b = appendUint(appendString(b, a.Path), a.Perm)
	b = appendUint(appendString(b, a.Holder), a.Flags)
	b = appendInt(appendBool(b, a.CreateParent), a.Replication)
	return append(appendInt(b, a.BlockSize), a.StoragePolicy)
}

func (a *Create) decodeFrom(d *decoder) {
	a.Path, a.Perm, a.Holder, a.Flags = d.string(), getUint[dfs.Perm](d), d.string(), getUint[dfs.CreateFlag](d)
	a.CreateParent, a.Replication, a.BlockSize, a.StoragePolicy = d.bool(), getInt[int16](d), d.int64(), d.byte()
}

func (a *Append) appendTo(b []byte) []byte {
	return appendBool(appendString(appendString(b, a.Path), a.Holder), a.NewBlock)
}

func (a *Append) decodeFrom(d *decoder) {
	a.Path, a.Holder, a.NewBlock = d.string(), d.string(), d.bool()
}

// appendWriter is how the calls of a writer begin.
func appendWriter(b []byte, path string, id dfs.INodeID, holder string) []byte {
	return appendString(appendInt(appendString(b, path), id), holder)
}

func (d *decoder) writer() (path string, id dfs.INodeID, holder string) {
	return d.string(), getInt[dfs.INodeID](d), d.string()
}

func (a *AddBlock) appendTo(b []byte) []byte {
	return appendBlockPtr(appendWriter(b, a.Path, a.FileID, a.Holder), a.Previous)
}

func (a *AddBlock) decodeFrom(d *decoder) {
	a.Path, a.FileID, a.Holder = d.writer()
	a.Previous = d.blockPtr()
}

func (a *AbandonBlock) appendTo(b []byte) []byte {
	return appendBlock(appendWriter(b, a.Path, a.FileID, a.Holder), a.Block)
}

func (a *AbandonBlock) decodeFrom(d *decoder) {
	a.Path, a.FileID, a.Holder = d.writer()
	a.Block = d.block()
}

func (a *Complete) appendTo(b []byte) []byte {
	return appendBool(appendBlockPtr(appendWriter(b, a.Path, a.FileID, a.Holder), a.Last), a.CommitOnly)
}

func (a *Complete) decodeFrom(d *decoder) {
	a.Path, a.FileID, a.Holder = d.writer()
	a.Last, a.CommitOnly = d.blockPtr(), d.bool()
}

func (a *Fsync) appendTo(b []byte) []byte {
	return appendInt(appendWriter(b, a.Path, a.FileID, a.Holder), a.LastLen)
}

func (a *Fsync) decodeFrom(d *decoder) {
	a.Path, a.FileID, a.Holder = d.writer()
	a.LastLen = d.int64()
}

func (a *BumpGenStamp) appendTo(b []byte) []byte {
	return appendBlock(appendString(b, a.Holder), a.Block)
}
func (a *BumpGenStamp) decodeFrom(d *decoder) { a.Holder, a.Block = d.string(), d.block() }

func (a *UpdatePipeline) appendTo(b []byte) []byte {
	return appendBlock(appendBlock(appendString(b, a.Holder), a.Old), a.New)
}

func (a *UpdatePipeline) decodeFrom(d *decoder) {
	a.Holder, a.Old, a.New = d.string(), d.block(), d.block()
}
