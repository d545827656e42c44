package editlog

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// RaftOptions are the options of OpenRaft. Zero values mean the defaults given here.
type RaftOptions struct {
	ID       string       // required; of the member, kept with its stores
	Addr     string       // required; host:port by which the others dial Listener
	Listener net.Listener // required; closed with the journal
	Dial     dfs.DialFunc // required
	Stores   *Stores      // required

	// Members are those of a new group, this one among them, the same for each. Without them, an empty member waits to be
	// added. Stores that are not empty have the group's members; here, these say where to dial them now.
	Members []Member
	// Identity is stored when the stores are empty; later it must be the same, or nothing at all.
	Identity Identity

	Sync            SyncMode // SyncPerOp is SyncGroup; SyncAsync syncs every second
	CheckpointOps   int64    // 1,000,000 ops since the last image start a checkpoint; negative: never
	CheckpointBytes int64    // 256 MiB of log likewise; negative: never

	HeartbeatTimeout   time.Duration // 1 s without a leader start an election
	ElectionTimeout    time.Duration // 1 s without a result repeat it
	LeaderLeaseTimeout time.Duration // 500 ms without a majority end a leadership
	CommitTimeout      time.Duration // 50 ms: a follower of an idle leader hears of a commit

	Logger *slog.Logger // nil: discard
}

const (
	maxIDLen = 255
	// trailingLogs is how many entries stay behind an image, for members that are a little late.
	trailingLogs = 128
	// maxAppendEntries bounds a message. Our entries are batches already, and raft makes room for so many with each message.
	maxAppendEntries = 64
	maxGroupBatch    = 1024            // ops in an entry
	transportTimeout = 3 * time.Second // of one message; raft stretches it for images
)

func (o RaftOptions) withDefaults() (RaftOptions, error) {
	switch {
	case o.ID == "" || len(o.ID) > maxIDLen || strings.ContainsAny(o.ID, "@\r\n"):
		return o, fmt.Errorf("editlog: RaftOptions.ID is %q; give a name of up to %d bytes in one line, without @", o.ID, maxIDLen)
	case o.Addr == "" || o.Listener == nil || o.Dial == nil || o.Stores == nil:
		return o, errors.New("editlog: RaftOptions: Addr, Listener, Dial and Stores are all required")
	case o.Sync < SyncGroup || o.Sync > SyncNone:
		return o, fmt.Errorf("editlog: RaftOptions.Sync is %v; give one of the four sync modes", o.Sync)
	}
	setDefault(&o.CheckpointOps, 1_000_000)
	setDefault(&o.CheckpointBytes, 256<<20)
	setDefault(&o.HeartbeatTimeout, time.Second)
	setDefault(&o.ElectionTimeout, time.Second)
	setDefault(&o.LeaderLeaseTimeout, 500*time.Millisecond)
	setDefault(&o.CommitTimeout, 50*time.Millisecond)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// config is raft's. It makes images when it is told to, and only then.
func (o RaftOptions) config() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(o.ID)
	c.HeartbeatTimeout = o.HeartbeatTimeout
	c.ElectionTimeout = o.ElectionTimeout
	c.LeaderLeaseTimeout = o.LeaderLeaseTimeout
	c.CommitTimeout = o.CommitTimeout
	c.MaxAppendEntries = maxAppendEntries
	c.TrailingLogs = trailingLogs
	c.SnapshotInterval = 24 * time.Hour
	c.SnapshotThreshold = 1 << 62
	c.ShutdownOnRemove = false
	c.NoLegacyTelemetry = true
	c.Logger = raftLogger{to: o.Logger}
	return c
}

// configuration is that of a new group.
func (o RaftOptions) configuration() (c raft.Configuration, err error) {
	self := false
	for _, m := range o.Members {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(m.ID), Address: serverAddress(m.ID, m.Addr), Suffrage: raft.Voter})
		self = self || m.ID == o.ID && m.Addr == o.Addr
	}
	if !self {
		return c, fmt.Errorf("editlog: RaftOptions.Members has no %s at %s; give the same list to each member", o.ID, o.Addr)
	}
	return c, nil
}

// serverAddress is a member's address within raft: it names the member, so that nobody else at that host and port, later or
// by mistake, is taken for it.
func serverAddress(id, addr string) raft.ServerAddress { return raft.ServerAddress(id + "@" + addr) }

// splitAddress reverses serverAddress.
func splitAddress(a raft.ServerAddress) (id, addr string, err error) {
	id, addr, ok := strings.Cut(string(a), "@")
	if !ok || id == "" || len(id) > maxIDLen {
		return "", "", fmt.Errorf("editlog: %q is no address of a member", a)
	}
	return id, addr, nil
}
