package datanode

import (
	"context"
	"errors"
)

// TransferHook decides about an Event: it may return at once or as late as it likes (ctx ends with the datanode). An error
// fails an operation, with an answer that carries it, and cuts the connection of a packet or an ack. ErrDrop instead
// makes an operation end without an answer and a packet or an ack vanish.
type TransferHook func(ctx context.Context, e *Event) error

// ErrDrop is what a TransferHook returns to make something vanish.
var ErrDrop = errors.New("datanode: dropped")
