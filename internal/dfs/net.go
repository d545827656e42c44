package dfs

import (
	"context"
	"net"
)

// DialFunc opens a connection: the seam that every connection of a cluster passes. network is "tcp".
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// ListenFunc opens a listener: the other side of DialFunc. network is "tcp".
type ListenFunc func(network, addr string) (net.Listener, error)

// NetDial is the DialFunc of real sockets.
func NetDial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
