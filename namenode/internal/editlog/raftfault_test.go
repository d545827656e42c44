package editlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A member whose stores fail is cut off, says so, and ends without a panic; the others go on.
func TestStoresFail(t *testing.T) {
	for _, who := range []string{"leader", "follower"} {
		for _, op := range []string{"StoreLogs", "Set", "GetLog", "Index", "DeleteRange"} {
			for name, cause := range map[string]error{"full": syscall.ENOSPC, "broken": syscall.EIO} {
				inBubble(t, fmt.Sprintf("%s/%s/%s", who, op, name), func(t *testing.T) { storesFail(t, who == "leader", op, cause) })
			}
		}
	}
}

func storesFail(t *testing.T, leader bool, op string, cause error) {
	g := newGroup(t, 3, nil)
	g.appendSome(2 * trailingLogs)
	g.agree()
	victim, other := g.all[0], g.all[1]
	if !leader {
		victim, other = g.all[2], g.all[0]
	}
	var hit atomic.Bool
	victim.stores.SetHook(func(at string) error {
		if at == op {
			hit.Store(true)
			return cause
		}
		return nil
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := g.all[0].r.Append(t.Context(), addOp{"b", 1})
			switch {
			case err == nil || !leader && errors.Is(err, ErrUnknown):
			case leader && errors.Is(err, ErrFailed) && errors.Is(err, cause):
			default:
				t.Errorf("append gave %v", err)
			}
		})
	}
	wg.Wait()
	switch op {
	case "Set": // the next term needs it
		if leader {
			require.NoError(t, other.r.Elect(t.Context()))
		} else {
			require.Error(t, victim.r.Elect(t.Context()))
		}
	case "DeleteRange", "Index":
		_ = victim.r.Checkpoint(t.Context()) // says less than Err
	case "GetLog":
		if leader { // which has what it made in its hands
			require.NoError(t, other.r.Elect(t.Context()))
			_, err := other.r.Append(t.Context(), addOp{"b", 1})
			require.NoError(t, err)
		}
	}
	g.until(op+" to fail", func() bool { return victim.r.Err() != nil })
	require.True(t, hit.Load())
	err := victim.r.Err()
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, err, cause)
	require.Equal(t, Role{Term: victim.r.Role().Term}, victim.r.Role())
	_, err = victim.r.Append(t.Context(), addOp{"a", 1})
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, victim.r.Fence(t.Context()), ErrFailed)
	require.ErrorIs(t, victim.r.Checkpoint(t.Context()), ErrFailed)
	err = victim.r.Close()
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, err, cause)
	victim.r = nil

	if !g.running() {
		require.NoError(t, g.best().r.Elect(t.Context()))
	}
	g.appendSome(10)
	g.agree()
	victim.stores.SetHook(nil)
	victim.start()
	g.appendSome(10)
	g.close()
}

// running: somebody leads.
func (g *testGroup) running() bool {
	for _, n := range g.all {
		if n.r != nil && n.r.Role().Leads {
			return true
		}
	}
	return false
}

// Without room for an image the log stays long, that is all.
func TestNoRoomForAnImage(t *testing.T) {
	for _, op := range []string{"CreateSnapshot", "WriteSnapshot", "CloseSnapshot"} {
		inBubble(t, op, func(t *testing.T) {
			g := newGroup(t, 3, nil)
			g.appendSome(20)
			n := g.all[0]
			n.stores.SetHook(func(at string) error {
				if at == op {
					return syscall.ENOSPC
				}
				return nil
			})
			require.ErrorContains(t, n.r.Checkpoint(t.Context()), syscall.ENOSPC.Error())
			require.Zero(t, n.r.Stats().Checkpoints)
			n.stores.SetHook(nil)
			require.NoError(t, n.r.Checkpoint(t.Context()))
			g.appendSome(20)
			g.close()
		})
	}
}

// Once Kill has returned, the stores are not touched.
func TestKillFreezes(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var l load
		l.run(ctx, g, 20, func() *Raft { return g.all[0].r })
		time.Sleep(20 * time.Millisecond)
		var touched atomic.Int64
		for _, n := range g.all {
			n.r.Kill()
			before := n.stores.state()
			n.stores.SetHook(func(string) error { touched.Add(1); return nil })
			defer func() { require.Equal(t, before, n.stores.state()) }()
		}
		cancel()
		l.wg.Wait()
		time.Sleep(time.Minute)
		require.Zero(t, touched.Load())
	})
}

// state is the last entry in the stores, and all values.
func (s *Stores) state() string {
	b, err := s.open(true)
	if err != nil {
		return err.Error()
	}
	m := b.(*memoryStores)
	return fmt.Sprint(m.disk.now.low, m.disk.now.high, m.disk.now.values)
}

// A committed entry that cannot be decoded ends the member that cannot, not the others.
func TestEntryThatCannotBeDecoded(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		g.appendSome(3)
		g.agree()
		victim := g.all[2]
		victim.m.decoding = func() error { return errInjected }
		got, err := g.all[0].r.Append(t.Context(), addOp{"a", 1})
		require.NoError(t, err)
		require.Equal(t, uint64(1), got)
		g.until("the member to fail", func() bool { return victim.r.Err() != nil })
		var damage *DamagedError
		require.ErrorAs(t, victim.r.Err(), &damage)
		require.Contains(t, damage.Error(), "entry 7 of stores in memory is damaged: op 1 of 1 cannot be decoded")
		require.ErrorIs(t, victim.r.Close(), ErrFailed)
		victim.r = nil
		g.appendSome(3)
		g.close()
	})
}

// A folder's file that has changed, is cut, or is gone: the member does not start, and says which file.
func TestDamagedFolder(t *testing.T) {
	damage := map[string]func(t *testing.T, file string, b []byte) []byte{
		"nothing left": func(_ *testing.T, _ string, b []byte) []byte { return b[:0:0] },
		"zeros":        func(_ *testing.T, _ string, b []byte) []byte { clear(b); return b },
		"half":         func(_ *testing.T, _ string, b []byte) []byte { return b[:len(b)/2] },
		"an op": func(t *testing.T, _ string, b []byte) []byte {
			n := 0
			for i := range b {
				if i+11 < len(b) && string(b[i:i+11]) == "key-in-file" {
					b[i]++
					n++
				}
			}
			require.NotZero(t, n)
			return b
		},
		"a vote": func(t *testing.T, _ string, b []byte) []byte {
			n := 0
			for i := range b {
				if i+12 < len(b) && string(b[i:i+11]) == "CurrentTerm" {
					b[i+18] ^= 8
					n++
				}
			}
			require.NotZero(t, n)
			return b
		},
		"gone": func(t *testing.T, file string, b []byte) []byte { return nil },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			stores, err := OpenStores(dir, true)
			require.NoError(t, err)
			g := newGroupOn(t, 1, func(string) *Stores { return stores }, nil)
			r := g.all[0].r
			for range 20 {
				_, err := r.Append(t.Context(), addOp{"key-in-file", 1})
				require.NoError(t, err)
			}
			require.NoError(t, r.Checkpoint(t.Context()))
			for range 20 {
				_, err := r.Append(t.Context(), addOp{"key-in-file", 1})
				require.NoError(t, err)
			}
			g.close()
			file := filepath.Join(dir, boltName)
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.Remove(file))
			if b = change(t, file, b); b != nil {
				require.NoError(t, os.WriteFile(file, b, 0o600))
			}
			err = g.all[0].open()
			require.Error(t, err)
			require.Nil(t, g.all[0].r)
			require.ErrorContains(t, err, dir)
			var damaged *DamagedError
			require.ErrorAs(t, err, &damaged, "%v", err)
		})
	}
}

func TestFolderOpenedTwice(t *testing.T) {
	dir := t.TempDir()
	one, err := OpenStores(dir, true)
	require.NoError(t, err)
	two, err := OpenStores(dir, true)
	require.NoError(t, err)
	g := newGroupOn(t, 1, func(string) *Stores { return one }, nil)
	twin := g.add("nn1-twin", two)
	require.ErrorContains(t, twin.open(), filepath.Join(dir, boltName)+" is open in another namenode")
	g.close()

	_, err = OpenStores(filepath.Join(dir, boltName), true)
	require.ErrorContains(t, err, "cannot make the folder of the stores")
}
