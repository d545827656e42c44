package datanode

import (
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// Event is something about to happen on a connection of the data protocol. It is the hook's until the hook returns.
type Event struct {
	Kind   EventKind
	Op     Op
	Block  dfs.ExtendedBlock
	Client string // "": a datanode
	Peer   string // address of the other end

	transfer.Header        // of the packet, or of the one that is acked
	Data            []byte // of the packet, may be changed in place
	Status          Status // EventAck: this datanode's own reply, may be changed
}

// Op is an operation of the data protocol. It prints as HDFS spells it: READ_BLOCK.
type Op = transfer.Op

// The operations that a datanode carries out.
const (
	OpWriteBlock    = transfer.OpWriteBlock
	OpReadBlock     = transfer.OpReadBlock
	OpReplaceBlock  = transfer.OpReplaceBlock
	OpCopyBlock     = transfer.OpCopyBlock
	OpBlockChecksum = transfer.OpBlockChecksum
	OpTransferBlock = transfer.OpTransferBlock
)

// Status is what an ack says of a packet. It prints as HDFS spells it: ERROR_CHECKSUM.
type Status = hdfspb.Status

// The statuses of acks.
const (
	StatusSuccess       = hdfspb.Status_SUCCESS
	StatusError         = hdfspb.Status_ERROR
	StatusErrorChecksum = hdfspb.Status_ERROR_CHECKSUM
	StatusOOBRestart    = hdfspb.Status_OOB_RESTART
)

// EventKind is what a TransferHook is asked about.
type EventKind uint8

// The kinds of events.
const (
	EventOp        EventKind = iota + 1 // an operation was read and is about to begin
	EventPacketIn                       // a packet came, and is about to be passed on and stored
	EventPacketOut                      // a packet is about to be sent, to a reader or as a copy
	EventAck                            // the ack of a packet is about to be sent
)
