package editlog

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// A question on a connection for probes is a number that was not used before; the answer repeats it.
const (
	questionLen = 8
	answerLen   = 24 // number, term, index of the last entry
)

// An answer is what another member says of itself.
type answer struct {
	from raft.Server
	term uint64 // its current one
	last uint64 // index of its last entry
	err  error
}

var errOldAnswer = errors.New("editlog: the answer is not for the question")

func appendAnswer(b []byte, question, term, last uint64) []byte {
	b = binary.BigEndian.AppendUint64(b, question)
	b = binary.BigEndian.AppendUint64(b, term)
	return binary.BigEndian.AppendUint64(b, last)
}

// readAnswer reads the answer to a question, and no other.
func readAnswer(r io.Reader, question uint64) (term, last uint64, err error) {
	var b [answerLen]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, 0, err
	}
	if binary.BigEndian.Uint64(b[:]) != question {
		return 0, 0, errOldAnswer
	}
	return binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), nil
}

// serveProbes answers the questions on one connection.
func (r *Raft) serveProbes(c net.Conn) {
	var question [questionLen]byte
	b := make([]byte, 0, answerLen)
	for {
		if _, err := io.ReadFull(c, question[:]); err != nil {
			return
		}
		b = appendAnswer(b[:0], binary.BigEndian.Uint64(question[:]), r.raft.CurrentTerm(), r.raft.LastIndex())
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// probes are the connections on which this member asks others.
type probes struct {
	mu      sync.Mutex
	to      map[raft.ServerAddress]*probe
	stopped bool
	running sync.WaitGroup
	number  uint64 // of the last question
}

// A probe asks one member, a question at a time.
type probe struct {
	r      *Raft
	server raft.Server
	ctx    context.Context
	cancel context.CancelFunc
	asked  chan question

	conn     net.Conn  // of the goroutine that asks
	deadline time.Time // of conn
}

type question struct {
	number  uint64
	answers chan<- answer // has room
}

// ask puts a new question to each of the servers. What the channel gives was said after that.
func (r *Raft) ask(servers []raft.Server) <-chan answer {
	answers := make(chan answer, len(servers))
	p := &r.probes
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	q := question{number: p.number, answers: answers}
	for _, s := range servers {
		to := p.to[s.Address]
		if to == nil && !p.stopped {
			r.forgetProbesLocked()
			to = &probe{r: r, server: s, asked: make(chan question, 1)}
			to.ctx, to.cancel = context.WithCancel(r.net.ctx)
			p.to[s.Address] = to
			p.running.Go(to.run)
		}
		if to == nil {
			answers <- answer{from: s, err: net.ErrClosed}
			continue
		}
		select {
		case to.asked <- q:
		default: // it has not answered for long
			answers <- answer{from: s, err: errors.New("editlog: no answer yet to the last question")}
		}
	}
	return answers
}

// forgetProbesLocked ends the probes of members that are gone.
func (r *Raft) forgetProbesLocked() {
	present := map[raft.ServerAddress]bool{}
	for _, s := range r.servers() {
		present[s.Address] = true
	}
	for a, p := range r.probes.to {
		if !present[a] {
			p.cancel()
			delete(r.probes.to, a)
		}
	}
}

// stopProbes returns when nobody is asked any more.
func (r *Raft) stopProbes() {
	p := &r.probes
	p.mu.Lock()
	p.stopped = true
	for _, to := range p.to {
		to.cancel()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *probe) run() {
	defer p.cancel()
	defer p.hangUp()
	for {
		select {
		case <-p.ctx.Done():
			return
		case q := <-p.asked:
			a := answer{from: p.server}
			kept := p.conn != nil
			a.term, a.last, a.err = p.try(q.number)
			if a.err != nil && kept && p.ctx.Err() == nil && time.Now().Before(p.deadline) {
				a.term, a.last, a.err = p.try(q.number) // the member may have started anew
			}
			q.answers <- a
		}
	}
}

// try asks on the connection that there is, or on a new one.
func (p *probe) try(number uint64) (term, last uint64, err error) {
	patience := p.r.opts.HeartbeatTimeout
	if p.conn == nil {
		id, addr, err := splitAddress(p.server.Address)
		if err != nil {
			return 0, 0, err
		}
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		if p.conn, err = p.r.net.connect(ctx, helloProbe, id, addr); err != nil {
			p.conn = nil
			return 0, 0, err
		}
		p.deadline = time.Time{}
	}
	if now := time.Now(); p.deadline.Sub(now) < patience { // a timer costs more than a question
		p.deadline = now.Add(2 * patience)
		if err := p.conn.SetDeadline(p.deadline); err != nil {
			p.hangUp()
			return 0, 0, err
		}
	}
	if _, err = p.conn.Write(binary.BigEndian.AppendUint64(nil, number)); err == nil {
		term, last, err = readAnswer(p.conn, number)
	}
	if err != nil {
		p.hangUp() // an answer that is still under way is for nobody
	}
	return term, last, err
}

func (p *probe) hangUp() {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}
