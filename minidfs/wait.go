package minidfs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/datanode"
)

// WaitActive returns once the namenode has the block reports of all datanodes that run and is out of safe mode. It makes
// the datanodes report at once.
func (c *Cluster) WaitActive(ctx context.Context) error {
	if err := c.own("WaitActive"); err != nil {
		return err
	}
	if c.active() == nil {
		return fmt.Errorf("minidfs: WaitActive: %w", c.noActive())
	}
	for {
		err := c.eachDataNode(func(d *datanode.DataNode) error { return d.TriggerBlockReport(ctx, c.reachable()...) })
		if err == nil {
			return c.awaitService(ctx)
		}
		select { // the namenode has told a datanode to register, say: once more then
		case <-time.After(reportRetry):
		case <-ctx.Done():
			return fmt.Errorf("minidfs: datanodes cannot report: %w: %w", context.Cause(ctx), err)
		}
	}
}

func (c *core) awaitService(ctx context.Context) error {
	server := c.active()
	if server == nil { // closed by whoever has not waited for New, say
		return c.noActive()
	}
	if err := server.WaitActive(ctx); err != nil {
		return fmt.Errorf("minidfs: the cluster has started, but does not serve yet: %w", err)
	}
	return nil
}

// WaitReplicated returns once every block of a file has at least n replicas, by the namenode's knowledge: when the
// datanodes of a pipeline have all reported, or one with a replica is back. It fails when ctx ends or the file is missing.
func (c *Cluster) WaitReplicated(ctx context.Context, path string, n int) error {
	fs, err := c.root()
	if err != nil {
		return err
	}
	ticker := time.NewTicker(replicatedPoll)
	defer ticker.Stop()
	missing := func(b client.LocatedBlock) bool { return len(b.Replicas) < n }
	var short *client.LocatedBlock // as of the last answer
	for {
		blocks, err := fs.Locations(ctx, path)
		switch i := slices.IndexFunc(blocks, missing); {
		case err != nil && (ctx.Err() == nil || short == nil):
			return err
		case err == nil && i < 0:
			return nil
		case err == nil:
			short = &blocks[i]
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("minidfs: %s of %s has %d of %d replicas: %w", short.Block, path, len(short.Replicas), n, context.Cause(ctx))
		}
	}
}

// replicatedPoll is how often WaitReplicated asks the namenode, which announces nothing to clients.
const replicatedPoll = 2 * time.Millisecond
