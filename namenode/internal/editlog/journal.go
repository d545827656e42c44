package editlog

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// An Op is one edit, encoded by the package that owns it.
type Op interface {
	// AppendTo appends the encoded op to b. It is called once, by the goroutine that appends the op.
	AppendTo(b []byte) []byte
	// KindName is the name under which the op is counted, a constant of its kind.
	KindName() string
}

// A StateMachine is what the journal makes durable. The journal calls every method but Decode from one goroutine at
// a time, in log order.
type StateMachine interface {
	// Decode reverses Op.AppendTo. The op may keep b.
	Decode(b []byte) (Op, error)
	// Apply carries out the ops in order and returns one result for each. It reads the ops and the state, nothing
	// else: a replay of the log must give the same state.
	Apply(batch []Op) []any
	// Snapshot freezes the state in constant time. The snapshot is written while Apply goes on.
	Snapshot() (Snapshot, error)
	// Restore replaces the whole state, or returns an error and leaves it as it was.
	Restore(r io.Reader) error
	// TxID is the id of the last transaction in the state. An op may count for none, one or several.
	TxID() uint64
}

// A Snapshot is a frozen state.
type Snapshot interface {
	WriteTo(w io.Writer) (int64, error)
	TxID() uint64
	// Release is called once, after the last use.
	Release()
}

// A Journal orders ops, makes them durable and applies them.
type Journal interface {
	// Append returns op's result after op is committed, as the sync mode says, and applied. When ctx ends first it
	// returns ctx's error, and the op may still be carried out. The same holds for any error but one that was
	// returned because the journal had ended before the call.
	Append(ctx context.Context, op Op) (any, error)
	// TryAppend is Append where the caller need not wait for anything; else it says that nothing was done.
	TryAppend(op Op) (result any, done bool, err error)
	// Checkpoint writes an image of the present state and removes the files that it makes superfluous. Appends go
	// on meanwhile.
	Checkpoint(ctx context.Context) error
	Stats() Stats
	// Close commits and applies what was appended, makes all of it durable and ends the journal.
	Close() error
	// Kill ends the journal as it stands: once Kill has returned, no byte is written any more.
	Kill()
}

var (
	// ErrClosed is returned by a journal that was closed or killed.
	ErrClosed = errors.New("editlog: journal is closed")
	// ErrFailed is returned, wrapped with its cause, by a journal that could not write or sync its log. Such a
	// journal never tries again: it is unknown what has reached the disk until the log is read anew.
	ErrFailed = errors.New("editlog: journal has failed")
	// ErrTooLarge is returned for an op that does not fit into a record.
	ErrTooLarge = errors.New("editlog: op is too large")
)

// A CorruptError tells of damage that is no trace of a crash: bytes that were durable once have changed or are gone.
type CorruptError struct {
	File   string
	Offset int64  // of the damaged record or chunk
	Seq    uint64 // number of the first op that cannot be read; 0 in an image
	TxID   uint64 // of the state before the damage
	Reason string
}

func (e *CorruptError) Error() string {
	at := fmt.Sprintf("offset %d", e.Offset)
	if e.Seq != 0 {
		at += fmt.Sprintf(", op %d", e.Seq)
	}
	return fmt.Sprintf("editlog: %s is corrupt at %s, after txid %d: %s; restore the directory from a copy",
		e.File, at, e.TxID, e.Reason)
}
