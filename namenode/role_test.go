package namenode

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/stretchr/testify/require"
)

// inBubble runs a test of a team in virtual time.
func inBubble(t *testing.T, count int, o Options, f func(t *testing.T, m *team)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newTeam(t, count, o)) })
}

func TestActiveFollowsTheLeader(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, m *team) {
		synctest.Wait()
		require.Equal(t, []string{"standby 0", "standby 0", "standby 0"}, m.roles())
		m.lead(0)
		require.Equal(t, []string{"active 1", "standby 1", "standby 1"}, m.roles())
		require.Equal(t, []string{"startSegment", "setParams"}, m.members[0].kinds)
		require.NoError(t, m.mkdir(0, "/a"))

		m.lead(2)
		require.Equal(t, []string{"standby 2", "standby 2", "active 2"}, m.roles())
		require.Equal(t, []string{"startSegment"}, m.members[2].kinds, "the parameters are those already")
		ok, err := m.exists(2, "/a")
		require.NoError(t, err)
		require.True(t, ok)
		m.requireStandby(m.mkdir(0, "/b"), write)

		m.lead(0)
		require.Equal(t, []string{"active 3", "standby 3", "standby 3"}, m.roles())
		require.NoError(t, m.mkdir(0, "/b"))
		m.requireSame()
		for _, n := range m.nodes {
			require.Equal(t, uint64(3), n.ns.Term())
			require.NoError(t, n.Check())
		}
	})
}

// Clients that try each namenode once would give up if all said that they are standbys: while nobody leads they wait.
func TestCallsWaitForALeader(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		start := time.Now()
		m.requireStandby(m.mkdir(0, "/early"), write)
		require.Equal(t, time.Second, time.Since(start), "LeaderWait is over")

		go func() {
			time.Sleep(400 * time.Millisecond)
			m.group.lead(m.members[0])
		}()
		start = time.Now()
		require.NoError(t, m.mkdir(0, "/a"), "it leads meanwhile")
		require.Equal(t, 400*time.Millisecond, time.Since(start))

		start = time.Now()
		m.requireStandby(m.mkdir(1, "/b"), write)
		require.Zero(t, time.Since(start), "another one is known")

		m.group.lead(nil)
		go func() {
			time.Sleep(300 * time.Millisecond)
			m.group.lead(m.members[1])
		}()
		synctest.Wait()
		start = time.Now()
		m.requireStandby(m.mkdir(0, "/c"), write)
		require.Equal(t, 300*time.Millisecond, time.Since(start), "another one leads meanwhile")
	})
}

// A namenode that leads is not active before the first edits of its term are applied, and not at all when it has lost the
// leadership by then.
func TestActivationNeedsItsTerm(t *testing.T) {
	for _, tt := range []struct {
		name      string
		meanwhile func(m *team) // the first edit of node 0 is under way
		want      []string
	}{
		{"lost", func(m *team) { m.group.lead(m.members[1]) }, []string{"standby 2", "active 2"}},
		{"nobody leads", func(m *team) { m.group.lead(nil) }, []string{"standby 1", "standby 1"}},
		{"lost and won again", func(m *team) { m.group.lead(m.members[1]); synctest.Wait(); m.group.lead(m.members[0]) }, []string{"active 3", "standby 3"}},
		{"still leads", func(*team) {}, []string{"active 1", "standby 1"}},
	} {
		for _, at := range []string{"startSegment", "setParams"} {
			t.Run(tt.name+" at "+at, func(t *testing.T) {
				inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
					held, released := make(chan struct{}), make(chan struct{})
					release := sync.OnceFunc(func() { close(released) })
					t.Cleanup(release)
					m.members[0].set(func() {
						m.members[0].before = func(kind string) {
							if kind == at {
								m.members[0].set(func() { m.members[0].before = nil })
								close(held)
								<-released
							}
						}
					})
					m.group.lead(m.members[0])
					<-held
					synctest.Wait()
					require.Equal(t, []string{"standby 1", "standby 1"}, m.roles())
					_, active := m.nodes[0].blocks.ActiveSince()
					require.False(t, active, "no command goes out yet")
					tt.meanwhile(m)
					synctest.Wait()
					release()
					synctest.Wait()
					require.Equal(t, tt.want, m.roles())
					for i, n := range m.nodes {
						_, active := n.blocks.ActiveSince()
						require.Equal(t, m.roles()[i][:6] == "active", active)
					}
				})
			})
		}
	}
}

// What cannot be carried out just now is tried again while the namenode leads.
func TestActivationIsRepeated(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, m *team) {
		failures := 3
		m.members[0].set(func() {
			m.members[0].after = func(string) error {
				if failures--; failures >= 0 {
					return editlog.ErrUnknown
				}
				return nil
			}
		})
		m.lead(0)
		require.Equal(t, []string{"standby 1"}, m.roles())
		time.Sleep(3 * activateAgain)
		synctest.Wait()
		require.Equal(t, []string{"active 1"}, m.roles())
	})
}

// Each method of ClientProtocol is a standby's to answer or not, as in Hadoop.
func TestCategories(t *testing.T) {
	all := map[string]category{}
	for category, names := range clientCategories() {
		for _, name := range names {
			require.Empty(t, all[name], "%s is listed twice", name)
			all[name] = category
		}
	}
	for _, name := range ClientMethods() {
		require.NotEmpty(t, all[name], "%s has no category", name)
	}
	require.Len(t, all, len(ClientMethods()), "a category of a method that there is not")

	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		through := func(i int, protocol, method string) error {
			c := &rpc.Call{Protocol: protocol, Method: method, User: "hdfs"}
			_, err := m.nodes[i].gate(c, func(context.Context) (Answer, error) { return nil, nil })(t.Context())
			return err
		}
		for _, name := range ClientMethods() {
			require.NoError(t, through(0, clientProtocol, name), name)
			if err := through(1, clientProtocol, name); all[name] == unchecked {
				require.NoError(t, err, name)
			} else {
				m.requireStandby(err, all[name])
			}
		}
		for _, method := range m.nodes[1].datanodeMethods() {
			err := through(1, datanodeProtocol, method.Name)
			if method.Name == "reportBadBlocks" || method.Name == "commitBlockSynchronization" {
				m.requireStandby(err, write)
			} else {
				require.NoError(t, err, method.Name)
			}
		}
	})
}

// A leader that cannot tell what has become of an edit breaks the connection: its client asks again, elsewhere.
func TestUnknownOutcomeBreaksTheConnection(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		m.members[0].set(func() { m.members[0].after = func(string) error { return editlog.ErrUnknown } })
		var broken *rpc.ConnError
		require.ErrorAs(t, m.mkdir(0, "/a"), &broken)
		m.lead(1)
		ok, err := m.exists(1, "/a")
		require.NoError(t, err)
		require.True(t, ok, "it had been carried out")
	})
}

// An edit of a namenode that lost the leadership before it was journaled is not carried out: another one is to be asked.
func TestLostBeforeTheEdit(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		m.members[0].set(func() {
			m.members[0].before = func(kind string) {
				if kind == "mkdirs" {
					m.group.lead(m.members[1])
				}
			}
		})
		m.requireStandby(m.mkdir(0, "/a"), write)
		ok, err := m.exists(1, "/a")
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func healthRequest() *hdfspb.MonitorHealthRequestProto { return &hdfspb.MonitorHealthRequestProto{} }

// The journal of a namenode that fails ends its service, and the other goes on.
func TestFailedJournal(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, m *team) {
		m.lead(0)
		m.members[0].end(editlog.ErrFailed)
		var broken *rpc.ConnError
		require.ErrorAs(t, m.mkdir(0, "/a"), &broken)
		require.ErrorAs(t, m.mkdir(0, "/a"), &broken, "it stays so")
		require.ErrorIs(t, m.ha(0, "monitorHealth", healthRequest(), nil), dfs.ClassHealthCheckFailed)
		m.lead(1)
		require.NoError(t, m.mkdir(1, "/a"))
		require.NoError(t, m.ha(1, "monitorHealth", healthRequest(), nil))
	})
}
