package datanode

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// line is the connection to one namenode, which can be cut: the network may have lost bytes of it without telling, and then
// nothing comes over it any more.
type line struct {
	dial dfs.DialFunc

	mu    sync.Mutex
	conn  net.Conn
	since time.Time
}

func (l *line) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := l.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.since = conn, time.Now()
	return conn, nil
}

// cut ends the connection if it is one from before. Its calls fail, the next one dials.
func (l *line) cut(before time.Time) {
	l.mu.Lock()
	conn := l.conn
	if conn == nil || l.since.After(before) {
		l.mu.Unlock()
		return
	}
	l.conn = nil
	l.mu.Unlock()
	conn.Close()
}
