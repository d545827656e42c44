package memnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// In here time is synctest's: it moves on only when every goroutine waits for something that counts as waiting.

func TestDelayIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		near, far := connect(t, n.Host("a"), n.Host("b"))
		n.Delay("a", "b", 50*time.Millisecond)
		n.Delay("b", "a", 30*time.Millisecond)
		start := time.Now()
		for range 3 { // on their way together
			_, err := near.Write([]byte("ping"))
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		for i := range 3 {
			hear(t, far, "ping")
			require.Equal(t, time.Duration(50+10*i)*time.Millisecond, time.Since(start))
		}
		say(t, far, near, "pong")
		require.Equal(t, 100*time.Millisecond, time.Since(start))

		// a shorter delay does not overtake
		_, err := near.Write([]byte("1"))
		require.NoError(t, err)
		n.Delay("a", "b", time.Millisecond)
		start = time.Now()
		_, err = near.Write([]byte("2"))
		require.NoError(t, err)
		require.NoError(t, near.Close())
		b, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "12", string(b))
		require.Equal(t, 50*time.Millisecond, time.Since(start))
		require.NoError(t, far.Close())
	})
}

func TestDialTakesTheWayThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		l, err := n.Host("b").Listen("tcp", ":0")
		require.NoError(t, err)
		n.Delay("a", "b", 20*time.Millisecond)
		n.Delay("b", "a", 30*time.Millisecond)
		start := time.Now()
		c, err := n.Host("a").Dial(context.Background(), "tcp", l.Addr().String())
		require.NoError(t, err)
		require.Equal(t, 50*time.Millisecond, time.Since(start))
		require.NoError(t, c.Close())
		require.NoError(t, l.Close())

		n.Partition([]string{"a"}, []string{"b"})
		start = time.Now()
		_, err = n.Host("a").Dial(context.Background(), "tcp", l.Addr().String())
		require.ErrorIs(t, err, syscall.ETIMEDOUT)
		require.Equal(t, 127*time.Second, time.Since(start))
	})
}

// What a close tells the other end's writer takes its time too.
func TestCloseTravels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		near, far := connect(t, n.Host("a"), n.Host("b"))
		n.Delay("b", "a", time.Second)
		require.NoError(t, far.Close())
		for range 5 {
			_, err := near.Write([]byte("x"))
			require.NoError(t, err)
		}
		time.Sleep(999 * time.Millisecond)
		_, err := near.Write([]byte("x"))
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		_, err = near.Write([]byte("x"))
		require.NoError(t, err)
		_, err = near.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
		require.NoError(t, near.Close())
		n.Heal()

		near, far = connect(t, n.Host("a"), n.Host("b"))
		n.Partition([]string{"a"}, []string{"b"})
		require.NoError(t, far.Close())
		filled := make(chan error)
		go func() {
			_, err := near.Write(make([]byte, 1<<20))
			filled <- err
		}()
		time.Sleep(time.Hour)
		n.Heal()
		require.NoError(t, <-filled) // into nothing, as a first write to a closed end is
		require.NoError(t, near.Close())
		require.Empty(t, n.Conns())
	})
}

func TestBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{Buffer: 1000})
		near, far := connect(t, n.Host("a"), n.Host("b"))
		require.NoError(t, near.SetWriteDeadline(time.Now().Add(time.Hour)))
		start := time.Now()
		sent, err := near.Write(make([]byte, 1500))
		require.Equal(t, 1000, sent)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Hour, time.Since(start))

		require.NoError(t, near.SetWriteDeadline(time.Time{}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := near.Write(make([]byte, 1000))
			require.NoError(t, err)
		}()
		synctest.Wait()
		_, err = io.ReadFull(far, make([]byte, 2000))
		require.NoError(t, err)
		<-done

		// a stall holds the buffer, and the writer with it, until it ends
		n.Stall("a", "b")
		_, err = near.Write(make([]byte, 1000))
		require.NoError(t, err)
		go func() {
			_, err := io.ReadFull(far, make([]byte, 1001))
			require.NoError(t, err)
		}()
		time.AfterFunc(time.Minute, n.Heal)
		start = time.Now()
		_, err = near.Write([]byte("x"))
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
		require.NoError(t, near.Close())
		synctest.Wait()
		require.NoError(t, far.Close())
	})
}

// Bytes of writes that go on at once do not mix.
func TestWritesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{Buffer: 100})
		near, far := connect(t, n.Host("a"), n.Host("b"))
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				b := make([]byte, 1000)
				for j := range b {
					b[j] = byte(i)
				}
				_, err := near.Write(b)
				require.NoError(t, err)
			})
		}
		b := make([]byte, 1000)
		for range 10 {
			_, err := io.ReadFull(far, b)
			require.NoError(t, err)
			for _, x := range b {
				require.Equal(t, b[0], x)
			}
		}
		wg.Wait()
		require.NoError(t, near.Close())
		require.NoError(t, far.Close())
	})
}

// An hour of heartbeats over slow links, with servers that wait for more: time passes by itself, and nothing is left.
func TestAnIdleHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		var wg sync.WaitGroup
		serve := func(c net.Conn) {
			defer c.Close()
			b := make([]byte, 64)
			for {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Minute)))
				k, err := c.Read(b)
				if err != nil {
					require.True(t, err == io.EOF, err)
					return
				}
				_, err = c.Write(b[:k])
				require.NoError(t, err)
			}
		}
		l, err := n.Host("nn1").Listen("tcp", ":0")
		require.NoError(t, err)
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if errors.Is(err, net.ErrClosed) {
					return
				}
				require.NoError(t, err)
				wg.Go(func() { serve(c) })
			}
		})
		start := time.Now()
		var beats sync.WaitGroup
		for i := range 5 {
			name := fmt.Sprintf("dn%d", i+1)
			n.Delay(name, "nn1", time.Duration(i)*100*time.Millisecond)
			beats.Go(func() {
				c, err := n.Host(name).Dial(context.Background(), "tcp", l.Addr().String())
				require.NoError(t, err)
				for range 1200 {
					say(t, c, c, "heartbeat")
					time.Sleep(3*time.Second - time.Duration(i)*100*time.Millisecond)
				}
				require.NoError(t, c.Close())
			})
		}
		beats.Wait()
		require.GreaterOrEqual(t, time.Since(start), time.Hour)
		require.Less(t, time.Since(start), time.Hour+time.Minute)
		require.NoError(t, l.Close())
		wg.Wait()
		listeners, conns := n.Open(Any)
		require.Equal(t, []int{0, 0}, []int{listeners, conns})
	})
}

// Many connections under a schedule of rules: every stream arrives whole and in order, whatever happens on the way.
func TestStreamsUnderRandomRules(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 0))
				n := New(Options{Buffer: 1 + rng.IntN(100_000)})
				hosts := []string{"a", "b", "c"}
				var wg sync.WaitGroup
				for i := range 6 {
					near, far := connect(t, n.Host(hosts[i%3]), n.Host(hosts[rng.IntN(3)]))
					for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
						size, seed := rng.IntN(300_000), rng.Uint64()
						wg.Go(func() { write(t, way[0], size, seed) })
						wg.Go(func() { read(t, way[1], size, seed+1) })
					}
				}
				done := make(chan struct{})
				go func() {
					wg.Wait()
					close(done)
				}()
				for range 200 {
					time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
					from, to := hosts[rng.IntN(3)], append(hosts, Any)[rng.IntN(4)]
					switch rng.IntN(4) {
					case 0:
						n.Partition([]string{from}, []string{to})
					case 1:
						n.Stall(from, to)
					case 2:
						n.Delay(from, to, time.Duration(rng.IntN(30))*time.Millisecond)
					case 3:
						n.HealBetween([]string{from}, []string{to})
					}
				}
				n.Heal()
				<-done
				for e := range n.conns {
					require.NoError(t, e.(*Conn).Close())
				}
				require.Empty(t, n.Conns())
			})
		})
	}
}

func write(t *testing.T, c net.Conn, size int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for at := 0; at < size; {
		b := make([]byte, min(1+rng.IntN(20_000), size-at))
		for i := range b {
			b[i] = byte((at + i) * 31 >> 3)
		}
		if _, err := c.Write(b); err != nil {
			t.Errorf("write: %v", err)
			return
		}
		at += len(b)
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
	}
	if err := c.(*Conn).CloseWrite(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func read(t *testing.T, c net.Conn, size int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	at := 0
	for {
		b := make([]byte, 1+rng.IntN(20_000))
		if rng.IntN(3) == 0 {
			c.SetReadDeadline(time.Now().Add(time.Duration(rng.IntN(10)) * time.Millisecond))
		}
		n, err := c.Read(b)
		for i := range b[:n] {
			if b[i] != byte((at+i)*31>>3) {
				t.Errorf("byte %d is wrong", at+i)
				return
			}
		}
		at += n
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.SetReadDeadline(time.Time{})
		case err == io.EOF && at == size:
			return
		default:
			t.Errorf("read: %v after %d of %d bytes", err, at, size)
			return
		}
	}
}

// A pipe that nothing is in holds no memory worth speaking of.
func TestNothingIsAllocatedUpFront(t *testing.T) {
	n := New(Options{})
	near, far := connect(t, n.Host("a"), n.Host("b"))
	for range 10 {
		say(t, near, far, "text")
	}
	for _, p := range []*pipe{near.(*Conn).out, near.(*Conn).in} {
		require.Nil(t, p.head)
		require.Nil(t, p.tail)
	}
}
