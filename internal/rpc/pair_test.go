package rpc

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// pair is a server and a client that meet over pipes, for use in a synctest bubble.
type pair struct {
	*Server
	*Client
	mu    sync.Mutex
	dials []net.Conn // the client's ends
	wrap  func(net.Conn) net.Conn
}

func newPair(t *testing.T, so ServerOptions, p Protocol, co ClientOptions) *pair {
	t.Helper()
	s, err := NewServer(so, p)
	require.NoError(t, err)
	pr := &pair{Server: s}
	if co.Dial == nil {
		co.Dial = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			pr.mu.Lock()
			pr.dials = append(pr.dials, near)
			if pr.wrap != nil {
				far = pr.wrap(far)
			}
			pr.mu.Unlock()
			s.ServeConn(far)
			return near, nil
		}
	}
	co.User, co.Protocol = "alice", p.Name
	pr.Client = NewClient("nn:8020", co)
	t.Cleanup(func() {
		require.NoError(t, pr.Client.Close())
		require.NoError(t, pr.Server.Close())
	})
	return pr
}

func (p *pair) stat(ctx context.Context, path string) (string, error) {
	var info hdfspb.GetFileInfoResponseProto
	err := p.Call(ctx, "getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: &path}, &info)
	return string(info.GetFs().GetPath()), err
}

// connections is how many times the client has dialled.
func (p *pair) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.dials)
}

func (p *pair) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials[len(p.dials)-1].Close()
}

// leakCheck fails the test when goroutines of this package are left at its end, for tests outside a bubble (a bubble
// checks by itself).
func leakCheck(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		var left string
		for range 100 {
			buf := make([]byte, 1<<20)
			left = ""
			for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
				if strings.Contains(stack, "rpc.(*Server)") || strings.Contains(stack, "rpc.(*Client)") || strings.Contains(stack, "rpc.(*clientConn)") {
					left += stack + "\n\n"
				}
			}
			if left == "" {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("goroutines left:\n%s", left)
	})
}

// block is a method that waits until it is released or its context ends.
type block struct {
	entered chan *Call
	release chan struct{}
	ended   chan error // what ended its context
}

func newBlock() *block {
	return &block{make(chan *Call, 4096), make(chan struct{}), make(chan error, 4096)}
}

func (b *block) method() Method {
	return Handle("block", func(ctx context.Context, c *Call, req *hdfspb.RenewLeaseRequestProto) (*hdfspb.RenewLeaseResponseProto, error) {
		b.entered <- c
		select {
		case <-b.release:
			return nil, nil
		case <-ctx.Done():
			b.ended <- ctx.Err()
			return nil, ctx.Err()
		}
	})
}

func blockRequest() proto.Message {
	return &hdfspb.RenewLeaseRequestProto{ClientName: proto.String("c")}
}

func requireConnError(t *testing.T, err error, op string, sent bool, cause error) {
	t.Helper()
	var ce *ConnError
	require.ErrorAs(t, err, &ce)
	require.Equal(t, "nn:8020", ce.Addr)
	require.Equal(t, op, ce.Op)
	require.Equal(t, sent, ce.Sent)
	if cause != nil {
		require.ErrorIs(t, err, cause)
	}
}

var errTest = errors.New("broken for the test")

const second = time.Second
