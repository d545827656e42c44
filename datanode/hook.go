package datanode

import (
	"context"
	"errors"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
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

// Event is something about to happen on a connection of the data protocol. It is the hook's until the hook returns.
type Event struct {
	Kind   EventKind
	Op     transfer.Op
	Block  dfs.ExtendedBlock
	Client string // "": a datanode
	Peer   string // address of the other end

	transfer.Header               // of the packet, or of the one that is acked
	Data            []byte        // of the packet, may be changed in place
	Status          hdfspb.Status // EventAck: this datanode's own reply, may be changed
}

// TransferHook decides about an Event: it may return at once or as late as it likes (ctx ends with the datanode). An error
// fails an operation, with an answer that carries it, and cuts the connection of a packet or an ack. ErrDrop instead
// makes an operation end without an answer and a packet or an ack vanish.
type TransferHook func(ctx context.Context, e *Event) error

// ErrDrop is what a TransferHook returns to make something vanish.
var ErrDrop = errors.New("datanode: dropped")
