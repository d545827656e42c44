package namenode

import (
	"context"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// haMethods is HAServiceProtocol as a single namenode answers it: it is active, and there is nothing to hand over.
func (n *NameNode) haMethods() []rpc.Method {
	notHA := dfs.Errorf(dfs.ClassServiceFailed, "HA for namenode is not enabled")
	return []rpc.Method{
		rpc.Handle("getServiceStatus", n.getServiceStatus).Quick(),
		rpc.Handle("monitorHealth", n.monitorHealth).Quick(),
		rpc.Refuse("transitionToActive", notHA),
		rpc.Refuse("transitionToStandby", notHA),
		rpc.Refuse("transitionToObserver", notHA),
	}
}

func (n *NameNode) getServiceStatus(_ context.Context, c *rpc.Call, _ *hdfspb.GetServiceStatusRequestProto) (*hdfspb.GetServiceStatusResponseProto, error) {
	if err := n.superuserOnly(c, "getServiceStatus"); err != nil {
		return nil, err
	}
	return &hdfspb.GetServiceStatusResponseProto{
		State: hdfspb.HAServiceStateProto_ACTIVE.Enum(), ReadyToBecomeActive: proto.Bool(true), NotReadyReason: proto.String(""),
	}, nil
}

func (n *NameNode) monitorHealth(_ context.Context, c *rpc.Call, _ *hdfspb.MonitorHealthRequestProto) (*hdfspb.MonitorHealthResponseProto, error) {
	if err := n.superuserOnly(c, "monitorHealth"); err != nil {
		return nil, err
	}
	return &hdfspb.MonitorHealthResponseProto{}, nil
}

func (n *NameNode) getHAServiceState(context.Context, *rpc.Call, *hdfspb.HAServiceStateRequestProto) (*hdfspb.HAServiceStateResponseProto, error) {
	return &hdfspb.HAServiceStateResponseProto{State: hdfspb.HAServiceStateProto_ACTIVE.Enum()}, nil
}

// msync is the barrier of observer reads: on the active there is nothing to wait for.
func (n *NameNode) msync(context.Context, *rpc.Call, *hdfspb.MsyncRequestProto) (*hdfspb.MsyncResponseProto, error) {
	return &hdfspb.MsyncResponseProto{}, nil
}

func (n *NameNode) getGroupsForUser(_ context.Context, _ *rpc.Call, req *hdfspb.GetGroupsForUserRequestProto) (*hdfspb.GetGroupsForUserResponseProto, error) {
	return &hdfspb.GetGroupsForUserResponseProto{Groups: n.o.Groups[req.GetUser()]}, nil
}
