package namenode

import (
	"context"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// errNotHA is what a single namenode says about its state and about handing over.
func errNotHA() error { return dfs.Errorf(dfs.ClassServiceFailed, "HA for namenode is not enabled") }

// haMethods is HAServiceProtocol as a single namenode answers it: there is no state to ask for or to hand over.
func (n *NameNode) haMethods() []rpc.Method {
	notHA := errNotHA()
	return []rpc.Method{
		rpc.Refuse("getServiceStatus", notHA),
		rpc.Handle("monitorHealth", n.monitorHealth).Quick(),
		rpc.Refuse("transitionToActive", notHA),
		rpc.Refuse("transitionToStandby", notHA),
		rpc.Refuse("transitionToObserver", notHA),
	}
}

func (n *NameNode) monitorHealth(_ context.Context, c *rpc.Call, _ *hdfspb.MonitorHealthRequestProto) (*hdfspb.MonitorHealthResponseProto, error) {
	if err := n.superuserOnly(c, "monitorHealth"); err != nil {
		return nil, err
	}
	return &hdfspb.MonitorHealthResponseProto{}, nil
}

func (n *NameNode) getHAServiceState(context.Context, *rpc.Call, *hdfspb.HAServiceStateRequestProto) (*hdfspb.HAServiceStateResponseProto, error) {
	return nil, errNotHA()
}

// msync is the barrier of observer reads: on the active there is nothing to wait for.
func (n *NameNode) msync(context.Context, *rpc.Call, *hdfspb.MsyncRequestProto) (*hdfspb.MsyncResponseProto, error) {
	return &hdfspb.MsyncResponseProto{}, nil
}

func (n *NameNode) getGroupsForUser(_ context.Context, _ *rpc.Call, req *hdfspb.GetGroupsForUserRequestProto) (*hdfspb.GetGroupsForUserResponseProto, error) {
	return &hdfspb.GetGroupsForUserResponseProto{Groups: n.o.Groups[req.GetUser()]}, nil
}
