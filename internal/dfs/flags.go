package dfs

// CreateFlag says how a file is created or opened for append. The values are those of the wire.
type CreateFlag uint32

// The create flags.
const (
	CreateNew             CreateFlag = 0x01
	CreateOverwrite       CreateFlag = 0x02
	CreateAppend          CreateFlag = 0x04
	CreateSyncBlock       CreateFlag = 0x08
	CreateLazyPersist     CreateFlag = 0x10
	CreateNewBlock        CreateFlag = 0x20
	CreateNoLocalWrite    CreateFlag = 0x40
	CreateShouldReplicate CreateFlag = 0x80
	CreateIgnoreLocality  CreateFlag = 0x100
	CreateNoLocalRack     CreateFlag = 0x120
)

// Has reports whether all of want are set.
func (f CreateFlag) Has(want CreateFlag) bool { return f&want == want }

// AddBlockFlag says where a new block may not go. The values are those of the wire's enum, as bits (1<<value).
type AddBlockFlag uint32

// The flags of addBlock.
const (
	AddBlockNoLocalWrite   AddBlockFlag = 1 << 1
	AddBlockIgnoreLocality AddBlockFlag = 1 << 2
	AddBlockNoLocalRack    AddBlockFlag = 1 << 3
)

// XAttrFlag says whether setXAttr may create or replace.
type XAttrFlag uint32

// The flags of setXAttr.
const (
	XAttrCreate  XAttrFlag = 1
	XAttrReplace XAttrFlag = 2
)

// XAttrNamespace is the part of an extended attribute's name before the first dot, numbered as on the wire.
type XAttrNamespace uint8

// The namespaces of extended attributes.
const (
	XAttrUser XAttrNamespace = iota
	XAttrTrusted
	XAttrSecurity
	XAttrSystem
	XAttrRaw
)

// String gives the prefix as users write it.
func (n XAttrNamespace) String() string {
	switch n {
	case XAttrUser:
		return "user"
	case XAttrTrusted:
		return "trusted"
	case XAttrSecurity:
		return "security"
	case XAttrSystem:
		return "system"
	case XAttrRaw:
		return "raw"
	}
	return "unknown"
}

// ChecksumType is the algorithm behind a chunk's checksum, numbered as on the wire.
type ChecksumType uint8

// The checksum types.
const (
	ChecksumNull ChecksumType = iota
	ChecksumCRC32
	ChecksumCRC32C
)

// Size is the length of one checksum in bytes.
func (t ChecksumType) Size() int {
	if t == ChecksumNull {
		return 0
	}
	return 4
}
