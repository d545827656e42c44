package namenode

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
)

// What a namenode's place in a group is made of, see Options.Raft.
type (
	RaftOptions = editlog.RaftOptions
	Stores      = editlog.Stores   // the disk of a member
	Identity    = editlog.Identity // of a file system: its namenodes have the same
)

// NewMemoryStores makes an empty disk in memory, which outlives the namenodes that are started on it.
func NewMemoryStores() *Stores { return editlog.NewMemoryStores() }

// OpenStores gives the disk in a real folder. Without sync, a power loss may take what it wants.
func OpenStores(dir string, sync bool) (*Stores, error) { return editlog.OpenStores(dir, sync) }

// NewIdentity draws the identity of a new file system.
func NewIdentity(seed int64) Identity {
	return newIdentity(rand.New(rand.NewPCG(uint64(seed), 1)), time.Now())
}

// openRaft joins the group that o.Raft describes.
func openRaft(ctx context.Context, sm editlog.StateMachine, o *Options, _ editlog.Identity) (editlog.Journal, editlog.Identity, error) {
	r := *o.Raft
	orDefault(&r.Sync, o.Sync)
	orDefault(&r.CheckpointOps, int64(o.CheckpointOps))
	if r.Logger == nil {
		r.Logger = o.Logger
	}
	j, err := editlog.OpenRaft(ctx, sm, r)
	if err != nil {
		return nil, editlog.Identity{}, err
	}
	return j, j.Identity(), nil
}
