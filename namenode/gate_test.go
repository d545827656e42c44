package namenode

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// fences counts the questions to the others that f costs node 0.
func (m *team) fences(f func()) int {
	before := 0
	m.members[0].set(func() { before = m.members[0].fences })
	f()
	after := 0
	m.members[0].set(func() { after = m.members[0].fences })
	return after - before
}

// What was read from the state is confirmed by the others; what an edit or the retry cache has answered need not be.
func TestAnswersAreConfirmed(t *testing.T) {
	remove := &hdfspb.DeleteRequestProto{Src: proto.String("/gone"), Recursive: proto.Bool(false)}
	for _, tt := range []struct {
		name string
		call func(m *team) error
		want int
		err  dfs.Class
	}{
		{"a read", func(m *team) error { _, err := m.exists(0, "/d"); return err }, 1, ""},
		{"a read that is refused", func(m *team) error {
			return m.call(0, "getContentSummary", &hdfspb.GetContentSummaryRequestProto{Path: proto.String("/none")}, nil)
		}, 1, dfs.ClassFileNotFound},
		{"an edit", func(m *team) error { return m.mkdir(0, "/new") }, 0, ""},
		{"an edit that changes nothing", func(m *team) error { return m.mkdir(0, "/d") }, 1, ""},
		{"an edit that is refused", func(m *team) error {
			return m.call(0, "concat", &hdfspb.ConcatRequestProto{Trg: proto.String("/none"), Srcs: []string{"/d"}}, nil)
		}, 1, dfs.ClassFileNotFound},
		{"an edit that was answered before", func(m *team) error {
			return m.callAs(0, rpc.CallID{ID: 1000}, "delete", remove, nil)
		}, 0, ""},
		{"a lease that is renewed", func(m *team) error {
			return m.call(0, "renewLease", &hdfspb.RenewLeaseRequestProto{ClientName: proto.String(holder)}, nil)
		}, 1, ""},
		{"msync", func(m *team) error { return m.call(0, "msync", &hdfspb.MsyncRequestProto{}, nil) }, 1, ""},
		{"what a standby answers too", func(m *team) error {
			return m.call(0, "getDatanodeReport", &hdfspb.GetDatanodeReportRequestProto{Type: hdfspb.DatanodeReportTypeProto_ALL.Enum()}, nil)
		}, 0, ""},
	} {
		for _, stale := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				inBubble(t, 2, Options{StaleReads: stale}, func(t *testing.T, m *team) {
					m.lead(0)
					require.NoError(t, m.mkdir(0, "/d"))
					require.NoError(t, m.mkdir(0, "/gone"))
					require.NoError(t, m.callAs(0, rpc.CallID{ID: 1000}, "delete", remove, nil))
					got := m.fences(func() {
						if err := tt.call(m); tt.err == "" {
							require.NoError(t, err)
						} else {
							require.ErrorIs(t, err, tt.err)
						}
					})
					want := tt.want
					if stale {
						want = 0
					}
					require.Equal(t, want, got)
				})
			})
		}
	}
}

// A leader that was deposed without knowing it gives no old answer, neither to a read nor by refusing.
func TestDeposedLeaderDoesNotAnswer(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		require.NoError(t, m.mkdir(0, "/old"))
		m.members[0].setCut(true)
		m.lead(1)
		require.NoError(t, m.call(1, "rename", &hdfspb.RenameRequestProto{Src: proto.String("/old"), Dst: proto.String("/new")}, nil))
		require.Equal(t, []string{"active 1", "active 2", "standby 2"}, m.roles(), "node 0 knows of nothing")

		answers := make(chan error, 3)
		go func() { _, err := m.exists(0, "/old"); answers <- err }()
		go func() { answers <- m.mkdir(0, "/old") }() // is there already, as far as node 0 knows
		go func() { answers <- m.mkdir(0, "/c") }()   // an edit
		synctest.Wait()
		require.Empty(t, answers)
		m.members[0].setCut(false)
		var broken *rpc.ConnError
		standby := 0
		for range 3 {
			err := <-answers
			require.Error(t, err)
			if dfs.AsRemote(err).Class == dfs.ClassStandby {
				standby++
			} else {
				require.ErrorAs(t, err, &broken, "the connection of the edit, whose outcome is unknown, and with it all others that wait")
			}
		}
		t.Logf("%d answers from a standby", standby)
		synctest.Wait()
		require.Equal(t, []string{"standby 2", "active 2", "standby 2"}, m.roles())
	})
}

// A confirmation in a later term says nothing of what was read before.
func TestConfirmedInAnotherTerm(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		require.NoError(t, m.mkdir(0, "/a"))
		m.members[0].set(func() {
			m.members[0].fence = func(context.Context) error {
				m.lead(1)
				if err := m.call(1, "delete", &hdfspb.DeleteRequestProto{Src: proto.String("/a"), Recursive: proto.Bool(true)}, nil); err != nil {
					return err
				}
				m.lead(0)
				return nil
			}
		})
		_, err := m.exists(0, "/a")
		m.requireStandby(err, read)
		m.members[0].set(func() { m.members[0].fence = nil })
		ok, err := m.exists(0, "/a")
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// While an answer waits to be confirmed, other calls of its connection are carried out.
func TestConfirmationYields(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		release := make(chan struct{})
		m.members[0].set(func() { m.members[0].fence = func(context.Context) error { <-release; return nil } })
		done := make(chan error, 1)
		go func() { _, err := m.exists(0, "/"); done <- err }()
		synctest.Wait()
		require.NoError(t, m.mkdir(0, "/a"))
		require.Empty(t, done)
		close(release)
		require.NoError(t, <-done)
	})
}

// What the monitor began as the active one is not carried out in another term.
func TestEditsAreForOneTerm(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		n := m.nodes[0]
		ctx, _ := n.as(t.Context(), n.part.Load())
		m.lead(1)
		m.lead(0)
		_, err := n.edit(ctx, nil, internalOp(&namespace.Mkdirs{Path: "/a", CreateParent: true}))
		require.ErrorIs(t, err, editlog.ErrNotLeader)
		require.Equal(t, []string{"startSegment", "setParams", "startSegment"}, m.members[0].kinds)
	})
}

// A file whose writer vanished is recovered by the active one alone, and the next active goes on with what it began.
func TestLeasesAreTheActivesAffair(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		nodes := m.datanodes(3)
		last := blockFromWire(m.create(0, "/f", 3))
		m.report(blocks.StatusReceiving, last, nodes...)
		tick := func() {
			for _, n := range m.nodes {
				require.NoError(t, n.TriggerMonitor(t.Context()))
			}
		}
		holders := func() (list []string) {
			for lease := range m.nodes[1].ns.Leases() {
				list = append(list, lease.Holder)
			}
			return list
		}
		m.pass(15*time.Minute, nodes)
		m.lead(1)
		m.pass(15*time.Minute, nodes)
		tick()
		require.Equal(t, []string{holder}, holders(), "the lease counts as renewed when node 1 became active")
		m.pass(6*time.Minute, nodes)
		tick()
		require.Equal(t, []string{"HDFS_NameNode-nn2"}, holders())
		require.Contains(t, m.members[1].kinds, "startRecovery")
		require.NotContains(t, m.members[0].kinds, "startRecovery")

		m.lead(0)
		tick()
		require.Equal(t, []string{"HDFS_NameNode-nn1"}, holders(), "at once")
		m.requireSame()
	})
}
