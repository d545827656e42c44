package minidfs

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// loopback is the address of every node without one of its own.
const loopback = "127.0.0.1"

// clientHost is the network host of programs outside the cluster that come through Cluster.Dial.
const clientHost = "client"

// host is somebody's place on the network: in memory, or real sockets that obey the same rules. Nodes, which listen, reach
// each other in memory in any case. A node with an address of its own dials from there.
func (c *core) host(name, ip string, listen dfs.ListenFunc) *memnet.Host {
	if c.conf.memory {
		return c.net.Host(name)
	}
	dial := dfs.NetDial
	if ip != loopback {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return from.DialContext(ctx, network, addr)
		}
	}
	host := c.net.Wrap(name, dial, listen)
	if listen == nil {
		return host
	}
	return host.Near(netip.MustParseAddr(ip))
}

// ipOf is the address of the i-th datanode, -1 being the namenode: "" where the network is in memory and gives one.
func (c *core) ipOf(i int) string {
	switch {
	case c.conf.memory:
		return ""
	case c.conf.ownAddresses && i >= 0:
		return fmt.Sprintf("127.0.%d.%d", 1+i/250, 1+i%250)
	}
	return loopback
}

// rackOf is the rack of a datanode by its address and port, or of a datanode's machine by the address; "" for others.
func (c *core) rackOf(at string) string {
	racks := c.conf.racks
	if len(racks) == 0 {
		return ""
	}
	for _, d := range c.nodes() {
		if d.Addr() == at || c.apart() && hostOf(d.Addr()) == at {
			return racks[d.index%len(racks)]
		}
	}
	return ""
}

// apart reports whether datanodes have addresses of their own.
func (c *core) apart() bool { return c.conf.memory || c.conf.ownAddresses }

func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}
