package namenode

import (
	"testing"
	"testing/synctest"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// once is a call that HDFS carries out at most once, however often it is sent.
type once struct {
	method  string
	prepare func(m *team, nodes []blocks.Registration) proto.Message
	answer  proto.Message // an empty one
}

func (m *team) do(method string, req proto.Message) {
	m.Helper()
	require.NoError(m, m.call(0, method, req, nil))
}

// atMostOnce are all of them that change something here.
func atMostOnce() []once {
	snapshots := func(m *team) {
		m.do("mkdirs", mkdirsRequest("/d"))
		m.do("allowSnapshot", &hdfspb.AllowSnapshotRequestProto{SnapshotRoot: proto.String("/d")})
		m.do("createSnapshot", &hdfspb.CreateSnapshotRequestProto{SnapshotRoot: proto.String("/d"), SnapshotName: proto.String("s")})
	}
	xattr := &hdfspb.XAttrProto{Namespace: hdfspb.XAttrProto_USER.Enum(), Name: proto.String("a"), Value: []byte("v")}
	return []once{
		{"create", func(m *team, _ []blocks.Registration) proto.Message { return createRequest("/f", 3) }, &hdfspb.CreateResponseProto{}},
		{"append", func(m *team, nodes []blocks.Registration) proto.Message {
			m.write(0, "/f", nodes)
			return &hdfspb.AppendRequestProto{Src: proto.String("/f"), ClientName: proto.String(holder)}
		}, &hdfspb.AppendResponseProto{}},
		{"rename", func(m *team, _ []blocks.Registration) proto.Message {
			m.do("mkdirs", mkdirsRequest("/a"))
			return &hdfspb.RenameRequestProto{Src: proto.String("/a"), Dst: proto.String("/b")}
		}, &hdfspb.RenameResponseProto{}},
		{"rename2", func(m *team, _ []blocks.Registration) proto.Message {
			m.do("mkdirs", mkdirsRequest("/a"))
			return &hdfspb.Rename2RequestProto{Src: proto.String("/a"), Dst: proto.String("/b"), OverwriteDest: proto.Bool(false)}
		}, &hdfspb.Rename2ResponseProto{}},
		{"delete", func(m *team, _ []blocks.Registration) proto.Message {
			m.do("mkdirs", mkdirsRequest("/a"))
			return &hdfspb.DeleteRequestProto{Src: proto.String("/a"), Recursive: proto.Bool(false)}
		}, &hdfspb.DeleteResponseProto{}},
		{"concat", func(m *team, nodes []blocks.Registration) proto.Message {
			m.write(0, "/f", nodes)
			m.write(0, "/g", nodes)
			return &hdfspb.ConcatRequestProto{Trg: proto.String("/f"), Srcs: []string{"/g"}}
		}, &hdfspb.ConcatResponseProto{}},
		{"updatePipeline", func(m *team, nodes []blocks.Registration) proto.Message {
			old := m.create(0, "/f", 3)
			var bumped hdfspb.UpdateBlockForPipelineResponseProto
			require.NoError(m, m.call(0, "updateBlockForPipeline", &hdfspb.UpdateBlockForPipelineRequestProto{Block: old, ClientName: proto.String(holder)}, &bumped))
			req := &hdfspb.UpdatePipelineRequestProto{ClientName: proto.String(holder), OldBlock: old, NewBlock: bumped.GetBlock().GetB()}
			for _, reg := range nodes[:2] {
				req.NewNodes = append(req.NewNodes, datanodeProto(reg.DatanodeID))
				req.StorageIDs = append(req.StorageIDs, diskOf(reg).ID)
			}
			return req
		}, &hdfspb.UpdatePipelineResponseProto{}},
		{"createSnapshot", func(m *team, _ []blocks.Registration) proto.Message {
			m.do("mkdirs", mkdirsRequest("/d"))
			m.do("allowSnapshot", &hdfspb.AllowSnapshotRequestProto{SnapshotRoot: proto.String("/d")})
			return &hdfspb.CreateSnapshotRequestProto{SnapshotRoot: proto.String("/d")} // named by the time
		}, &hdfspb.CreateSnapshotResponseProto{}},
		{"renameSnapshot", func(m *team, _ []blocks.Registration) proto.Message {
			snapshots(m)
			return &hdfspb.RenameSnapshotRequestProto{SnapshotRoot: proto.String("/d"), SnapshotOldName: proto.String("s"), SnapshotNewName: proto.String("t")}
		}, &hdfspb.RenameSnapshotResponseProto{}},
		{"deleteSnapshot", func(m *team, _ []blocks.Registration) proto.Message {
			snapshots(m)
			return &hdfspb.DeleteSnapshotRequestProto{SnapshotRoot: proto.String("/d"), SnapshotName: proto.String("s")}
		}, &hdfspb.DeleteSnapshotResponseProto{}},
		{"setXAttr", func(m *team, _ []blocks.Registration) proto.Message {
			m.do("mkdirs", mkdirsRequest("/d"))
			return &hdfspb.SetXAttrRequestProto{Src: proto.String("/d"), XAttr: xattr, Flag: proto.Uint32(uint32(dfs.XAttrCreate))}
		}, &hdfspb.SetXAttrResponseProto{}},
		{"removeXAttr", func(m *team, _ []blocks.Registration) proto.Message {
			m.do("mkdirs", mkdirsRequest("/d"))
			m.do("setXAttr", &hdfspb.SetXAttrRequestProto{Src: proto.String("/d"), XAttr: xattr, Flag: proto.Uint32(uint32(dfs.XAttrCreate))})
			return &hdfspb.RemoveXAttrRequestProto{Src: proto.String("/d"), XAttr: xattr}
		}, &hdfspb.RemoveXAttrResponseProto{}},
	}
}

// A call that is sent again, to another namenode after a failover, gets the answer that the first one got, or would have got
// had it not been lost; it is carried out once.
func TestRepeatedCallsAreCarriedOutOnce(t *testing.T) {
	for _, tt := range atMostOnce() {
		for _, lost := range []bool{false, true} {
			name := tt.method
			if lost {
				name += ", answer lost"
			}
			t.Run(name, func(t *testing.T) {
				inBubble(t, 3, Options{}, func(t *testing.T, m *team) {
					m.lead(0)
					nodes := m.datanodes(3)
					req := tt.prepare(m, nodes)
					id := m.nextID()
					first := proto.Clone(tt.answer)
					if lost {
						m.members[0].set(func() { m.members[0].after = func(string) error { return editlog.ErrUnknown } })
						var broken *rpc.ConnError
						require.ErrorAs(t, m.callAs(0, id, tt.method, req, first), &broken)
					} else {
						require.NoError(t, m.callAs(0, id, tt.method, req, first))
					}
					done := m.nodes[0].ns.TxID()
					for _, next := range []int{1, 2} {
						m.lead(next)
						done++ // the new segment
						again := proto.Clone(tt.answer)
						require.NoError(t, m.callAs(next, rpc.CallID{ID: id.ID, Retry: 1}, tt.method, req, again))
						if lost && next == 1 {
							first = again
						}
						require.True(t, proto.Equal(first, again), "first %v, then %v", first, again)
						require.Equal(t, done, m.nodes[next].ns.TxID(), "nothing was changed")
					}
					m.requireSame()
					for _, n := range m.nodes {
						require.NoError(t, n.Check())
					}
				})
			})
		}
	}
}

// A call whose op was lost with the leader is carried out where it is repeated.
func TestLostCallsAreCarriedOutAgain(t *testing.T) {
	for _, tt := range atMostOnce() {
		t.Run(tt.method, func(t *testing.T) {
			inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
				m.lead(0)
				req := tt.prepare(m, m.datanodes(3))
				id := m.nextID()
				m.members[0].set(func() { m.members[0].before = func(string) { m.group.lead(m.members[1]) } })
				m.requireStandby(m.callAs(0, id, tt.method, req, nil), write)
				synctest.Wait() // the next one may not have heard yet that it leads
				require.NoError(t, m.callAs(1, rpc.CallID{ID: id.ID, Retry: 1}, tt.method, req, nil))
				require.Contains(t, m.members[1].kinds, tt.method)
				m.requireSame()
			})
		})
	}
}
