package editlog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/afero"
)

// A SyncMode says when records are synced. Everything else (VERSION, the begin and the end of a segment, images) is
// synced in every mode.
type SyncMode int

const (
	// SyncGroup syncs once for all ops that wait together, before they are acknowledged.
	SyncGroup SyncMode = iota
	// SyncPerOp syncs each op by itself, before it is acknowledged.
	SyncPerOp
	// SyncAsync acknowledges first and syncs every SyncInterval: a power loss takes the last ops.
	SyncAsync
	// SyncNone leaves it to the operating system: a power loss takes any number of the last ops.
	SyncNone
)

func (m SyncMode) String() string {
	switch m {
	case SyncGroup:
		return "group"
	case SyncPerOp:
		return "per-op"
	case SyncAsync:
		return "async"
	case SyncNone:
		return "none"
	}
	return fmt.Sprintf("SyncMode(%d)", int(m))
}

// syncsFirst: records are synced before they are acknowledged.
func (m SyncMode) syncsFirst() bool { return m == SyncGroup || m == SyncPerOp }

// LocalOptions are the options of OpenLocal. Zero values mean the defaults given here.
type LocalOptions struct {
	FS  afero.Fs // required
	Dir string   // required; made if missing

	// Identity is stored when the directory is new; an old directory keeps its own.
	Identity Identity

	// Steady, where set, tells whether FS answers as fast as it can just now; while it says no, nobody's goroutine
	// but the journal's own waits for it.
	Steady func() bool

	Sync         SyncMode
	SyncInterval time.Duration // 1 s; of SyncAsync
	MaxBatch     int           // 1024 ops

	SegmentBytes    int64 // 32 MiB: a longer segment is closed and the next one begun
	CheckpointOps   int64 // 1,000,000 ops since the last image start a checkpoint; negative: never
	CheckpointBytes int64 // 256 MiB of log likewise; negative: never
	RetainImages    int   // 2

	Logger *slog.Logger // nil: discard
}

func (o LocalOptions) withDefaults() (LocalOptions, error) {
	switch {
	case o.FS == nil:
		return o, errors.New("editlog: LocalOptions.FS is nil; give afero.NewOsFs() or an in-memory file system")
	case o.Dir == "":
		return o, errors.New("editlog: LocalOptions.Dir is empty; give the directory of the journal")
	case o.Sync < SyncGroup || o.Sync > SyncNone:
		return o, fmt.Errorf("editlog: LocalOptions.Sync is %v; give one of the four sync modes", o.Sync)
	case o.SyncInterval < 0, o.MaxBatch < 0, o.SegmentBytes < 0, o.RetainImages < 0:
		return o, errors.New("editlog: LocalOptions: negative SyncInterval, MaxBatch, SegmentBytes or RetainImages; leave it zero for the default")
	}
	setDefault(&o.SyncInterval, time.Second)
	setDefault(&o.MaxBatch, 1024)
	setDefault(&o.SegmentBytes, 32<<20)
	setDefault(&o.CheckpointOps, 1_000_000)
	setDefault(&o.CheckpointBytes, 256<<20)
	setDefault(&o.RetainImages, 2)
	if o.Sync == SyncPerOp {
		o.MaxBatch = 1
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
