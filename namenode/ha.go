package namenode

import (
	"context"
	"errors"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"google.golang.org/protobuf/proto"
)

// errNotHA is what a single namenode says about its state and about handing over.
func errNotHA() error { return dfs.Errorf(dfs.ClassServiceFailed, "HA for namenode is not enabled") }

// haMethods is HAServiceProtocol. A single namenode has no state to ask for or to hand over.
func (n *NameNode) haMethods() []rpc.Method {
	health := rpc.Handle("monitorHealth", n.monitorHealth).Quick()
	if n.group == nil {
		notHA := errNotHA()
		return []rpc.Method{
			rpc.Refuse("getServiceStatus", notHA),
			health,
			rpc.Refuse("transitionToActive", notHA),
			rpc.Refuse("transitionToStandby", notHA),
			rpc.Refuse("transitionToObserver", notHA),
		}
	}
	return []rpc.Method{
		rpc.Handle("getServiceStatus", n.getServiceStatus).Quick(),
		health,
		rpc.Handle("transitionToActive", n.transitionToActive),
		rpc.Handle("transitionToStandby", n.transitionToStandby),
		rpc.Handle("transitionToObserver", n.transitionToObserver),
	}
}

// tellsHealth reports whether a call is to be answered even by a namenode whose journal has failed: where there are others,
// somebody has to find out which of them to replace.
func (n *NameNode) tellsHealth(c *rpc.Call) bool { return n.group != nil && c.Protocol == haProtocol }

// monitorHealth fails once the journal has failed. A standby, which has no edits of its own, hears it from its group.
func (n *NameNode) monitorHealth(ctx context.Context, c *rpc.Call, _ *hdfspb.MonitorHealthRequestProto) (*hdfspb.MonitorHealthResponseProto, error) {
	if err := n.superuserOnly(c, "monitorHealth"); err != nil {
		return nil, err
	}
	if n.group != nil {
		c.Yield()
		if n.checkFailed(n.group.Fence(ctx)); n.failed.Load() {
			return nil, dfs.Errorf(dfs.ClassHealthCheckFailed, "The journal of NameNode %s has failed: restart it", n.o.ID)
		}
	}
	return &hdfspb.MonitorHealthResponseProto{}, nil
}

// haState is the state in HAServiceProtocol's numbers.
func (n *NameNode) haState() hdfspb.HAServiceStateProto {
	if n.part.Load().active {
		return hdfspb.HAServiceStateProto_ACTIVE
	}
	return hdfspb.HAServiceStateProto_STANDBY
}

// getServiceStatus tells the state, and whether a standby knows enough to take over.
func (n *NameNode) getServiceStatus(context.Context, *rpc.Call, *hdfspb.GetServiceStatusRequestProto) (*hdfspb.GetServiceStatusResponseProto, error) {
	answer := &hdfspb.GetServiceStatusResponseProto{State: n.haState().Enum(), ReadyToBecomeActive: proto.Bool(true)}
	if answer.GetState() == hdfspb.HAServiceStateProto_STANDBY && n.blocks.InSafeMode() {
		answer.ReadyToBecomeActive = proto.Bool(false)
		answer.NotReadyReason = proto.String("The NameNode is in safemode. " + n.blocks.SafeMode(time.Now()).Tip)
	}
	return answer, nil
}

func (n *NameNode) getHAServiceState(context.Context, *rpc.Call, *hdfspb.HAServiceStateRequestProto) (*hdfspb.HAServiceStateResponseProto, error) {
	if n.group == nil {
		return nil, errNotHA()
	}
	return &hdfspb.HAServiceStateResponseProto{State: n.haState().Enum()}, nil
}

// msync is the barrier of observer reads: on the active there is nothing to wait for but the gate.
func (n *NameNode) msync(context.Context, *rpc.Call, *hdfspb.MsyncRequestProto) (*hdfspb.MsyncResponseProto, error) {
	return &hdfspb.MsyncResponseProto{}, nil
}

// transitionTime bounds a transition, as Hadoop's tools do.
const transitionTime = 20 * time.Second

// mayTransition refuses who may not ask for a transition. There is no failover controller that could.
func (n *NameNode) mayTransition(c *rpc.Call, info *hdfspb.HAStateChangeRequestInfoProto) error {
	if info.GetReqSource() == hdfspb.HARequestSource_REQUEST_BY_ZKFC {
		return dfs.Errorf(dfs.ClassAccessControl, "Request from ZK failover controller at %s denied since automatic HA is not enabled", c.Remote)
	}
	return n.superuserOnly(c, c.Method)
}

// transitionToActive has this namenode elected and answers once it is active.
func (n *NameNode) transitionToActive(ctx context.Context, c *rpc.Call, req *hdfspb.TransitionToActiveRequestProto) (*hdfspb.TransitionToActiveResponseProto, error) {
	if err := n.mayTransition(c, req.GetReqInfo()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, transitionTime)
	defer cancel()
	if !n.group.Role().Leads {
		if err := n.group.Elect(ctx); err != nil {
			return nil, dfs.Errorf(dfs.ClassServiceFailed, "NameNode %s was not elected: %v", n.o.ID, err)
		}
	}
	for {
		changed, r, p := n.group.Changed(), n.group.Role(), n.part.Load()
		switch {
		case !r.Leads:
			return nil, dfs.Errorf(dfs.ClassServiceFailed, "NameNode %s was elected, but another one leads now", n.o.ID)
		case p.active && p.term == r.Term:
			return &hdfspb.TransitionToActiveResponseProto{}, nil
		}
		select {
		case <-p.over:
		case <-changed:
		case <-ctx.Done():
			return nil, dfs.Errorf(dfs.ClassServiceFailed, "NameNode %s leads, but cannot become active: %v", n.o.ID, ctx.Err())
		}
	}
}

// transitionToStandby hands the leadership over and answers once this namenode is a standby.
func (n *NameNode) transitionToStandby(ctx context.Context, c *rpc.Call, req *hdfspb.TransitionToStandbyRequestProto) (*hdfspb.TransitionToStandbyResponseProto, error) {
	if err := n.mayTransition(c, req.GetReqInfo()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, transitionTime)
	defer cancel()
	if n.group.Role().Leads {
		if err := n.group.Transfer(ctx, ""); err != nil && !errors.Is(err, editlog.ErrNotLeader) {
			return nil, dfs.Errorf(dfs.ClassServiceFailed, "NameNode %s cannot hand over: %v", n.o.ID, err)
		}
	}
	for {
		changed, r, p := n.group.Changed(), n.group.Role(), n.part.Load()
		if !r.Leads && !p.active {
			return &hdfspb.TransitionToStandbyResponseProto{}, nil
		}
		select {
		case <-p.over:
		case <-changed:
		case <-ctx.Done():
			return nil, dfs.Errorf(dfs.ClassServiceFailed, "NameNode %s has handed over, but still leads: %v", n.o.ID, ctx.Err())
		}
	}
}

// transitionToObserver is refused, as Hadoop refuses it on the active: there are no observers.
func (n *NameNode) transitionToObserver(_ context.Context, c *rpc.Call, req *hdfspb.TransitionToObserverRequestProto) (*hdfspb.TransitionToObserverResponseProto, error) {
	if err := n.mayTransition(c, req.GetReqInfo()); err != nil {
		return nil, err
	}
	return nil, dfs.Errorf(dfs.ClassServiceFailed, "Cannot transition from '%s' to 'observer'", n.part.Load().state())
}

func (n *NameNode) getGroupsForUser(_ context.Context, _ *rpc.Call, req *hdfspb.GetGroupsForUserRequestProto) (*hdfspb.GetGroupsForUserResponseProto, error) {
	return &hdfspb.GetGroupsForUserResponseProto{Groups: n.o.Groups[req.GetUser()]}, nil
}
