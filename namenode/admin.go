package namenode

import (
	"context"
	"strings"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// safeModeError refuses a call in safe mode; what says which, as HDFS does. The start-up of one of several namenodes passes
// by itself: the client is to ask it again.
func (n *NameNode) safeModeError(what string) error {
	s := n.blocks.SafeMode(time.Now())
	err := dfs.Errorf(dfs.ClassSafeMode, "%s. Name node is in safe mode.\n%s NamenodeHostName:%s", what, s.Tip, hostName)
	if n.group != nil && s.Startup && n.part.Load().active {
		return dfs.Errorf(dfs.ClassRetriable, "%s: %s", err.Class, err.Message)
	}
	return err
}

// hostName is what messages call this namenode's machine: it listens on loopback only.
const hostName = "localhost"

// setSafeMode enters, leaves or asks; the answer is the state afterwards.
func (n *NameNode) setSafeMode(_ context.Context, c *rpc.Call, req *hdfspb.SetSafeModeRequestProto) (*hdfspb.SetSafeModeResponseProto, error) {
	if req.GetAction() != hdfspb.SafeModeActionProto_SAFEMODE_GET {
		if err := n.superuserOnly(c, strings.ToLower(req.GetAction().String())); err != nil {
			return nil, err
		}
	}
	on := n.blocks.SetSafeMode(blocks.SafeModeAction(req.GetAction()), time.Now())
	return &hdfspb.SetSafeModeResponseProto{Result: proto.Bool(on)}, nil
}

// saveNamespace writes an image; HDFS asks for safe mode first, so that nothing changes meanwhile.
func (n *NameNode) saveNamespace(ctx context.Context, c *rpc.Call, _ *hdfspb.SaveNamespaceRequestProto) (*hdfspb.SaveNamespaceResponseProto, error) {
	if err := n.superuserOnly(c, "saveNamespace"); err != nil {
		return nil, err
	}
	if !n.blocks.InSafeMode() {
		return nil, dfs.Errorf(dfs.ClassIO, "Safe mode should be turned ON in order to create namespace image.")
	}
	if err := n.journal.Checkpoint(ctx); err != nil {
		return nil, err
	}
	return &hdfspb.SaveNamespaceResponseProto{Saved: proto.Bool(true)}, nil
}

// rollEdits begins a new segment of the journal.
func (n *NameNode) rollEdits(ctx context.Context, c *rpc.Call, _ *hdfspb.RollEditsRequestProto) (*hdfspb.RollEditsResponseProto, error) {
	if err := n.superuserOnly(c, "rollEditLog"); err != nil {
		return nil, err
	}
	if n.blocks.InSafeMode() {
		return nil, n.safeModeError("Log not rolled")
	}
	result, err := n.edit(ctx, nil, internalOp(&namespace.StartSegment{}))
	if err != nil {
		return nil, err
	}
	return &hdfspb.RollEditsResponseProto{NewSegmentTxId: proto.Uint64(result.TxID)}, nil
}

// restoreFailedStorage takes the switch ("true", "false", or "check" to ask), and remembers it for whoever asks: there is
// one storage here, and a journal that failed ends the namenode.
func (n *NameNode) restoreFailedStorage(_ context.Context, c *rpc.Call, req *hdfspb.RestoreFailedStorageRequestProto) (*hdfspb.RestoreFailedStorageResponseProto, error) {
	verb := "disable"
	switch req.GetArg() {
	case "check":
		verb = "check"
	case "true":
		verb = "enable"
	}
	if err := n.superuserOnly(c, verb+"RestoreFailedStorage"); err != nil {
		return nil, err
	}
	if verb != "check" {
		n.restoreStorage.Store(verb == "enable")
	}
	return &hdfspb.RestoreFailedStorageResponseProto{Result: proto.Bool(n.restoreStorage.Load())}, nil
}

// refreshNodes has nothing to read: there are no include and exclude files.
func (n *NameNode) refreshNodes(_ context.Context, c *rpc.Call, _ *hdfspb.RefreshNodesRequestProto) (*hdfspb.RefreshNodesResponseProto, error) {
	return &hdfspb.RefreshNodesResponseProto{}, n.superuserOnly(c, "refreshNodes")
}

func (n *NameNode) metaSave(_ context.Context, c *rpc.Call, req *hdfspb.MetaSaveRequestProto) (*hdfspb.MetaSaveResponseProto, error) {
	if err := n.superuserOnly(c, "metaSave"); err != nil {
		return nil, err
	}
	s, counts := n.blocks.Stats(), n.ns.Counts()
	n.log.Info("namenode: metaSave", "name", req.GetFilename(), "inodes", counts.INodes, "blocks", counts.Blocks,
		"live", s.Live, "dead", s.Dead, "missing", s.Missing, "pendingDeletion", s.PendingDeletion)
	return &hdfspb.MetaSaveResponseProto{}, nil
}

// finalizeUpgrade, upgradeStatus and rollingUpgrade answer for a file system that is not being upgraded.
func (n *NameNode) finalizeUpgrade(_ context.Context, c *rpc.Call, _ *hdfspb.FinalizeUpgradeRequestProto) (*hdfspb.FinalizeUpgradeResponseProto, error) {
	return &hdfspb.FinalizeUpgradeResponseProto{}, n.superuserOnly(c, "finalizeUpgrade")
}

func (n *NameNode) upgradeStatus(context.Context, *rpc.Call, *hdfspb.UpgradeStatusRequestProto) (*hdfspb.UpgradeStatusResponseProto, error) {
	return &hdfspb.UpgradeStatusResponseProto{UpgradeFinalized: proto.Bool(true)}, nil
}

func (n *NameNode) rollingUpgrade(_ context.Context, c *rpc.Call, req *hdfspb.RollingUpgradeRequestProto) (*hdfspb.RollingUpgradeResponseProto, error) {
	if err := n.superuserOnly(c, strings.ToLower(req.GetAction().String())+"RollingUpgrade"); err != nil {
		return nil, err
	}
	if req.GetAction() != hdfspb.RollingUpgradeActionProto_QUERY {
		return nil, dfs.Errorf(dfs.ClassUnsupportedAction, "Rolling upgrades are not supported by this file system.")
	}
	return &hdfspb.RollingUpgradeResponseProto{}, nil
}

// setBalancerBandwidth is accepted: no balancer moves blocks here.
func (n *NameNode) setBalancerBandwidth(_ context.Context, c *rpc.Call, _ *hdfspb.SetBalancerBandwidthRequestProto) (*hdfspb.SetBalancerBandwidthResponseProto, error) {
	return &hdfspb.SetBalancerBandwidthResponseProto{}, n.superuserOnly(c, "setBalancerBandwidth")
}
