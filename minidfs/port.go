package minidfs

import (
	"fmt"
	"net"
	"sync/atomic"

	"github.com/minidfs/go-minidfs/internal/eager"
)

// port is a port of the machine, or of a network in memory, that a node keeps for as long as the cluster lives. Where the
// operating system lets it (see hold), nobody else can take it while nothing listens there.
type port struct {
	number atomic.Int32 // 0: not known yet
	held   *hold        // nil where ports cannot be held
	eager  bool         // connections look for the next call before they sleep
}

// takePort takes a port of the machine: want, or with 0 a free one.
func takePort(ip string, want int) (*port, error) {
	p := &port{}
	number := want
	if number == 0 {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
		if err != nil {
			return nil, fmt.Errorf("no free port: %w", err)
		}
		number = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	p.number.Store(int32(number))
	var err error
	if p.held, err = newHold(ip, number); err != nil {
		return nil, fmt.Errorf("port %d of %s cannot be taken: %w", number, ip, err)
	}
	return p, nil
}

// listen opens the port.
func (p *port) listen(ip string) (l net.Listener, err error) {
	if p.held != nil {
		l, err = p.held.listen()
	} else {
		l, err = net.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(p.number.Load())))
	}
	if err == nil && p.eager {
		l = eager.Listen(l)
	}
	return l, err
}

// close gives the port back.
func (p *port) close() error {
	if p.held == nil {
		return nil
	}
	return p.held.close()
}
