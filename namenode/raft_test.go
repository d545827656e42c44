package namenode

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/memnet"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// squad is namenodes that share a journal by raft, in a synctest bubble.
type squad struct {
	*testing.T
	net      *memnet.Network
	identity Identity
	members  []Member
	stores   []*Stores
	nodes    []*NameNode
	addrs    []string
	clients  []*rpc.Client
}

// newSquad starts so many namenodes, the first of which leads.
func newSquad(t *testing.T, count int) *squad {
	t.Helper()
	s := &squad{T: t, net: memnet.New(memnet.Options{OwnIPs: true}), identity: NewIdentity(1), nodes: make([]*NameNode, count)}
	for i := range count {
		id := fmt.Sprintf("nn%d", i+1)
		s.members = append(s.members, Member{ID: id, Addr: s.net.Host(id).IP() + ":9870", Voter: true})
		s.stores = append(s.stores, NewMemoryStores())
		s.addrs = append(s.addrs, s.net.Host(id).IP()+":8020")
		s.clients = append(s.clients, rpc.NewClient(s.addrs[i], rpc.ClientOptions{
			Dial: s.net.Host("client").Dial, User: "hdfs", Protocol: clientProtocol, ClientID: [16]byte{9},
		}))
	}
	for i := range count {
		s.start(i)
	}
	t.Cleanup(func() {
		for _, c := range s.clients {
			require.NoError(t, c.Close())
		}
		for _, n := range s.nodes {
			require.NoError(t, n.Close())
		}
		require.NoError(t, s.net.Close())
	})
	s.elect(0)
	return s
}

func (s *squad) start(i int) {
	s.Helper()
	host := s.net.Host(s.members[i].ID)
	l, err := host.Listen("tcp", s.addrs[i])
	require.NoError(s, err)
	peers, err := host.Listen("tcp", s.members[i].Addr)
	require.NoError(s, err)
	s.nodes[i], err = New(s.Context(), Options{
		ID: s.members[i].ID, Listener: l, Superuser: "hdfs",
		Raft: &RaftOptions{
			ID: s.members[i].ID, Addr: s.members[i].Addr, Listener: peers, Dial: host.Dial, Stores: s.stores[i],
			Members: s.members, Identity: s.identity,
		},
	})
	require.NoError(s, err)
}

// elect makes node i active, as an administrator does.
func (s *squad) elect(i int) {
	s.Helper()
	s.transition(i, "transitionToActive", &hdfspb.TransitionToActiveRequestProto{ReqInfo: byUser()})
	require.Equal(s, "active", s.state(i))
}

func (s *squad) transition(i int, method string, req proto.Message) {
	s.Helper()
	admin := rpc.NewClient(s.addrs[i], rpc.ClientOptions{Dial: s.net.Host("client").Dial, User: "hdfs", Protocol: haProtocol})
	defer admin.Close()
	require.NoError(s, admin.Call(s.Context(), method, req, nil))
}

func (s *squad) state(i int) string {
	state, _ := s.nodes[i].Role()
	return state
}

// await waits until node i is what it is to be.
func (s *squad) await(i int, want string) {
	s.Helper()
	for range 60 * 1000 {
		if s.state(i) == want {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.Fatalf("%s is %s, and not %s", s.members[i].ID, s.state(i), want)
}

// call is a client that tries one namenode after the other until it has an answer, always with the same ids.
func (s *squad) call(method string, id int32, req, resp proto.Message) error {
	var broken *rpc.ConnError
	for retry := range int32(200) {
		ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
		err := s.clients[int(retry)%len(s.clients)].CallAs(ctx, rpc.CallID{ID: id, Retry: retry}, method, req, resp)
		cancel()
		if !errors.Is(err, dfs.ClassStandby) && !errors.As(err, &broken) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("no answer from anybody")
}

// Clients go on through handovers and through the death of the active namenode; each of their calls is carried out once.
func TestRaftFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSquad(t, 3)
		var clients sync.WaitGroup
		stop := make(chan struct{})
		counts := make([]int32, 4)
		for k := range counts {
			clients.Go(func() {
				for n := int32(0); ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					dir := fmt.Sprintf("/c%d/d%d", k, n)
					id := int32(k)*1_000_000 + 2*n
					if err := s.call("mkdirs", id, mkdirsRequest(dir), nil); err != nil {
						t.Errorf("mkdirs %s: %v", dir, err)
						return
					}
					var done hdfspb.RenameResponseProto // false when it is carried out twice
					err := s.call("rename", id+1, &hdfspb.RenameRequestProto{Src: proto.String(dir), Dst: proto.String(dir + "x")}, &done)
					if err != nil || !done.GetResult() {
						t.Errorf("rename %s: %v, %v", dir, done.GetResult(), err)
						return
					}
					counts[k] = n + 1
					time.Sleep(time.Millisecond)
				}
			})
		}
		pause := func() { time.Sleep(50 * time.Millisecond) }
		pause()
		s.elect(1)
		s.await(0, "standby")
		pause()
		s.transition(1, "transitionToStandby", &hdfspb.TransitionToStandbyRequestProto{ReqInfo: byUser()})
		require.Equal(t, "standby", s.state(1))
		pause()
		s.elect(2)
		pause()
		s.nodes[2].Kill()
		pause()
		s.elect(0)
		pause()
		s.start(2)
		pause()
		s.net.Down("nn1") // the active one, and nobody helps
		time.Sleep(5 * time.Second)
		s.await(0, "standby")
		s.net.Up("nn1")
		pause()
		close(stop)
		clients.Wait()

		for k, count := range counts {
			require.Positive(t, count)
			var resp hdfspb.GetContentSummaryResponseProto
			require.NoError(t, s.call("getContentSummary", 9_000_000+int32(k), &hdfspb.GetContentSummaryRequestProto{
				Path: proto.String(fmt.Sprintf("/c%d", k)),
			}, &resp))
			require.Equal(t, uint64(count)+1, resp.GetSummary().GetDirectoryCount())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		txid, digest := s.nodes[0].Digest()
		for _, n := range s.nodes[1:] {
			tx, d := n.Digest()
			require.Equal(t, []uint64{txid, digest}, []uint64{tx, d})
			require.NoError(t, n.Check())
		}
		t.Logf("%v renames, %d transactions", counts, txid)
	})
}

// An active namenode that is cut off from the others, but not from its clients, does not answer what the next one has made
// old, not even in the time in which it still believes that it leads.
func TestRaftDeposedLeaderIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSquad(t, 3)
		require.NoError(t, s.call("mkdirs", 1, mkdirsRequest("/old"), nil))
		time.Sleep(time.Second) // all have it: the one with less of the log would not be elected
		s.net.Partition([]string{"nn1"}, []string{"nn2", "nn3"})
		s.elect(1)
		require.NoError(t, s.clients[1].CallAs(t.Context(), rpc.CallID{ID: 2}, "rename", &hdfspb.RenameRequestProto{Src: proto.String("/old"), Dst: proto.String("/new")}, nil))
		require.Equal(t, "active", s.state(0), "it has heard of nothing")
		for _, call := range []struct {
			method string
			req    proto.Message
		}{
			{"getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: proto.String("/old")}},
			{"mkdirs", mkdirsRequest("/old")},                                                        // is there, as far as it knows
			{"getContentSummary", &hdfspb.GetContentSummaryRequestProto{Path: proto.String("/new")}}, // is not
			{"create", createRequest("/f", 3)},
		} {
			err := s.clients[0].CallAs(t.Context(), rpc.CallID{ID: 3}, call.method, call.req, nil)
			var broken *rpc.ConnError
			require.True(t, errors.Is(err, dfs.ClassStandby) || errors.As(err, &broken), "%s: %v", call.method, err)
		}
		s.await(0, "standby")
		s.net.Heal()
		time.Sleep(5 * time.Second)
		require.Equal(t, s.nodes[1].Group().Role().Leader, s.nodes[0].Group().Role().Leader)
	})
}

// Whatever happens to the namenodes, who reads finds what was acknowledged before, or is told to ask elsewhere.
func TestRaftReadsAreNotStale(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		s := newSquad(t, 3)
		var acknowledged, answers atomic.Int32
		var clients sync.WaitGroup
		stop := make(chan struct{})
		stopped := func() bool {
			select {
			case <-stop:
				return true
			default:
				return false
			}
		}
		dir := func(n int32) string { return fmt.Sprintf("/w/%d", n) }
		require.NoError(t, s.call("mkdirs", 0, mkdirsRequest(dir(0)), nil))
		clients.Go(func() {
			for n := int32(1); !stopped(); n++ {
				if err := s.call("mkdirs", n, mkdirsRequest(dir(n)), nil); err != nil {
					t.Errorf("%s: %v", dir(n), err)
					return
				}
				acknowledged.Store(n)
				time.Sleep(5 * time.Millisecond)
			}
		})
		for i := range s.nodes {
			clients.Go(func() {
				for id := int32(i+1) * 10_000_000; !stopped(); id++ {
					n := acknowledged.Load()
					var resp hdfspb.GetFileInfoResponseProto
					err := s.clients[i].CallAs(t.Context(), rpc.CallID{ID: id}, "getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: proto.String(dir(n))}, &resp)
					time.Sleep(5 * time.Millisecond)
					switch {
					case err != nil:
					case resp.GetFs() == nil:
						t.Errorf("%s was made and %s does not know it", dir(n), s.members[i].ID)
						return
					default:
						answers.Add(1)
					}
				}
			})
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for range 12 {
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			a, b := random.IntN(3), random.IntN(3)
			switch random.IntN(3) {
			case 0: // whether it wins or not
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_ = s.nodes[a].Group().Elect(ctx)
				cancel()
			case 1:
				others := slices.Delete([]string{"nn1", "nn2", "nn3"}, a, a+1)
				s.net.Partition([]string{s.members[a].ID}, others)
			default:
				s.net.Stall(s.members[a].ID, s.members[b].ID)
			}
			if random.IntN(2) == 0 {
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				s.net.Heal()
			}
		}
		s.net.Heal()
		time.Sleep(10 * time.Second)
		close(stop)
		clients.Wait()
		require.Positive(t, acknowledged.Load())
		t.Logf("%d directories, %d reads", acknowledged.Load(), answers.Load())
	})
}
