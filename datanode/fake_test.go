package datanode

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const testPool = "BP-1-127.0.0.1-1"

// fakeNN is a namenode as far as datanodes see one: it keeps what they say and gives the commands that a test wants.
type fakeNN struct {
	addr   string
	server *rpc.Server

	mu       sync.Mutex
	active   bool
	txid     uint64
	pool     string
	lease    uint64
	strict   bool          // every lease is a new one, and cancels the one before
	hold     chan struct{} // full reports wait for its end; nil: they do not
	regs     map[string]*hdfspb.DatanodeRegistrationProto
	commands map[string][]*hdfspb.DatanodeCommandProto // by uuid, for the next heartbeat
	beats    []*hdfspb.HeartbeatRequestProto
	changes  []seen
	reports  []*hdfspb.BlockReportRequestProto
	bad      []*hdfspb.LocatedBlockProto
	errs     []*hdfspb.ErrorReportRequestProto
	commits  []*hdfspb.CommitBlockSynchronizationRequestProto
	refuse   error // registrations

	refuseBad error // reports of corrupt replicas
	refused   int   // how many were

	news chan struct{}
}

// seen is a change that a datanode has reported.
type seen struct {
	uuid, storage string
	block         dfs.Block
	status        hdfspb.ReceivedDeletedBlockInfoProto_BlockStatus
	hint          string
}

func newFakeNN(t testing.TB, l net.Listener) *fakeNN {
	n := &fakeNN{
		addr: l.Addr().String(), active: true, txid: 1, pool: testPool, lease: 1,
		regs: make(map[string]*hdfspb.DatanodeRegistrationProto), commands: make(map[string][]*hdfspb.DatanodeCommandProto),
		news: make(chan struct{}),
	}
	s, err := rpc.NewServer(rpc.ServerOptions{}, rpc.Protocol{Name: datanodeProtocol, Version: 1, Methods: []rpc.Method{
		rpc.Handle("versionRequest", n.versionRequest),
		rpc.Handle("registerDatanode", n.registerDatanode),
		rpc.Handle("sendHeartbeat", n.sendHeartbeat),
		rpc.Handle("blockReport", n.blockReport),
		rpc.Handle("blockReceivedAndDeleted", n.blockReceivedAndDeleted),
		rpc.Handle("reportBadBlocks", n.reportBadBlocks),
		rpc.Handle("errorReport", n.errorReport),
		rpc.Handle("commitBlockSynchronization", n.commitBlockSynchronization),
	}})
	require.NoError(t, err)
	n.server = s
	s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return n
}

// locked runs f under the lock and tells who waits.
func (n *fakeNN) locked(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	close(n.news)
	n.news = make(chan struct{})
}

// until waits until ok, which is called under the lock, says so.
func (n *fakeNN) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for {
		n.mu.Lock()
		done, news := ok(), n.news
		n.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-t.Context().Done():
			t.Fatalf("never happened: %s", what)
		}
	}
}

func (n *fakeNN) versionRequest(context.Context, *rpc.Call, *hdfspb.VersionRequestProto) (*hdfspb.VersionResponseProto, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &hdfspb.VersionResponseProto{Info: &hdfspb.NamespaceInfoProto{
		BuildVersion: ptr("x"), Unused: ptr(uint32(0)), BlockPoolID: &n.pool, SoftwareVersion: ptr("3.4.1"), Capabilities: ptr(uint64(1)),
		StorageInfo: &hdfspb.StorageInfoProto{LayoutVersion: ptr(uint32(66)), NamespceID: ptr(uint32(7)), ClusterID: ptr("CID-test"), CTime: ptr(uint64(0))},
	}}, nil
}

func (n *fakeNN) registerDatanode(_ context.Context, _ *rpc.Call, req *hdfspb.RegisterDatanodeRequestProto) (*hdfspb.RegisterDatanodeResponseProto, error) {
	var err error
	n.locked(func() {
		if err = n.refuse; err == nil {
			n.regs[req.GetRegistration().GetDatanodeID().GetDatanodeUuid()] = req.GetRegistration()
		}
	})
	return &hdfspb.RegisterDatanodeResponseProto{Registration: req.GetRegistration()}, err
}

func (n *fakeNN) sendHeartbeat(_ context.Context, _ *rpc.Call, req *hdfspb.HeartbeatRequestProto) (*hdfspb.HeartbeatResponseProto, error) {
	r := &hdfspb.HeartbeatResponseProto{HaStatus: &hdfspb.NNHAStatusHeartbeatProto{}}
	n.locked(func() {
		uuid := req.GetRegistration().GetDatanodeID().GetDatanodeUuid()
		n.beats = append(n.beats, req)
		r.HaStatus.State, r.HaStatus.Txid = hdfspb.NNHAStatusHeartbeatProto_STANDBY.Enum(), ptr(n.txid)
		if n.active {
			r.HaStatus.State = hdfspb.NNHAStatusHeartbeatProto_ACTIVE.Enum()
		}
		if n.regs[uuid] == nil {
			r.Cmds = []*hdfspb.DatanodeCommandProto{{CmdType: hdfspb.DatanodeCommandProto_RegisterCommand.Enum(), RegisterCmd: &hdfspb.RegisterCommandProto{}}}
			return
		}
		if req.GetRequestFullBlockReportLease() {
			if n.strict {
				n.lease++
			}
			r.FullBlockReportLeaseId = ptr(n.lease)
		}
		r.Cmds = n.commands[uuid]
		delete(n.commands, uuid)
	})
	return r, nil
}

func (n *fakeNN) blockReport(_ context.Context, _ *rpc.Call, req *hdfspb.BlockReportRequestProto) (*hdfspb.BlockReportResponseProto, error) {
	n.mu.Lock()
	hold := n.hold
	n.mu.Unlock()
	if hold != nil {
		<-hold
	}
	var err error
	n.locked(func() {
		if n.strict && req.GetContext().GetLeaseId() != n.lease {
			err = dfs.Errorf(dfs.ClassInvalidReportLease, "lease %d is invalid", req.GetContext().GetLeaseId())
			return
		}
		n.reports = append(n.reports, req)
	})
	return &hdfspb.BlockReportResponseProto{}, err
}

func (n *fakeNN) blockReceivedAndDeleted(_ context.Context, _ *rpc.Call, req *hdfspb.BlockReceivedAndDeletedRequestProto) (*hdfspb.BlockReceivedAndDeletedResponseProto, error) {
	n.locked(func() {
		for _, s := range req.Blocks {
			for _, b := range s.Blocks {
				n.changes = append(n.changes, seen{
					req.GetRegistration().GetDatanodeID().GetDatanodeUuid(), s.GetStorageUuid(), plainOf(b.GetBlock()), b.GetStatus(), b.GetDeleteHint(),
				})
			}
		}
	})
	return &hdfspb.BlockReceivedAndDeletedResponseProto{}, nil
}

func (n *fakeNN) reportBadBlocks(_ context.Context, _ *rpc.Call, req *hdfspb.DatanodeReportBadBlocksRequestProto) (*hdfspb.DatanodeReportBadBlocksResponseProto, error) {
	var err error
	n.locked(func() {
		if err = n.refuseBad; err != nil {
			n.refused++
			return
		}
		n.bad = append(n.bad, req.Blocks...)
	})
	return &hdfspb.DatanodeReportBadBlocksResponseProto{}, err
}

func (n *fakeNN) errorReport(_ context.Context, _ *rpc.Call, req *hdfspb.ErrorReportRequestProto) (*hdfspb.ErrorReportResponseProto, error) {
	n.locked(func() { n.errs = append(n.errs, req) })
	return &hdfspb.ErrorReportResponseProto{}, nil
}

func (n *fakeNN) commitBlockSynchronization(_ context.Context, _ *rpc.Call, req *hdfspb.CommitBlockSynchronizationRequestProto) (*hdfspb.CommitBlockSynchronizationResponseProto, error) {
	n.locked(func() { n.commits = append(n.commits, req) })
	return &hdfspb.CommitBlockSynchronizationResponseProto{}, nil
}

// count says how many datanodes have reported the block with that status; under the lock.
func (n *fakeNN) count(b dfs.Block, status hdfspb.ReceivedDeletedBlockInfoProto_BlockStatus) int {
	k := 0
	for _, c := range n.changes {
		if c.block == b && c.status == status {
			k++
		}
	}
	return k
}
