package editlog

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/memnet"
)

// newBenchGroup is three members whose machines cost nothing; the first one leads.
func newBenchGroup(b *testing.B, stores func(id string) *Stores) []*Raft {
	n := memnet.New(memnet.Options{})
	b.Cleanup(func() { _ = n.Close() })
	var listeners []net.Listener
	var members []Member
	for i := range 3 {
		id := fmt.Sprint("nn", i+1)
		l, err := n.Host(id).Listen("tcp", ":0")
		require.NoError(b, err)
		listeners = append(listeners, l)
		members = append(members, Member{ID: id, Addr: l.Addr().String(), Voter: true})
	}
	var all []*Raft
	for i, m := range members {
		r, err := OpenRaft(b.Context(), &cheapMachine{newMachine(), make([]any, 4096)}, RaftOptions{
			ID: m.ID, Addr: m.Addr, Listener: listeners[i], Dial: n.Host(m.ID).Dial, Stores: stores(m.ID), Members: members,
			Identity: testIdentity,
		})
		require.NoError(b, err)
		all = append(all, r)
	}
	require.NoError(b, all[0].Elect(b.Context()))
	return all
}

// benchStores are where the stores of the benchmarks lie.
func benchStores(b *testing.B) map[string]func(id string) *Stores {
	dir, err := os.MkdirTemp("/dev/shm", "editlog")
	if err != nil {
		b.Skip("no /dev/shm here")
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	var n atomic.Int64
	return map[string]func(id string) *Stores{
		"memory": func(string) *Stores { return NewMemoryStores() },
		"tmpfs": func(id string) *Stores {
			s, err := OpenStores(filepath.Join(dir, fmt.Sprint(id, n.Add(1))), true)
			require.NoError(b, err)
			return s
		},
	}
}

// BenchmarkRaft appends ops of 60 bytes to three members from c goroutines, beside Local on the same kind of disk.
func BenchmarkRaft(b *testing.B) {
	for _, place := range []string{"memory", "tmpfs"} {
		for _, c := range []int{1, 16, 128, 1024} {
			b.Run(fmt.Sprintf("%s/local/c=%d", place, c), func(b *testing.B) {
				o := LocalOptions{FS: newDisk(), Dir: "/nn"}
				if place == "tmpfs" {
					dir, err := os.MkdirTemp("/dev/shm", "editlog")
					require.NoError(b, err)
					defer func() { _ = os.RemoveAll(dir) }()
					o.FS, o.Dir = afero.NewOsFs(), dir
				}
				j, err := OpenLocal(b.Context(), &cheapMachine{newMachine(), make([]any, 4096)}, o)
				require.NoError(b, err)
				appendFrom(b, j, c)
				b.ReportMetric(float64(j.Stats().Ops)/b.Elapsed().Seconds(), "ops/s")
				require.NoError(b, j.Close())
			})
			b.Run(fmt.Sprintf("%s/raft/c=%d", place, c), func(b *testing.B) {
				all := newBenchGroup(b, benchStores(b)[place])
				appendFrom(b, all[0], c)
				s := all[0].Stats()
				b.ReportMetric(float64(s.Ops)/b.Elapsed().Seconds(), "ops/s")
				b.ReportMetric(s.OpsPerBatch(), "ops/batch")
				for _, r := range all {
					r.Kill()
				}
			})
		}
	}
}

// BenchmarkFence waits for the fence from c goroutines.
func BenchmarkFence(b *testing.B) {
	for _, c := range []int{1, 16, 128, 1024} {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			all := newBenchGroup(b, benchStores(b)["memory"])
			require.NoError(b, all[0].Fence(b.Context()))
			var next atomic.Int64
			var wg sync.WaitGroup
			ctx := context.Background()
			b.ReportAllocs()
			b.ResetTimer()
			for range c {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if err := all[0].Fence(ctx); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(all[0].probes.number), "µs/round")
			for _, r := range all {
				r.Kill()
			}
		})
	}
}

// BenchmarkElect moves the leadership round three members, and waits until all know.
func BenchmarkElect(b *testing.B) {
	all := newBenchGroup(b, benchStores(b)["memory"])
	_, err := all[0].Append(b.Context(), addOp{"a", 1})
	require.NoError(b, err)
	b.ResetTimer()
	for i := range b.N {
		next := all[(i+1)%3]
		require.NoError(b, next.Elect(b.Context()))
		_, err := next.Append(b.Context(), addOp{"a", 1})
		require.NoError(b, err)
		for _, r := range all {
			role, changed, _ := r.roleAndChange()
			for role.Leader != next.opts.ID {
				<-changed
				role, changed, _ = r.roleAndChange()
			}
		}
	}
	b.StopTimer()
	for _, r := range all {
		r.Kill()
	}
}
