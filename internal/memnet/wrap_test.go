package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// spy is a real connection that tells of its ReadFrom.
type spy struct {
	*net.TCPConn
	from []io.Reader
}

func (s *spy) ReadFrom(r io.Reader) (int64, error) {
	s.from = append(s.from, r)
	return s.TCPConn.ReadFrom(r)
}

// A file goes to the connection below as a file, so that the system can send it without our seeing a byte, as long as no
// rule wants to see one.
func TestSendfileSurvives(t *testing.T) {
	n := New(Options{})
	defer n.Close()
	var below *spy
	host := n.Wrap("a", func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dfs.NetDial(ctx, network, addr)
		if err == nil {
			below = &spy{TCPConn: c.(*net.TCPConn)}
			return below, nil
		}
		return nil, err
	}, net.Listen)
	l, err := net.Listen("tcp", "127.0.0.1:0") // someone outside
	require.NoError(t, err)
	defer l.Close()
	near, err := host.Dial(context.Background(), "tcp", l.Addr().String())
	require.NoError(t, err)
	defer near.Close()
	far, err := l.Accept()
	require.NoError(t, err)
	defer far.Close()

	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte("contents"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	section := &io.LimitedReader{R: f, N: 4}
	_, err = near.(io.ReaderFrom).ReadFrom(section)
	require.NoError(t, err)
	require.Equal(t, []io.Reader{section}, below.from)
	hear(t, far, "cont")
	require.Equal(t, int64(4), n.Sent("a", Outside))

	n.Corrupt("a", Outside, func(b []byte) { b[0] = 'E' })
	_, err = near.(io.ReaderFrom).ReadFrom(f)
	require.NoError(t, err)
	require.Len(t, below.from, 1)
	hear(t, far, "Ents")

	n.Heal()
	_, err = io.Copy(near, f)
	require.NoError(t, err)
	require.Len(t, below.from, 2)
}

// Hosts that are near each other do without the connections below; someone outside does not.
func TestNear(t *testing.T) {
	n := New(Options{})
	defer n.Close()
	noDial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.ErrUnsupported }
	ip := netip.MustParseAddr("127.0.0.7")
	a, b := n.Wrap("a", noDial, nil).Near(ip), n.Wrap("b", nil, net.Listen).Near(netip.MustParseAddr("127.0.0.1"))
	l, err := b.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	near, err := a.Dial(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	defer near.Close()
	require.IsType(t, &Conn{}, near)
	outside, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer outside.Close()
	for range 2 {
		far, err := l.Accept()
		require.NoError(t, err)
		defer far.Close()
		require.Equal(t, l.Addr().String(), far.LocalAddr().String())
		if _, wrapped := far.(*WrappedConn); wrapped {
			say(t, outside, far, "from outside")
			continue
		}
		require.Equal(t, ip.String(), far.RemoteAddr().(*net.TCPAddr).IP.String())
		say(t, near, far, "from a")
		n.Stall("a", "b")
		_, err = near.Write([]byte("late"))
		require.NoError(t, err)
		require.NoError(t, far.SetReadDeadline(time.Now().Add(time.Millisecond)))
		_, err = far.Read(make([]byte, 4))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		n.Heal()
		require.NoError(t, far.SetReadDeadline(time.Time{}))
		hear(t, far, "late")
	}
	left, err := a.Dial(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	defer left.Close()
	require.NoError(t, l.Close())
	_, err = left.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET, "nobody accepted it")
	_, err = a.Dial(t.Context(), "tcp", l.Addr().String())
	require.ErrorIs(t, err, errors.ErrUnsupported, "nobody of the network listens there")
}

// What goes to someone outside is held or dropped before it is written.
func TestRulesTowardsOutside(t *testing.T) {
	n := New(Options{})
	defer n.Close()
	l, err := n.Wrap("b", dfs.NetDial, net.Listen).Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer far.Close()
	near, err := l.Accept()
	require.NoError(t, err)
	say(t, near, far, "hello")

	n.Stall("b", Outside)
	require.NoError(t, near.SetWriteDeadline(time.Now().Add(5*time.Millisecond)))
	_, err = near.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, near.SetWriteDeadline(time.Time{}))
	wrote := make(chan error)
	go func() {
		_, err := near.Write([]byte("held"))
		wrote <- err
	}()
	silence(t, far)
	n.Heal()
	require.NoError(t, <-wrote)
	hear(t, far, "held")

	n.Blackhole("b", Outside)
	_, err = near.Write([]byte("lost"))
	require.NoError(t, err)
	n.Heal()
	n.Delay("b", Outside, time.Millisecond)
	say(t, near, far, "late")

	n.Stall("b", Any)
	go func() {
		_, err := near.Write([]byte("never"))
		wrote <- err
	}()
	silence(t, far)
	require.NoError(t, near.Close())
	require.ErrorIs(t, <-wrote, net.ErrClosed)
}

// Rules that come while a read waits, and go again, lose nothing.
func TestRulesComeAndGoUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		const size = 8 << 20
		sent := make(chan error)
		go func() {
			b := make([]byte, 10_007)
			for at := 0; at < size; at += len(b) {
				b = b[:min(len(b), size-at)]
				for i := range b {
					b[i] = byte((at + i) * 31 >> 3)
				}
				if _, err := near.Write(b); err != nil {
					sent <- err
					return
				}
			}
			sent <- near.Close()
		}()
		received := make(chan error)
		go func() {
			b := make([]byte, 9973)
			at := 0
			for {
				k, err := far.Read(b)
				for i := range b[:k] {
					if b[i] != byte((at+i)*31>>3) {
						t.Errorf("byte %d is wrong", at+i)
						err = io.ErrUnexpectedEOF
						break
					}
				}
				if at += k; err != nil {
					if err == io.EOF && at == size {
						err = nil
					}
					received <- err
					return
				}
			}
		}()
		verbs := []func(){
			func() { n.Delay("a", "b", 100*time.Microsecond) },
			func() { n.Partition([]string{"a"}, []string{"b"}) },
			n.Heal,
			func() { n.Delay("a", Any, 10*time.Microsecond) },
			func() { n.Stall("a", "b") },
			n.Heal,
		}
		for i := 0; ; i++ {
			select {
			case err := <-received:
				require.NoError(t, err)
				require.NoError(t, <-sent)
				require.NoError(t, far.Close())
				require.Empty(t, n.Conns())
				return
			case <-time.After(50 * time.Microsecond):
				verbs[i%len(verbs)]()
			}
		}
	})
}
