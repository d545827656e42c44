package namenode

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// leases remembers when each holder last renewed. Which files a holder has open is the namespace's knowledge; only the
// age of a lease is soft state of the active.
type leases struct {
	mu      sync.Mutex
	renewed map[string]time.Time
}

func newLeases() *leases { return &leases{renewed: map[string]time.Time{}} }

func (l *leases) renew(holder string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed[holder] = now
}

// expired reports whether the holder has been silent for longer than limit. A holder never heard of starts now.
func (l *leases) expired(holder string, limit time.Duration, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.renewed[holder]
	if !known {
		l.renewed[holder] = now
		return false
	}
	return now.Sub(last) > limit
}

// keep forgets the holders that open reports to have no file.
func (l *leases) keep(open func(holder string) bool) {
	l.mu.Lock()
	var holders []string
	for h := range l.renewed {
		holders = append(holders, h)
	}
	l.mu.Unlock()
	for _, h := range holders {
		if !open(h) {
			l.mu.Lock()
			delete(l.renewed, h)
			l.mu.Unlock()
		}
	}
}

// renewLease keeps the files of a client open.
func (n *NameNode) renewLease(_ context.Context, _ *rpc.Call, req *hdfspb.RenewLeaseRequestProto) (*hdfspb.RenewLeaseResponseProto, error) {
	if n.blocks.InSafeMode() {
		return nil, n.safeModeError("Cannot renew lease for " + req.GetClientName())
	}
	if _, open := n.ns.Lease(req.GetClientName()); open {
		n.leases.renew(req.GetClientName(), time.Now())
	}
	return &hdfspb.RenewLeaseResponseProto{}, nil
}

// recoverLease takes an open file from its writer, however fresh the lease is, and be it the caller. It answers true when
// the file is closed, false while blocks are being recovered: the client asks again.
func (n *NameNode) recoverLease(ctx context.Context, c *rpc.Call, req *hdfspb.RecoverLeaseRequestProto) (*hdfspb.RecoverLeaseResponseProto, error) {
	path := req.GetSrc()
	if n.blocks.InSafeMode() {
		return nil, n.safeModeError("Cannot recover the lease of " + path)
	}
	f, err := n.ns.OpenForRecovery(n.caller(c), path)
	if err != nil {
		return nil, err
	}
	closed := f == nil
	if !closed {
		c.Yield()
		if closed, err = n.releaseLease(ctx, f); err != nil {
			return nil, err
		}
	}
	return &hdfspb.RecoverLeaseResponseProto{Result: proto.Bool(closed)}, nil
}

// releaseLease closes an open file whose writer is given up, at once where its blocks allow it (true), else by a
// recovery of the last block, which a datanode carries out and reports by commitBlockSynchronization. Somebody else may
// be quicker.
func (n *NameNode) releaseLease(ctx context.Context, f *namespace.FileInfo) (closed bool, err error) {
	closed, err = n.release(ctx, f)
	if err != nil {
		if now, ok := n.ns.FileByID(f.ID); ok && now.Holder == "" {
			return true, nil
		}
	}
	return closed, err
}

func (n *NameNode) release(ctx context.Context, f *namespace.FileInfo) (closed bool, err error) {
	count := len(f.Blocks)
	if count == 0 {
		_, err := n.edit(ctx, nil, internalOp(&namespace.CloseFile{FileID: f.ID}))
		return err == nil, err
	}
	last := &f.Blocks[count-1]
	for i := range f.Blocks {
		b := &f.Blocks[i]
		if b != last || b.State == dfs.BlockCommitted || b.State == dfs.BlockComplete {
			if n.blocks.Finalized(b.Block) < int(n.o.Limits.MinReplication) {
				return false, dfs.Errorf(dfs.ClassAlreadyBeingCreated,
					"DIR* NameSystem.internalReleaseLease: Failed to release lease for file %s. Committed blocks are waiting to be minimally replicated.", f.Path)
			}
		}
	}
	switch {
	case last.State == dfs.BlockCommitted || last.State == dfs.BlockComplete:
		_, err := n.edit(ctx, nil, internalOp(&namespace.CloseFile{FileID: f.ID}))
		return err == nil, err
	case last.Len == 0 && n.neverWritten(last): // a recovery that was started nevertheless finds no primary
		_, err := n.edit(ctx, nil, internalOp(&namespace.CloseFile{FileID: f.ID, Drop: true}))
		return err == nil, err
	case last.State == dfs.BlockUnderRecovery && n.blocks.Recovering(last.ID):
		return false, nil
	}
	result, err := n.edit(ctx, nil, internalOp(&namespace.StartRecovery{FileID: f.ID, NewHolder: n.ownHolder()}))
	if err != nil {
		return false, err
	}
	n.leases.renew(n.ownHolder(), time.Now())
	n.startBlockRecovery(result.Block.BlockInfo)
	return false, nil
}

// neverWritten reports whether no datanode has ever been told of the block: it has no replica, and since this namenode
// became active every datanode has had its time to report one.
func (n *NameNode) neverWritten(b *namespace.FileBlock) bool {
	return !n.blocks.Reported(b.ID) && len(n.blocks.Locate(b.ID, "").Targets) == 0 && time.Since(n.part.Load().since) > n.o.StaleAfter
}

// ownHolder is the name under which the namenode itself holds the leases that it recovers.
func (n *NameNode) ownHolder() string { return namenodeHolder + n.o.ID }

// namenodeHolder begins the holders that are namenodes: who becomes active goes on with the recoveries of the one before.
const namenodeHolder = "HDFS_NameNode-"

// checkLeases recovers the files of holders that have been silent for the hard limit, and goes on with recoveries that
// are under way.
func (n *NameNode) checkLeases(ctx context.Context, now time.Time) {
	var due []dfs.INodeID
	for lease := range n.ns.Leases() {
		if strings.HasPrefix(lease.Holder, namenodeHolder) || n.leases.expired(lease.Holder, n.o.HardLimit, now) {
			due = append(due, lease.Files...)
		}
	}
	for _, id := range due {
		f, ok := n.ns.FileByID(id)
		if !ok || f.Holder == "" {
			continue
		}
		_, err := n.releaseLease(ctx, f)
		if errors.Is(err, editlog.ErrNotLeader) {
			return // another namenode sees to it
		}
		if err != nil {
			n.log.Warn("namenode: cannot recover the lease of a file yet", "path", f.Path, "holder", f.Holder, "err", err)
		}
	}
	n.leases.keep(func(holder string) bool { _, open := n.ns.Lease(holder); return open })
}
