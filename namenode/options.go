package namenode

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/spf13/afero"
)

// SyncMode says when the journal makes an edit durable: see the constants.
type SyncMode = editlog.SyncMode

// The sync modes. Only SyncGroup and SyncPerOp keep what was acknowledged through a power loss.
const (
	SyncGroup = editlog.SyncGroup // before the answer, one sync for all edits that wait (the default)
	SyncPerOp = editlog.SyncPerOp // before the answer, one sync an edit
	SyncAsync = editlog.SyncAsync // in the background, after the answer
	SyncNone  = editlog.SyncNone  // never: the operating system decides
)

// Options says how a NameNode runs. Listener and Superuser are required, and either FS and Dir or Raft; zero fields mean
// HDFS's defaults.
type Options struct {
	ID       string       // a name for logs and errors: "nn1"
	FS       afero.Fs     // the disk of the journal and the images
	Dir      string       // the folder there; made when missing
	Listener net.Listener // listening already; Close closes it

	// Raft is this namenode's place in a group that keeps the journal together; FS, Dir and Steady are not used then. Its
	// Sync, CheckpointOps and Logger are those below where it has none.
	Raft *RaftOptions

	// Steady, where set, tells whether the disk answers as fast as it can just now: nothing makes it slow on purpose.
	Steady func() bool

	Sync          SyncMode
	CheckpointOps int // edits between images; 0: 1,000,000

	Superuser     string              // the user that no check applies to; required
	Supergroup    string              // its members likewise; "": supergroup
	Groups        map[string][]string // user -> groups, the first is primary; others have none
	NoPermissions bool                // dfs.permissions.enabled=false

	Racks func(host string) string // rack of an address:port, an address or a name; "": not known, then /default-rack

	Defaults Defaults
	Limits   Limits

	SafeModeThreshold float64       // share of blocks that must be reported; 0: .999, negative: none
	SafeModeDatanodes int           // live datanodes to wait for
	SafeModeExtension time.Duration // time to stay after the threshold; 0: none (HDFS: 30 s)

	Heartbeat        time.Duration // interval datanodes are told to keep; 0: 3 s
	StaleAfter       time.Duration // 0: 30 s
	RecheckInterval  time.Duration // dead after twice this and ten heartbeats; 0: 5 min
	SoftLimit        time.Duration // lease age at which others may take a file over; 0: 60 s
	HardLimit        time.Duration // lease age at which the namenode recovers it; 0: 20 min
	AccessPrecision  time.Duration // dfs.namenode.accesstime.precision; 0: 1 h, negative: off
	CompleteWait     time.Duration // how long complete waits for a block's first report; 0: 1 s
	MonitorInterval  time.Duration // how often leases and liveness are looked at; 0: 2 s
	RecoveryInterval time.Duration // a block recovery is handed out again after this; 0: 90 s

	LeaderWait time.Duration // how long a call waits for a namenode to become active, where none is known to be; 0: 1 s
	StaleReads bool          // answer reads without asking the other namenodes: a namenode that lost its part may answer old

	Logger *slog.Logger
	Hook   rpc.Hook        // sees every call before its handler
	Failed func(err error) // called once, when the journal has failed: no call is answered any more
	Seed   int64           // of the placement's random choices
}

// Defaults are what clients are told by getServerDefaults.
type Defaults struct {
	BlockSize        int64            // 128 MiB
	Replication      int16            // 3
	BytesPerChecksum int              // 512
	PacketSize       int              // 64 KiB
	BufferSize       int              // 4 KiB
	Checksum         dfs.ChecksumType // CRC32C
	TrashInterval    time.Duration    // 0: no trash
}

// Limits bound what the namespace takes. Zero fields mean HDFS's defaults, but MinBlockSize: 0 is no minimum.
type Limits struct {
	MinBlockSize     int64
	MaxBlocksPerFile int   // 10,000
	MaxNameLen       int   // bytes: 255
	MaxDirItems      int   // 1,048,576
	MaxXAttrs        int   // an inode: 32
	MaxXAttrSize     int   // name and value, bytes: 16,384
	MinReplication   int16 // replicas that complete a block: 1
	MaxReplication   int16 // 512
	ListLimit        int   // entries a listing call gives: 1,000
}

// withDefaults checks o and fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Raft == nil && o.FS == nil:
		return o, errors.New("namenode: Options.FS is missing: give the disk of the journal")
	case o.Raft == nil && o.Dir == "":
		return o, errors.New("namenode: Options.Dir is missing: give the folder of the journal")
	case o.Listener == nil:
		return o, errors.New("namenode: Options.Listener is missing: give a listener, for example on 127.0.0.1:0")
	case o.Superuser == "":
		return o, errors.New("namenode: Options.Superuser is missing: give the user that owns the file system")
	case o.Limits.MinReplication > o.Limits.MaxReplication && o.Limits.MaxReplication > 0:
		return o, fmt.Errorf("namenode: minimal replication %d is above the maximum %d", o.Limits.MinReplication, o.Limits.MaxReplication)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.ID, "nn1")
	o.Logger = o.Logger.With("node", o.ID)
	orDefault(&o.CheckpointOps, 1_000_000)
	orDefault(&o.Supergroup, "supergroup")
	orDefault(&o.SafeModeThreshold, .999)
	orDefault(&o.Heartbeat, 3*time.Second)
	orDefault(&o.StaleAfter, 30*time.Second)
	orDefault(&o.RecheckInterval, 5*time.Minute)
	orDefault(&o.SoftLimit, time.Minute)
	orDefault(&o.HardLimit, 20*time.Minute)
	orDefault(&o.AccessPrecision, time.Hour)
	orDefault(&o.CompleteWait, time.Second)
	orDefault(&o.MonitorInterval, 2*time.Second)
	orDefault(&o.RecoveryInterval, 90*time.Second)
	orDefault(&o.LeaderWait, time.Second)

	orDefault(&o.Defaults.BlockSize, 128<<20)
	orDefault(&o.Defaults.Replication, 3)
	orDefault(&o.Defaults.BytesPerChecksum, 512)
	orDefault(&o.Defaults.PacketSize, 64<<10)
	orDefault(&o.Defaults.BufferSize, 4<<10)
	orDefault(&o.Defaults.Checksum, dfs.ChecksumCRC32C)

	orDefault(&o.Limits.MaxBlocksPerFile, 10_000)
	orDefault(&o.Limits.MaxNameLen, 255)
	orDefault(&o.Limits.MaxDirItems, 1<<20)
	orDefault(&o.Limits.MaxXAttrs, 32)
	orDefault(&o.Limits.MaxXAttrSize, 16<<10)
	orDefault(&o.Limits.MinReplication, 1)
	orDefault(&o.Limits.MaxReplication, 512)
	orDefault(&o.Limits.ListLimit, 1000)
	return o, nil
}

func orDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
