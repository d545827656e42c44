package dfs

import "fmt"

// BlockID identifies a block. Ids are handed out in sequence and never reused.
type BlockID int64

// GenStamp is a block's generation stamp: it grows each time a pipeline is rebuilt, a block recovered or a file
// reopened, so that a replica that missed the change can be told apart.
type GenStamp int64

// INodeID identifies a file or directory for its whole life, across renames.
type INodeID int64

// The first ids of a new file system.
const (
	LastReservedBlockID  BlockID  = 1 << 30
	LastReservedGenStamp GenStamp = 1000
	RootINodeID          INodeID  = 16385
)

// Block is a block of a file, or one replica of it: Len is in bytes.
type Block struct {
	ID       BlockID
	GenStamp GenStamp
	Len      int64
}

// String gives HDFS's spelling, blk_ID_GENSTAMP.
func (b Block) String() string { return fmt.Sprintf("blk_%d_%d", b.ID, b.GenStamp) }

// ExtendedBlock is a block and the pool (the file system) that it belongs to.
type ExtendedBlock struct {
	Pool string
	Block
}

// String gives HDFS's spelling, POOL:blk_ID_GENSTAMP.
func (b ExtendedBlock) String() string { return b.Pool + ":" + b.Block.String() }

// BlockState is how far a block has come on its way into a file.
type BlockState uint8

// The states of a block at the namenode. Only the last block of a file may be under construction or recovery.
const (
	BlockComplete BlockState = iota
	BlockUnderConstruction
	BlockUnderRecovery
	BlockCommitted
)

// String gives HDFS's spelling.
func (s BlockState) String() string {
	switch s {
	case BlockComplete:
		return "COMPLETE"
	case BlockUnderConstruction:
		return "UNDER_CONSTRUCTION"
	case BlockUnderRecovery:
		return "UNDER_RECOVERY"
	case BlockCommitted:
		return "COMMITTED"
	}
	return fmt.Sprintf("BlockState(%d)", uint8(s))
}
