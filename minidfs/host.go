package minidfs

import (
	"context"
	"fmt"
	"net"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// loopback is the address of every node without one of its own.
const loopback = "127.0.0.1"

// host is a node's place on the network: in memory, or real sockets on ip that obey the same rules.
func (c *Cluster) host(name, ip string) *memnet.Host {
	if c.conf.memory {
		return c.net.Host(name)
	}
	if ip == "" || ip == loopback {
		return c.net.Wrap(name, dfs.NetDial, net.Listen)
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return c.net.Wrap(name, func(ctx context.Context, network, addr string) (net.Conn, error) {
		return from.DialContext(ctx, network, addr)
	}, net.Listen)
}

// nodeIP is the address of the i-th datanode: its own where asked for.
func (c *Cluster) nodeIP(i int) string {
	if c.conf.memory {
		return ""
	}
	if c.conf.ownAddresses {
		return fmt.Sprintf("127.0.%d.%d", 1+i/250, 1+i%250)
	}
	return loopback
}

// listen opens a listener of a node: on its old port when it has run before, else on a free one.
func listen(h *memnet.Host, ip string, port int) (net.Listener, error) {
	if ip == "" {
		ip = h.IP()
	}
	l, err := h.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(port)))
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen: %w", h.Name(), err)
	}
	return l, nil
}

func portOf(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
