package eager

import (
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

// Window is how long a read looks before it sleeps: longer than the way to a client on the same machine and back, shorter
// than what two wake-ups cost.
const Window = 60 * time.Microsecond

// patience is the longest wait of a read after which the next one looks.
const patience = 3 * Window

// Below is what a Listener can be put upon, a *net.TCPListener for one.
type Below interface {
	net.Listener
	SetDeadline(t time.Time) error // of Accept
}

// Listener accepts eager connections.
type Listener struct {
	Below
	last atomic.Pointer[conn] // whose read gave something last
}

// Listen makes the TCP connections of l eager where that is of use.
func Listen(l net.Listener) net.Listener {
	below, ok := l.(Below)
	if !ok || !possible || runtime.GOMAXPROCS(0) == 1 {
		return l
	}
	return &Listener{Below: below}
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Below.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c, nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c, nil // the connection is of no use, which its reads say
	}
	return newConn(tcp, raw, l), nil
}
