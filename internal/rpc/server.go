package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ServerOptions configure a Server.
type ServerOptions struct {
	Logger   *slog.Logger // nil: discard
	Hook     Hook         // nil: none
	MaxFrame int          // bytes of the longest request, 0: DefaultMaxFrame

	// Impersonate decides whether realUser may speak for user from the IP address remote. Nil: nobody may, as in a
	// Hadoop without hadoop.proxyuser settings.
	Impersonate func(realUser, user, remote string) bool
}

// Server carries the calls of its protocols on any number of listeners.
type Server struct {
	log         *slog.Logger
	hook        Hook
	maxFrame    int
	impersonate func(realUser, user, remote string) bool
	protocols   []Protocol
	tables      map[string]*table // by the protocol's name
	pool        buffers
	ctx         context.Context // of every connection and call
	cancel      context.CancelFunc
	next        chan *serverConn // from a worker that has a call to run, to a parked worker
	parked      atomic.Int32
	workers     sync.WaitGroup // accepting goroutines and workers

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*serverConn]struct{}
}

// table is a protocol ready for look-ups.
type table struct {
	name    string
	version uint64
	methods map[string]*Method
}

// maxParked is how many workers wait for the next call at most; more of them end.
const maxParked = 16

// NewServer makes a server of protocols. Two protocols of one name, or two methods of one name in a protocol, are an error.
func NewServer(o ServerOptions, protocols ...Protocol) (*Server, error) {
	s := &Server{
		log: o.Logger, hook: o.Hook, maxFrame: o.MaxFrame, impersonate: o.Impersonate,
		protocols: protocols,
		tables:    make(map[string]*table),
		next:      make(chan *serverConn),
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*serverConn]struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.maxFrame == 0 {
		s.maxFrame = DefaultMaxFrame
	}
	for _, p := range protocols {
		if s.tables[p.Name] != nil {
			return nil, fmt.Errorf("rpc: protocol %s is given twice", p.Name)
		}
		t := &table{p.Name, p.Version, make(map[string]*Method)}
		s.tables[p.Name] = t
		for i := range p.Methods {
			m := &p.Methods[i]
			if t.methods[m.Name] != nil {
				return nil, fmt.Errorf("rpc: method %s of protocol %s is given twice", m.Name, p.Name)
			}
			t.methods[m.Name] = m
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Protocols returns what the server was made of.
func (s *Server) Protocols() []Protocol { return s.protocols }

// Serve accepts connections from l, in a goroutine, until the server or l is closed. The server owns l from now on.
func (s *Server) Serve(l net.Listener) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.listeners[l] = struct{}{}
		s.workers.Add(1)
	}
	s.mu.Unlock()
	if closed {
		_ = l.Close()
		return
	}
	go s.accept(l)
}

func (s *Server) accept(l net.Listener) {
	defer s.workers.Done()
	var pause time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.ServeConn(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil {
			return
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second) // such as too many open files: it may pass
		s.log.Warn("rpc: cannot accept a connection", "addr", l.Addr(), "err", err, "retry", pause)
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return
		}
	}
}

// ServeConn serves one connection that somebody else has accepted. It returns at once; the server owns nc.
func (s *Server) ServeConn(nc net.Conn) {
	c := newServerConn(s, nc)
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.conns[c] = struct{}{}
		s.workers.Add(1)
	}
	s.mu.Unlock()
	if closed {
		_ = nc.Close()
		return
	}
	go s.work(c)
}

// work is a worker's life: it reads c until the reading has passed to another worker, then waits for its turn.
func (s *Server) work(c *serverConn) {
	defer s.workers.Done()
	for {
		c.turn()
		if s.parked.Add(1) > maxParked {
			s.parked.Add(-1)
			return
		}
		select {
		case c = <-s.next:
			s.parked.Add(-1)
		case <-s.ctx.Done():
			return
		}
	}
}

// passOn gives the reading of c to another worker. Only a worker may call it.
func (s *Server) passOn(c *serverConn) {
	select {
	case s.next <- c:
	default:
		s.workers.Add(1)
		go s.work(c)
	}
}

func (s *Server) forget(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Close closes the listeners and connections, cancels the contexts of running handlers, and returns when all have
// ended. A handler must not call it.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var listeners []net.Listener
	for l := range s.listeners {
		listeners = append(listeners, l)
	}
	clear(s.listeners)
	var conns []*serverConn
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()

	var errs []error
	for _, l := range listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	for _, c := range conns {
		c.close()
	}
	s.cancel()
	s.workers.Wait()
	return errors.Join(errs...)
}
