package namenode

import (
	"context"
	"fmt"
	"time"
)

// runMonitor ticks until ctx ends. The first tick after a time in which the process stood still is left out: what clients
// and datanodes have sent meanwhile is heard first.
func (n *NameNode) runMonitor(ctx context.Context) {
	defer n.background.Done()
	ticker := time.NewTicker(n.o.MonitorInterval)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if n.held.Load() {
				continue
			}
			now := time.Now()
			stood := now.Sub(last) > n.o.MonitorInterval+n.o.RecheckInterval
			last = now
			if !stood {
				n.tick(ctx, now)
			}
		case done := <-n.trigger:
			last = time.Now()
			n.tick(ctx, last)
			close(done)
		}
	}
}

// tick does what is due: liveness, safe mode, block recoveries, and, on the active namenode, leases.
func (n *NameNode) tick(ctx context.Context, now time.Time) {
	n.blocks.Tick(now)
	if p := n.part.Load(); p.active && !n.blocks.InSafeMode() && !n.failed.Load() {
		ctx, _ := n.as(ctx, p)
		n.checkLeases(ctx, now)
	}
}

// HoldMonitor keeps the monitors from running by themselves, as in a process that is stopped, or lets them run again.
func (n *NameNode) HoldMonitor(hold bool) { n.held.Store(hold) }

// TriggerMonitor runs the monitors now and returns when they are done.
func (n *NameNode) TriggerMonitor(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case n.trigger <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// InSafeMode reports whether the namenode is in safe mode.
func (n *NameNode) InSafeMode() bool { return n.blocks.InSafeMode() }

// WaitActive returns once the namenode is out of safe mode.
func (n *NameNode) WaitActive(ctx context.Context) error {
	ticker := time.NewTicker(activePoll)
	defer ticker.Stop()
	for n.blocks.InSafeMode() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("namenode %s is in safe mode: %s: %w", n.o.ID, n.blocks.SafeMode(time.Now()).Tip, ctx.Err())
		}
	}
	return nil
}

// activePoll is how often WaitActive looks: the block manager counts blocks, it does not announce.
const activePoll = 2 * time.Millisecond
