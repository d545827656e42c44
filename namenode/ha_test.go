package namenode

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func asked(by hdfspb.HARequestSource) *hdfspb.HAStateChangeRequestInfoProto {
	return &hdfspb.HAStateChangeRequestInfoProto{ReqSource: by.Enum()}
}

func byUser() *hdfspb.HAStateChangeRequestInfoProto {
	return asked(hdfspb.HARequestSource_REQUEST_BY_USER)
}

// status asks node i for its state and whether it is ready.
func (m *team) status(i int) (hdfspb.HAServiceStateProto, bool, string) {
	m.Helper()
	var resp hdfspb.GetServiceStatusResponseProto
	require.NoError(m, m.ha(i, "getServiceStatus", &hdfspb.GetServiceStatusRequestProto{}, &resp))
	var state hdfspb.HAServiceStateResponseProto
	require.NoError(m, m.call(i, "getHAServiceState", &hdfspb.HAServiceStateRequestProto{}, &state))
	require.Equal(m, resp.GetState(), state.GetState())
	return resp.GetState(), resp.GetReadyToBecomeActive(), resp.GetNotReadyReason()
}

// The administrator's transitions are answered once they are done.
func TestTransitions(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, m *team) {
		toActive, toStandby := &hdfspb.TransitionToActiveRequestProto{ReqInfo: byUser()}, &hdfspb.TransitionToStandbyRequestProto{ReqInfo: byUser()}
		require.NoError(t, m.ha(1, "transitionToActive", toActive, nil))
		state, term := m.nodes[1].Role()
		require.Equal(t, "active", state)
		require.Equal(t, uint64(1), term)
		require.NoError(t, m.ha(1, "transitionToActive", toActive, nil), "it is already")
		_, term = m.nodes[1].Role()
		require.Equal(t, uint64(1), term)

		require.NoError(t, m.ha(2, "transitionToActive", toActive, nil), "from another one")
		require.NoError(t, m.mkdir(2, "/a"))
		synctest.Wait()
		require.Equal(t, []string{"standby 2", "standby 2", "active 2"}, m.roles())

		require.NoError(t, m.ha(1, "transitionToStandby", toStandby, nil), "it is already")
		require.NoError(t, m.ha(2, "transitionToStandby", toStandby, nil))
		state, _ = m.nodes[2].Role()
		require.Equal(t, "standby", state)
		synctest.Wait()
		require.Equal(t, []string{"active 3", "standby 3", "standby 3"}, m.roles())

		for i, want := range []hdfspb.HAServiceStateProto{hdfspb.HAServiceStateProto_ACTIVE, hdfspb.HAServiceStateProto_STANDBY} {
			got, ready, _ := m.status(i)
			require.Equal(t, want, got)
			require.True(t, ready)
			require.NoError(t, m.ha(i, "monitorHealth", healthRequest(), nil))
		}
	})
}

func TestRefusedTransitions(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		refused := func(err error, class dfs.Class, text string) {
			t.Helper()
			var remote *dfs.RemoteError
			require.True(t, errors.As(err, &remote), "%v", err)
			require.Equal(t, dfs.RemoteError{Class: class, Message: text}, *remote)
		}
		zkfc := asked(hdfspb.HARequestSource_REQUEST_BY_ZKFC)
		host := m.net.Host("client").IP()
		refused(m.ha(1, "transitionToActive", &hdfspb.TransitionToActiveRequestProto{ReqInfo: zkfc}, nil), dfs.ClassAccessControl,
			"Request from ZK failover controller at "+host+" denied since automatic HA is not enabled")
		refused(m.ha(0, "transitionToObserver", &hdfspb.TransitionToObserverRequestProto{ReqInfo: byUser()}, nil), dfs.ClassServiceFailed,
			"Cannot transition from 'active' to 'observer'")
		for method, req := range map[string]proto.Message{
			"transitionToActive":   &hdfspb.TransitionToActiveRequestProto{ReqInfo: byUser()},
			"transitionToStandby":  &hdfspb.TransitionToStandbyRequestProto{ReqInfo: byUser()},
			"transitionToObserver": &hdfspb.TransitionToObserverRequestProto{ReqInfo: byUser()},
			"monitorHealth":        healthRequest(),
		} {
			refused(m.client(0, haProtocol, "joe").Call(t.Context(), method, req, nil), dfs.ClassAccessControl,
				"Access denied for user joe. Superuser privilege is required for operation "+method)
		}
		m.members[1].setCut(true)
		refused(m.ha(1, "transitionToActive", &hdfspb.TransitionToActiveRequestProto{ReqInfo: byUser()}, nil), dfs.ClassServiceFailed,
			"NameNode nn2 was not elected: no answer from the others")
		refused(m.ha(0, "transitionToStandby", &hdfspb.TransitionToStandbyRequestProto{ReqInfo: byUser()}, nil), dfs.ClassServiceFailed,
			"NameNode nn1 cannot hand over: there is no other member")
		require.Equal(t, []string{"active 1", "standby 1"}, m.roles())
	})
}

// A standby that has lost its journal tells who asks for its health, and nobody else.
func TestStandbyWithAFailedJournal(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		m.fail(1)
		require.ErrorIs(t, m.ha(1, "monitorHealth", healthRequest(), nil), dfs.ClassHealthCheckFailed)
		require.Error(t, m.call(1, "getDatanodeReport", &hdfspb.GetDatanodeReportRequestProto{Type: hdfspb.DatanodeReportTypeProto_ALL.Enum()}, nil))
		require.NoError(t, m.mkdir(0, "/a"))
	})
}
