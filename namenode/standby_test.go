package namenode

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// heartbeat sends a datanode's heartbeat to node i, as datanodes do.
func (m *team) heartbeat(i int, reg blocks.Registration) *hdfspb.HeartbeatResponseProto {
	m.Helper()
	resp := &hdfspb.HeartbeatResponseProto{}
	require.NoError(m, m.client(i, datanodeProtocol, "hdfs").Call(m.Context(), "sendHeartbeat", &hdfspb.HeartbeatRequestProto{
		Registration: m.registration(i, reg),
		Reports: []*hdfspb.StorageReportProto{{
			StorageUuid: proto.String(diskOf(reg).ID), Capacity: proto.Uint64(1 << 40), Remaining: proto.Uint64(1 << 40),
		}},
		RequestFullBlockReportLease: proto.Bool(true),
	}, resp))
	return resp
}

func (m *team) registration(i int, reg blocks.Registration) *hdfspb.DatanodeRegistrationProto {
	return &hdfspb.DatanodeRegistrationProto{
		DatanodeID: datanodeProto(reg.DatanodeID), StorageInfo: m.nodes[i].storageInfo(-57), SoftwareVersion: proto.String("3.4.1"),
		Keys: &hdfspb.ExportedBlockKeysProto{
			IsBlockTokenEnabled: proto.Bool(false), KeyUpdateInterval: proto.Uint64(0), TokenLifeTime: proto.Uint64(0),
			CurrentKey: &hdfspb.BlockKeyProto{KeyId: proto.Uint32(0), ExpiryDate: proto.Uint64(0)},
		},
	}
}

// register has a datanode register at every node over the wire.
func (m *team) register(port int) blocks.Registration {
	reg := blocks.Registration{DatanodeID: dfs.DatanodeID{
		UUID: "5d2a6f3e-0000-0000-0000-00000000000" + string(rune('0'+port)), IP: m.net.Host("client").IP(), Host: "localhost", XferPort: port, IPCPort: port,
	}}
	for i := range m.nodes {
		require.NoError(m, m.client(i, datanodeProtocol, "hdfs").Call(m.Context(), "registerDatanode", &hdfspb.RegisterDatanodeRequestProto{Registration: m.registration(i, reg)}, nil))
	}
	return reg
}

// Datanodes talk to all namenodes alike; what the standby is told makes it able to serve at once when it takes over, even
// where it was told before it knew the block.
func TestStandbyKnowsTheReplicas(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		reg := m.register(1)
		state := func(i int) string {
			h := m.heartbeat(i, reg)
			require.NotZero(t, h.GetFullBlockReportLeaseId())
			require.Equal(t, m.nodes[i].ns.TxID(), h.GetHaStatus().GetTxid())
			require.Empty(t, h.GetCmds())
			var version hdfspb.VersionResponseProto
			require.NoError(t, m.client(i, datanodeProtocol, "hdfs").Call(t.Context(), "versionRequest", &hdfspb.VersionRequestProto{}, &version))
			require.Equal(t, h.GetHaStatus().GetState(), version.GetInfo().GetState())
			return h.GetHaStatus().GetState().String()
		}
		require.Equal(t, "ACTIVE", state(0))
		require.Equal(t, "STANDBY", state(1))

		m.members[1].setCut(true) // its log is late, its datanodes are not
		b := m.write(0, "/f", []blocks.Registration{reg})
		gone := m.write(0, "/gone", []blocks.Registration{reg})
		require.NoError(t, m.call(0, "delete", &hdfspb.DeleteRequestProto{Src: proto.String("/gone"), Recursive: proto.Bool(false)}, nil))
		require.Zero(t, m.nodes[1].blocks.Replicas(b.ID))
		m.members[1].setCut(false)
		require.Equal(t, 1, m.nodes[1].blocks.Replicas(b.ID))

		before := m.nodes[0].ns.TxID()
		m.lead(1)
		require.False(t, m.nodes[1].InSafeMode())
		var located hdfspb.GetBlockLocationsResponseProto
		require.NoError(t, m.call(1, "getBlockLocations", &hdfspb.GetBlockLocationsRequestProto{
			Src: proto.String("/f"), Offset: proto.Uint64(0), Length: proto.Uint64(1 << 30),
		}, &located))
		require.Len(t, located.GetLocations().GetBlocks()[0].GetLocs(), 1)
		old, h := m.heartbeat(0, reg), m.heartbeat(1, reg)
		require.Equal(t, hdfspb.NNHAStatusHeartbeatProto_STANDBY, old.GetHaStatus().GetState())
		require.Equal(t, hdfspb.NNHAStatusHeartbeatProto_ACTIVE, h.GetHaStatus().GetState())
		require.Greater(t, h.GetHaStatus().GetTxid(), before, "datanodes obey a greater one alone")
		require.Empty(t, old.GetCmds(), "only the active commands")
		require.Len(t, h.GetCmds(), 1)
		require.Equal(t, uint64(gone.ID), h.GetCmds()[0].GetBlkCmd().GetBlocks()[0].GetBlockId())
	})
}

// What a datanode wants the namespace to take in is for the active.
func TestDatanodesEditsAreForTheActive(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		nodes := m.datanodes(1)
		b := &hdfspb.ExtendedBlockProto{PoolId: &m.nodes[0].identity.BlockPoolID, BlockId: proto.Uint64(1), GenerationStamp: proto.Uint64(1), NumBytes: proto.Uint64(0)}
		datanode := m.client(1, datanodeProtocol, "hdfs")
		m.requireStandby(datanode.Call(t.Context(), "commitBlockSynchronization", &hdfspb.CommitBlockSynchronizationRequestProto{
			Block: b, NewGenStamp: proto.Uint64(2), NewLength: proto.Uint64(0), CloseFile: proto.Bool(true), DeleteBlock: proto.Bool(true),
		}, nil), write)
		m.requireStandby(datanode.Call(t.Context(), "reportBadBlocks", &hdfspb.DatanodeReportBadBlocksRequestProto{}, nil), write)
		require.NoError(t, datanode.Call(t.Context(), "errorReport", &hdfspb.ErrorReportRequestProto{
			Registartion: m.registration(1, nodes[0]), ErrorCode: proto.Uint32(0), Msg: proto.String("hello"),
		}, nil))
	})
}

// A surplus replica stays until its datanode has reported to the new active: the old one may have given up another.
func TestSurplusReplicasWaitForReports(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		nodes := m.datanodes(3)
		b := m.write(0, "/f", nodes)
		commands := func(i int) (deleted int) {
			require.NoError(t, m.nodes[i].TriggerMonitor(t.Context()))
			for _, reg := range nodes {
				cmds, _, err := m.nodes[i].blocks.Heartbeat(reg, blocks.Heartbeat{Reports: []blocks.StorageReport{{Storage: diskOf(reg)}}}, time.Now())
				require.NoError(t, err)
				deleted += len(cmds)
			}
			return deleted
		}
		m.lead(1)
		require.NoError(t, m.call(1, "setReplication", &hdfspb.SetReplicationRequestProto{Src: proto.String("/f"), Replication: proto.Uint32(2)}, nil))
		require.Zero(t, commands(1))
		require.Zero(t, commands(0))
		for k, reg := range nodes {
			list := func(yield func(blocks.Replica) bool) { yield(blocks.Replica{Block: b, State: dfs.ReplicaFinalized}) }
			require.NoError(t, m.nodes[1].blocks.FullReport(reg, diskOf(reg), list, blocks.ReportContext{Total: 1}, time.Now()))
			if k < 2 {
				require.Zero(t, commands(1))
			}
		}
		require.Equal(t, 1, commands(1))
		require.Zero(t, commands(0))
	})
}

// The safe mode of a standby is over when the datanodes have reported what there was when it caught up; a namenode that
// becomes active before asks its clients to come again.
func TestSafeModeOfAStandby(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, m *team) {
		m.members[1].setCut(true)
		m.members[2].setCut(true)
		m.lead(0)
		nodes := m.datanodes(1)
		all := []dfs.Block{m.write(0, "/f", nodes), m.write(0, "/g", nodes)}
		tell := func(i int, status blocks.ReceivedStatus) {
			for _, b := range all {
				require.NoError(t, m.nodes[i].blocks.IncrementalReport(nodes[0], diskOf(nodes[0]), []blocks.Received{{Block: b, Status: status}}, time.Now()))
			}
		}
		for _, i := range []int{1, 2} {
			tell(i, blocks.StatusDeleted)
			_, ready, reason := m.status(i)
			require.False(t, ready, "nothing is known yet")
			require.Contains(t, reason, "The NameNode is in safemode. ")
			m.members[i].setCut(false)
		}
		synctest.Wait()
		_, ready, reason := m.status(1)
		require.False(t, ready)
		require.Contains(t, reason, "The reported blocks 0 needs additional 1 blocks to reach the threshold")
		tell(1, blocks.StatusReceived)
		_, ready, _ = m.status(1)
		require.True(t, ready)

		m.lead(2)
		err := m.mkdir(2, "/a")
		require.ErrorIs(t, err, dfs.ClassRetriable)
		require.ErrorContains(t, err, "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create directory /a. Name node is in safe mode.")
		ok, err := m.exists(2, "/f")
		require.NoError(t, err)
		require.True(t, ok, "reads are answered")
		tell(2, blocks.StatusReceived)
		require.NoError(t, m.mkdir(2, "/a"))
		require.NoError(t, m.call(2, "setSafeMode", &hdfspb.SetSafeModeRequestProto{Action: hdfspb.SafeModeActionProto_SAFEMODE_ENTER.Enum()}, nil))
		require.ErrorIs(t, m.mkdir(2, "/b"), dfs.ClassSafeMode, "by hand: it will not pass by itself")
	})
}

// Of some calls the request decides whether a standby answers.
func TestSafeModeOnAStandby(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		safeMode := func(action hdfspb.SafeModeActionProto, checked bool) error {
			return m.call(1, "setSafeMode", &hdfspb.SetSafeModeRequestProto{Action: action.Enum(), Checked: proto.Bool(checked)}, nil)
		}
		require.NoError(t, safeMode(hdfspb.SafeModeActionProto_SAFEMODE_GET, false))
		m.requireStandby(safeMode(hdfspb.SafeModeActionProto_SAFEMODE_GET, true), read)
		m.requireStandby(safeMode(hdfspb.SafeModeActionProto_SAFEMODE_ENTER, true), write)
		require.NoError(t, safeMode(hdfspb.SafeModeActionProto_SAFEMODE_ENTER, false))
		require.NoError(t, m.call(1, "saveNamespace", &hdfspb.SaveNamespaceRequestProto{}, nil))
		m.requireStandby(m.call(1, "rollEdits", &hdfspb.RollEditsRequestProto{}, nil), journal)
		m.requireStandby(m.call(1, "rollingUpgrade", &hdfspb.RollingUpgradeRequestProto{Action: hdfspb.RollingUpgradeActionProto_QUERY.Enum()}, nil), read)
		m.requireStandby(m.call(1, "rollingUpgrade", &hdfspb.RollingUpgradeRequestProto{Action: hdfspb.RollingUpgradeActionProto_START.Enum()}, nil), write)
	})
}
