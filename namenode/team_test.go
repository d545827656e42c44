package namenode

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/memnet"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// team is namenodes that share a journal, in a synctest bubble. None leads at first.
type team struct {
	*testing.T
	group   *fakeGroup
	net     *memnet.Network
	nodes   []*NameNode
	members []*fakeMember
	clients map[string]*rpc.Client
	lastID  atomic.Int32
}

func newTeam(t *testing.T, count int, o Options) *team {
	t.Helper()
	m := &team{T: t, group: &fakeGroup{}, net: memnet.New(memnet.Options{}), clients: map[string]*rpc.Client{}}
	for i := range count {
		o := o
		o.ID = fmt.Sprintf("nn%d", i+1)
		l, err := m.net.Host(o.ID).Listen("tcp", ":0")
		require.NoError(t, err)
		o.FS, o.Dir, o.Listener, o.Superuser = afero.NewMemMapFs(), "/nn", l, "hdfs"
		o, err = o.withDefaults()
		require.NoError(t, err)
		n, err := open(t.Context(), o, func(_ context.Context, sm editlog.StateMachine, o *Options, id editlog.Identity) (editlog.Journal, editlog.Identity, error) {
			if i == 0 {
				m.group.identity = id
			}
			member := m.group.join(o.ID, sm)
			m.members = append(m.members, member)
			return member, m.group.identity, nil
		})
		require.NoError(t, err)
		m.nodes = append(m.nodes, n)
	}
	t.Cleanup(m.close)
	return m
}

func (m *team) close() {
	for _, c := range m.clients {
		require.NoError(m, c.Close())
	}
	for _, n := range m.nodes {
		require.NoError(m, n.Close())
	}
	require.NoError(m, m.net.Close())
}

// lead makes node i the leader, and waits until every node has become what it is then.
func (m *team) lead(i int) {
	m.group.lead(m.members[i])
	synctest.Wait()
}

// fail has the journal of node i fail.
func (m *team) fail(i int) {
	m.members[i].set(func() {
		m.members[i].ended = editlog.ErrFailed
		m.members[i].becomeLocked(editlog.Role{Term: m.members[i].role.Term})
	})
	synctest.Wait()
}

// client is a client of node i by a protocol.
func (m *team) client(i int, protocol, user string) *rpc.Client {
	key := fmt.Sprint(i, protocol, user)
	if m.clients[key] == nil {
		m.clients[key] = rpc.NewClient(m.nodes[i].Addr().String(), rpc.ClientOptions{
			Dial: m.net.Host("client").Dial, User: user, Protocol: protocol, ClientID: [16]byte{7},
		})
	}
	return m.clients[key]
}

// nextID takes a call id, which is the client's on all nodes.
func (m *team) nextID() rpc.CallID {
	return rpc.CallID{ID: m.lastID.Add(1)}
}

// call sends a call of ClientProtocol to node i.
func (m *team) call(i int, method string, req, resp proto.Message) error {
	return m.callAs(i, m.nextID(), method, req, resp)
}

func (m *team) callAs(i int, id rpc.CallID, method string, req, resp proto.Message) error {
	return m.client(i, clientProtocol, "hdfs").CallAs(m.Context(), id, method, req, resp)
}

func (m *team) ha(i int, method string, req, resp proto.Message) error {
	return m.client(i, haProtocol, "hdfs").Call(m.Context(), method, req, resp)
}

func (m *team) mkdir(i int, path string) error {
	return m.call(i, "mkdirs", mkdirsRequest(path), nil)
}

func mkdirsRequest(path string) *hdfspb.MkdirsRequestProto {
	return &hdfspb.MkdirsRequestProto{Src: proto.String(path), Masked: permission(0o755), CreateParent: proto.Bool(true)}
}

// exists asks node i for a path.
func (m *team) exists(i int, path string) (bool, error) {
	var resp hdfspb.GetFileInfoResponseProto
	err := m.call(i, "getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: proto.String(path)}, &resp)
	return resp.GetFs() != nil, err
}

// roles lists what the nodes are.
func (m *team) roles() []string {
	var list []string
	for _, n := range m.nodes {
		state, term := n.Role()
		list = append(list, fmt.Sprintf("%s %d", state, term))
	}
	return list
}

// datanodes registers so many at every node, with nothing on them.
func (m *team) datanodes(count int) []blocks.Registration {
	var list []blocks.Registration
	for _, n := range m.nodes {
		list = datanodes(m, n, count)
		for _, reg := range list {
			require.NoError(m, n.blocks.FullReport(reg, diskOf(reg), func(func(blocks.Replica) bool) {}, blocks.ReportContext{Total: 1}, time.Now()))
		}
	}
	return list
}

func diskOf(reg blocks.Registration) blocks.Storage {
	return blocks.Storage{ID: "DS-" + reg.UUID, Type: dfs.StorageDisk}
}

// report tells every node what has become of replicas of a block.
func (m *team) report(status blocks.ReceivedStatus, b dfs.Block, on ...blocks.Registration) {
	for _, n := range m.nodes {
		for _, reg := range on {
			require.NoError(m, n.blocks.IncrementalReport(reg, diskOf(reg), []blocks.Received{{Block: b, Status: status}}, time.Now()))
		}
	}
}

// beat sends the heartbeats of datanodes to every node.
func (m *team) beat(nodes []blocks.Registration) {
	for _, n := range m.nodes {
		for _, reg := range nodes {
			_, _, err := n.blocks.Heartbeat(reg, blocks.Heartbeat{Reports: []blocks.StorageReport{{
				Storage: diskOf(reg), Capacity: 1 << 40, Remaining: 1 << 40,
			}}}, time.Now())
			require.NoError(m, err)
		}
	}
}

// pass lets time pass, in which the datanodes stay alive.
func (m *team) pass(d time.Duration, nodes []blocks.Registration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(time.Minute, time.Until(end)))
		m.beat(nodes)
	}
}

const holder = "DFSClient_test"

func createRequest(path string, replication int) *hdfspb.CreateRequestProto {
	return &hdfspb.CreateRequestProto{
		Src: proto.String(path), Masked: permission(0o644), ClientName: proto.String(holder), CreateFlag: proto.Uint32(uint32(dfs.CreateNew)),
		CreateParent: proto.Bool(true), Replication: proto.Uint32(uint32(replication)), BlockSize: proto.Uint64(128 << 20),
	}
}

// create opens a file with one block on node i, and gives the block.
func (m *team) create(i int, path string, replication int) *hdfspb.ExtendedBlockProto {
	m.Helper()
	require.NoError(m, m.call(i, "create", createRequest(path, replication), nil))
	var added hdfspb.AddBlockResponseProto
	require.NoError(m, m.call(i, "addBlock", &hdfspb.AddBlockRequestProto{Src: proto.String(path), ClientName: proto.String(holder)}, &added))
	return added.GetBlock().GetB()
}

// write makes a file of one block of 1024 bytes on node i, which the datanodes have.
func (m *team) write(i int, path string, on []blocks.Registration) dfs.Block {
	m.Helper()
	last := m.create(i, path, len(on))
	last.NumBytes = proto.Uint64(1024)
	m.report(blocks.StatusReceived, blockFromWire(last), on...)
	var done hdfspb.CompleteResponseProto
	require.NoError(m, m.call(i, "complete", &hdfspb.CompleteRequestProto{Src: proto.String(path), ClientName: proto.String(holder), Last: last}, &done))
	require.True(m, done.GetResult())
	return blockFromWire(last)
}

// requireStandby wants err to be the answer of a standby to a call of a category.
func (m *team) requireStandby(err error, category category) {
	m.Helper()
	var remote *dfs.RemoteError
	require.True(m, errors.As(err, &remote), "%v", err)
	require.Equal(m, dfs.ClassStandby, remote.Class)
	require.Equal(m, "Operation category "+string(category)+" is not supported in state standby. Visit https://s.apache.org/sbnn-error", remote.Message)
}

// requireSame wants all nodes to have the same state.
func (m *team) requireSame() {
	m.Helper()
	txid, digest := m.nodes[0].Digest()
	for _, n := range m.nodes[1:] {
		t, d := n.Digest()
		require.Equal(m, []uint64{txid, digest}, []uint64{t, d})
	}
}
