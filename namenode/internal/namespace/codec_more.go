package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

func (a *Delete) appendTo(b []byte) []byte { return appendBool(appendString(b, a.Path), a.Recursive) }
func (a *Delete) decodeFrom(d *decoder)    { a.Path, a.Recursive = d.string(), d.bool() }

func (a *Rename) appendTo(b []byte) []byte { return appendString(appendString(b, a.Src), a.Dst) }
func (a *Rename) decodeFrom(d *decoder)    { a.Src, a.Dst = d.string(), d.string() }

func (a *Rename2) appendTo(b []byte) []byte {
	return appendBool(appendBool(appendString(appendString(b, a.Src), a.Dst), a.Overwrite), a.ToTrash)
}

func (a *Rename2) decodeFrom(d *decoder) {
	a.Src, a.Dst, a.Overwrite, a.ToTrash = d.string(), d.string(), d.bool(), d.bool()
}

func (a *SetPermission) appendTo(b []byte) []byte { return appendUint(appendString(b, a.Path), a.Perm) }
func (a *SetPermission) decodeFrom(d *decoder)    { a.Path, a.Perm = d.string(), getUint[dfs.Perm](d) }

func (a *SetOwner) appendTo(b []byte) []byte {
	return appendString(appendString(appendString(b, a.Path), a.Owner), a.Group)
}

func (a *SetOwner) decodeFrom(d *decoder) {
	a.Path, a.Owner, a.Group = d.string(), d.string(), d.string()
}

func (a *SetTimes) appendTo(b []byte) []byte {
	return appendInt(appendInt(appendString(b, a.Path), a.MTime), a.ATime)
}

func (a *SetTimes) decodeFrom(d *decoder) {
	a.Path, a.MTime, a.ATime = d.string(), d.int64(), d.int64()
}

func (a *TouchAccess) appendTo(b []byte) []byte { return appendInt(appendInt(b, a.FileID), a.ATime) }
func (a *TouchAccess) decodeFrom(d *decoder)    { a.FileID, a.ATime = getInt[dfs.INodeID](d), d.int64() }

func (a *SetReplication) appendTo(b []byte) []byte {
	return appendInt(appendString(b, a.Path), a.Replication)
}

func (a *SetReplication) decodeFrom(d *decoder) { a.Path, a.Replication = d.string(), getInt[int16](d) }

func (a *SetStoragePolicy) appendTo(b []byte) []byte {
	return append(appendString(b, a.Path), a.Policy)
}
func (a *SetStoragePolicy) decodeFrom(d *decoder) { a.Path, a.Policy = d.string(), d.byte() }

func (a *Truncate) appendTo(b []byte) []byte {
	return appendString(appendInt(appendString(b, a.Path), a.Length), a.Holder)
}

func (a *Truncate) decodeFrom(d *decoder) {
	a.Path, a.Length, a.Holder = d.string(), d.int64(), d.string()
}

func (a *Concat) appendTo(b []byte) []byte {
	return appendStrings(appendString(b, a.Target), a.Sources)
}
func (a *Concat) decodeFrom(d *decoder) { a.Target, a.Sources = d.string(), d.strings() }

func appendXAttr(b []byte, x XAttr) []byte {
	return appendBytes(appendString(append(b, byte(x.Namespace)), x.Name), x.Value)
}

func (d *decoder) xattr() XAttr {
	return XAttr{Namespace: dfs.XAttrNamespace(d.byte()), Name: d.string(), Value: d.bytes()}
}

func (a *SetXAttr) appendTo(b []byte) []byte {
	return appendUint(appendXAttr(appendString(b, a.Path), a.XAttr), a.Flags)
}

func (a *SetXAttr) decodeFrom(d *decoder) {
	a.Path, a.XAttr, a.Flags = d.string(), d.xattr(), getUint[dfs.XAttrFlag](d)
}

func (a *RemoveXAttr) appendTo(b []byte) []byte {
	return appendString(append(appendString(b, a.Path), byte(a.Namespace)), a.Name)
}

func (a *RemoveXAttr) decodeFrom(d *decoder) {
	a.Path, a.Namespace, a.Name = d.string(), dfs.XAttrNamespace(d.byte()), d.string()
}

func (a *AllowSnapshot) appendTo(b []byte) []byte { return appendString(b, a.Path) }
func (a *AllowSnapshot) decodeFrom(d *decoder)    { a.Path = d.string() }

func (a *DisallowSnapshot) appendTo(b []byte) []byte { return appendString(b, a.Path) }
func (a *DisallowSnapshot) decodeFrom(d *decoder)    { a.Path = d.string() }

func (a *CreateSnapshot) appendTo(b []byte) []byte {
	return appendString(appendString(b, a.Path), a.Name)
}
func (a *CreateSnapshot) decodeFrom(d *decoder) { a.Path, a.Name = d.string(), d.string() }

func (a *RenameSnapshot) appendTo(b []byte) []byte {
	return appendString(appendString(appendString(b, a.Path), a.Old), a.New)
}

func (a *RenameSnapshot) decodeFrom(d *decoder) {
	a.Path, a.Old, a.New = d.string(), d.string(), d.string()
}

func (a *DeleteSnapshot) appendTo(b []byte) []byte {
	return appendString(appendString(b, a.Path), a.Name)
}
func (a *DeleteSnapshot) decodeFrom(d *decoder) { a.Path, a.Name = d.string(), d.string() }

func (a *StartRecovery) appendTo(b []byte) []byte {
	return appendString(appendInt(b, a.FileID), a.NewHolder)
}
func (a *StartRecovery) decodeFrom(d *decoder) {
	a.FileID, a.NewHolder = getInt[dfs.INodeID](d), d.string()
}

func (a *CloseFile) appendTo(b []byte) []byte { return appendBool(appendInt(b, a.FileID), a.Drop) }
func (a *CloseFile) decodeFrom(d *decoder)    { a.FileID, a.Drop = getInt[dfs.INodeID](d), d.bool() }

func (a *CommitBlockSync) appendTo(b []byte) []byte {
	b = appendInt(appendInt(appendBlock(b, a.Block), a.NewGenStamp), a.NewLength)
	return appendBool(appendBool(b, a.CloseFile), a.DeleteBlock)
}

func (a *CommitBlockSync) decodeFrom(d *decoder) {
	a.Block, a.NewGenStamp, a.NewLength = d.block(), getInt[dfs.GenStamp](d), d.int64()
	a.CloseFile, a.DeleteBlock = d.bool(), d.bool()
}
