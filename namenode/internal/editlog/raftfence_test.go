package editlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Many readers go with few rounds, whatever the number of members.
func TestFence(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		inBubble(t, string('0'+rune(n)), func(t *testing.T) {
			g := newGroup(t, n, nil)
			lead := g.all[0].r
			var wg sync.WaitGroup
			for range 1000 {
				wg.Go(func() {
					if err := lead.Fence(t.Context()); err != nil {
						t.Errorf("fence: %v", err)
					}
				})
			}
			wg.Wait()
			lead.probes.mu.Lock()
			rounds := lead.probes.number
			lead.probes.mu.Unlock()
			require.LessOrEqual(t, rounds, uint64(500))
			g.close()
		})
	}
}

// A minority may be silent, or gone, or come back: the others are enough.
func TestFenceWithoutAMinority(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		lead := g.all[0].r
		quick := func() {
			start := time.Now()
			require.NoError(t, lead.Fence(t.Context()))
			require.Less(t, time.Since(start), 100*time.Millisecond)
		}
		quick()
		g.net.Partition([]string{"nn1"}, []string{"nn2"})
		for range 4 {
			quick()
		}
		g.net.Heal()
		g.all[1].r.Kill()
		quick()
		g.all[1].start()
		g.all[2].r.Kill()
		g.all[2].start() // under its old connection
		quick()
		g.close()
	})
}

// A leader that was deposed without hearing of it serves no reader that comes after that, though answers from before are
// still on their way.
func TestFenceOfADeposedLeader(t *testing.T) {
	inBubble(t, "late answers", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		old, next := g.all[0].r, g.all[1].r
		_, err := old.Append(t.Context(), addOp{"a", 1})
		require.NoError(t, err)
		require.NoError(t, old.Fence(t.Context()))
		g.agree()
		for _, from := range []string{"nn2", "nn3"} {
			g.net.Delay(from, "nn1", 300*time.Millisecond)
		}
		early := make(chan error, 1)
		go func() { early <- old.Fence(t.Context()) }()
		time.Sleep(time.Millisecond) // both have answered

		require.NoError(t, next.Elect(t.Context()))
		got, err := next.Append(t.Context(), addOp{"a", 1})
		require.NoError(t, err)
		require.Equal(t, uint64(2), got)
		require.True(t, old.Role().Leads, "as far as it knows")
		require.ErrorIs(t, old.Fence(t.Context()), ErrNotLeader)
		<-early // it came before the other one led: either answer is right
		g.net.Heal()
		g.close()
	})
	inBubble(t, "cut off", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		old, next := g.all[0].r, g.all[1].r
		require.NoError(t, old.Fence(t.Context()))
		g.agree()
		g.net.Partition([]string{"nn1"}, []string{"nn2", "nn3"})
		require.NoError(t, next.Elect(t.Context()))
		require.True(t, old.Role().Leads, "as far as it knows")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, old.Fence(ctx), context.DeadlineExceeded)
		start := time.Now()
		require.ErrorIs(t, old.Fence(t.Context()), ErrNotLeader)
		require.LessOrEqual(t, time.Since(start), time.Second)
		require.NoError(t, next.Fence(t.Context()))
		g.net.Heal()
		g.close()
	})
}

// An op under way at a leader that is cut off is unknown; one that comes later is refused. Which of them were carried out,
// the next leader knows.
func TestCutOffInMidOp(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		old, next := g.all[0].r, g.all[1].r
		_, err := old.Append(t.Context(), addOp{"a", 1})
		require.NoError(t, err)
		g.agree()
		g.net.Partition([]string{"nn1"}, []string{"nn2", "nn3"})
		under := make(chan error, 1)
		go func() {
			_, err := old.Append(t.Context(), addOp{"a", 1})
			under <- err
		}()
		time.Sleep(time.Millisecond)
		require.NoError(t, next.Elect(t.Context()))
		require.ErrorIs(t, <-under, ErrUnknown)
		_, err = old.Append(t.Context(), addOp{"a", 1})
		require.Equal(t, ErrNotLeader, err)
		got, err := next.Append(t.Context(), addOp{"a", 5})
		require.NoError(t, err)
		require.Equal(t, uint64(6), got, "nobody else had it")
		g.net.Heal()
		g.close()
	})
}

func TestReadAnswer(t *testing.T) {
	b := appendAnswer(nil, 7, 3, 99)
	term, last, err := readAnswer(bytes.NewReader(b), 7)
	require.NoError(t, err)
	require.Equal(t, []uint64{3, 99}, []uint64{term, last})
	_, _, err = readAnswer(bytes.NewReader(b), 8)
	require.Equal(t, errOldAnswer, err)
	_, _, err = readAnswer(bytes.NewReader(b[:answerLen-1]), 7)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// Only the answer to the question passes, and no byte after it is read.
func FuzzAnswer(f *testing.F) {
	f.Add(appendAnswer(nil, 7, 3, 99), uint64(7))
	f.Add([]byte{1, 2}, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, question uint64) {
		r := bytes.NewReader(b)
		term, last, err := readAnswer(r, question)
		if err == nil {
			require.Equal(t, appendAnswer(nil, question, term, last), b[:answerLen])
			require.Equal(t, len(b)-answerLen, r.Len())
			return
		}
		if len(b) >= answerLen {
			require.NotEqual(t, question, binary.BigEndian.Uint64(b))
		}
	})
}

// Whatever comes first on a connection: no panic, and what passes is what the member was told.
func FuzzHello(f *testing.F) {
	f.Add(appendHello(nil, helloRaft, 5, "nn1"))
	f.Add(appendHello(nil, helloProbe, 5, "nn1"))
	f.Add(appendHello(nil, helloRaft, 6, "nn1"))
	f.Add([]byte{'R', 0, 0, 0, 5, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		kind, err := readHello(r, 5, "nn1")
		if err == nil {
			require.Equal(t, appendHello(nil, kind, 5, "nn1"), b[:len(b)-r.Len()])
		}
	})
}

func FuzzWish(f *testing.F) {
	f.Add(appendWish(nil, "nn1"))
	f.Add([]byte{255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if id, err := readWish(r); err == nil {
			require.Equal(t, appendWish(nil, id), b[:len(b)-r.Len()])
		}
	})
}
