package editlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// entryVersion is the version of the entries in the log of a group.
const entryVersion = 1

// An entry is one batch of ops in the log of a group. Its header takes the place of a record's.
type entry struct {
	term   uint64 // in which its writer led: in another term it is void
	number uint64 // of the writer's entries
	count  uint32 // ops, at least one
	body   []byte // each op preceded by its length as uvarint
}

// Reasons why bytes are not an entry.
var (
	errEntryLen      = errors.New("its length is not that of an entry")
	errEntrySum      = errors.New("its checksum does not match")
	errEntryIdentity = errors.New("it comes from another file system")
	errEntryCount    = errors.New("it does not hold as many ops as it says")
)

// sealEntry fills in the header of the entry in b, whose body begins at recordHeaderLen.
func sealEntry(b []byte, identity uint32, e entry) {
	binary.BigEndian.PutUint32(b[0:], entryVersion)
	binary.BigEndian.PutUint64(b[8:], e.term)
	binary.BigEndian.PutUint64(b[16:], e.number)
	binary.BigEndian.PutUint32(b[24:], e.count)
	binary.BigEndian.PutUint32(b[28:], identity)
	binary.BigEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
}

// entryOrigin tells whose entry b may be, without a look at the rest.
func entryOrigin(b []byte) (term, number uint64) {
	if len(b) < recordHeaderLen {
		return 0, 0
	}
	return binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
}

// parseEntry reverses sealEntry, and nothing but it.
func parseEntry(b []byte, identity uint32) (entry, error) {
	if len(b) <= recordHeaderLen || len(b) > recordHeaderLen+maxBodyLen {
		return entry{}, errEntryLen
	}
	if v := binary.BigEndian.Uint32(b[0:]); v != entryVersion {
		return entry{}, fmt.Errorf("its version is %d, this program knows %d", v, entryVersion)
	}
	if binary.BigEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return entry{}, errEntrySum
	}
	if binary.BigEndian.Uint32(b[28:]) != identity {
		return entry{}, errEntryIdentity
	}
	e := entry{count: binary.BigEndian.Uint32(b[24:]), body: b[recordHeaderLen:len(b):len(b)]}
	e.term, e.number = entryOrigin(b)
	if e.count == 0 || int64(e.count) > int64(len(e.body)) {
		return entry{}, errEntryCount
	}
	return e, nil
}

// decode gives the ops of the entry and their encoded sizes.
func (e entry) decode(sm StateMachine) (ops []Op, sizes []int32, err error) {
	const first = 4096 // room for no more than this is made before the ops are seen
	ops = make([]Op, 0, min(e.count, first))
	sizes = make([]int32, 0, min(e.count, first))
	rest := e.body
	for len(rest) > 0 {
		var b []byte
		if b, rest, err = nextOp(rest); err != nil {
			return nil, nil, err
		}
		op, err := sm.Decode(b)
		if err != nil {
			return nil, nil, fmt.Errorf("op %d of %d cannot be decoded: %w", len(ops)+1, e.count, err)
		}
		ops = append(ops, op)
		sizes = append(sizes, int32(len(b)))
	}
	if uint64(len(ops)) != uint64(e.count) {
		return nil, nil, errEntryCount
	}
	return ops, sizes, nil
}
