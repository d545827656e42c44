package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// sendPatience is how long a call writes by itself before a goroutine takes its place, so that its context can end it.
const sendPatience = 5 * time.Millisecond

// maxUnsent is how many bytes may wait for a peer that reads nothing before its connection counts as broken.
const maxUnsent = 64 << 20

// clientConn is one connection of a client.
type clientConn struct {
	client *Client
	nc     net.Conn
	out    outbox
	since  time.Time
	done   chan struct{} // closed by fail
	heard  atomic.Int64  // when the last answer came or waiting began, in Unix nanoseconds

	mu    sync.Mutex
	err   error // why it ended
	waits map[int32]*wait
}

// wait is a call that waits for its answer.
type wait struct {
	retry int32
	done  chan struct{} // gets one value once answer or err is set
	head  answerHeader
	body  []byte  // the response message, in frame
	frame *[]byte // of the client's pool
	err   error   // the connection ended
}

func newClientConn(c *Client, nc net.Conn) *clientConn {
	cc := &clientConn{client: c, nc: nc, since: time.Now(), done: make(chan struct{}), waits: make(map[int32]*wait)}
	cc.out.conn, cc.out.pool = nc, &c.pool
	cc.out.patience, cc.out.rest, cc.out.limit = sendPatience, cc.startDrain, maxUnsent
	cc.heard.Store(time.Now().UnixNano())
	cc.out.push(c.greeting()) // leaves with the first call
	return cc
}

// call sends the frame and waits for the answer.
func (cc *clientConn) call(ctx context.Context, id CallID, method string, frame []byte, resp proto.Message) error {
	w, ok := cc.client.waits.Get().(*wait)
	if !ok {
		w = &wait{done: make(chan struct{}, 1)}
	}
	w.retry = id.Retry
	if err := cc.expect(id.ID, w); err != nil {
		return &ConnError{Addr: cc.client.addr, Op: method, Err: err}
	}
	end, err := cc.out.send(frame)
	if err != nil {
		cc.fail(err) // and w gets it too
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if cc.abandon(id.ID, w) {
			return ctx.Err()
		}
		<-w.done // the answer is there already
	}
	if w.err != nil {
		return &ConnError{Addr: cc.client.addr, Op: method, Sent: end > 0 && cc.out.sent(end), Err: w.err}
	}
	err = cc.decode(method, w, resp)
	*w = wait{done: w.done}
	cc.client.waits.Put(w)
	return err
}

func (cc *clientConn) decode(method string, w *wait, resp proto.Message) error {
	defer cc.client.pool.put(w.frame)
	if w.head.status != success {
		return &dfs.RemoteError{Class: dfs.Class(w.head.class), Message: w.head.message}
	}
	if resp == nil {
		return nil
	}
	if err := proto.Unmarshal(w.body, resp); err != nil {
		return fmt.Errorf("rpc: answer of %s from %s: %w", method, cc.client.addr, err)
	}
	return nil
}

// expect enters a call before it is sent.
func (cc *clientConn) expect(id int32, w *wait) error {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		return cc.err
	}
	if cc.waits[id] != nil {
		return fmt.Errorf("call id %d is in use", id)
	}
	if len(cc.waits) == 0 {
		cc.heard.Store(time.Now().UnixNano()) // silence counts from here
	}
	cc.waits[id] = w
	return nil
}

// abandon takes a call out. It reports false when an answer came first.
func (cc *clientConn) abandon(id int32, w *wait) bool {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.waits[id] != w {
		return false
	}
	delete(cc.waits, id)
	return true
}

// fail ends the connection and all calls that wait on it.
func (cc *clientConn) fail(err error) {
	cc.mu.Lock()
	if cc.err != nil {
		cc.mu.Unlock()
		return
	}
	cc.err = err
	waits := cc.waits
	cc.waits = nil
	cc.mu.Unlock()
	close(cc.done)
	_ = cc.nc.Close()
	cc.client.forget(cc)
	for _, w := range waits {
		w.err = err
		w.done <- struct{}{}
	}
}

// startDrain has a goroutine write what a call had no patience for.
func (cc *clientConn) startDrain() {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		return
	}
	cc.client.work.Add(1)
	go func() {
		defer cc.client.work.Done()
		if err := cc.out.drain(); err != nil {
			cc.fail(err)
		}
	}()
}

func (cc *clientConn) readLoop() {
	defer cc.client.work.Done()
	in := bufio.NewReaderSize(cc.nc, readBuffer)
	for {
		frame, err := readFrame(in, &cc.client.pool, cc.client.o.MaxFrame)
		if err == nil {
			err = cc.deliver(frame)
		}
		if err != nil {
			cc.fail(err)
			return
		}
	}
}

// deliver hands one answer to its call. The error ends the connection.
func (cc *clientConn) deliver(frame *[]byte) error {
	cc.heard.Store(time.Now().UnixNano())
	h, body, err := parseAnswer(*frame)
	if err != nil {
		return fmt.Errorf("undecodable answer: %w", err)
	}
	if len(h.clientID) > 0 && !bytes.Equal(h.clientID, cc.client.o.ClientID[:]) {
		return errors.New("answer to another client's call")
	}
	if h.status == fatal {
		return &dfs.RemoteError{Class: dfs.Class(h.class), Message: h.message}
	}
	cc.mu.Lock()
	w := cc.waits[h.callID]
	if w != nil && (h.retry == noRetry || h.retry == w.retry) {
		delete(cc.waits, h.callID)
	} else {
		w = nil
	}
	cc.mu.Unlock()
	if w == nil { // given up, or the answer of an earlier attempt
		cc.client.pool.put(frame)
		return nil
	}
	h.clientID = nil
	w.head = h
	w.body, w.frame = body, frame
	w.done <- struct{}{}
	return nil
}

// parseAnswer takes an answer's frame apart.
func parseAnswer(frame []byte) (h answerHeader, body []byte, err error) {
	head, rest, err := cutDelimited(frame)
	if err != nil {
		return h, nil, err
	}
	if err = h.parse(head); err != nil {
		return h, nil, err
	}
	if h.status == success {
		if body, rest, err = cutDelimited(rest); err != nil {
			return h, nil, err
		}
	}
	if len(rest) > 0 {
		return h, nil, fmt.Errorf("%d bytes too many", len(rest))
	}
	return h, body, nil
}

// pingLoop sends a ping after each PingAfter of silence in which a call waits, so that a dead peer is noticed.
func (cc *clientConn) pingLoop() {
	defer cc.client.work.Done()
	after := cc.client.o.PingAfter
	if after < 0 {
		return
	}
	t := time.NewTimer(after)
	defer t.Stop()
	for {
		select {
		case <-cc.done:
			return
		case now := <-t.C:
			t.Reset(cc.tick(now, after))
		}
	}
}

// tick sends a ping if it is time for one. It returns when to look again.
func (cc *clientConn) tick(now time.Time, after time.Duration) time.Duration {
	if silence := now.Sub(time.Unix(0, cc.heard.Load())); silence < after {
		return after - silence
	}
	cc.mu.Lock()
	pending := len(cc.waits) > 0
	cc.mu.Unlock()
	if pending {
		if _, err := cc.out.send(cc.client.ping()); err != nil {
			cc.fail(err)
		}
	}
	return after
}

// appendRequest adds the frame of a call.
func (c *Client) appendRequest(b []byte, id CallID, method string, req proto.Message) ([]byte, error) {
	start := len(b)
	b = beginFrame(b)
	b = appendDelimited(b, func(b []byte) []byte { return c.appendHeader(b, id.ID, id.Retry) })
	b = appendDelimited(b, func(b []byte) []byte {
		b = appendBytes(b, 1, method)
		b = appendBytes(b, 2, c.o.Protocol)
		return appendVarint(b, 3, c.o.Version)
	})
	b, err := appendMessage(b, req)
	if err != nil {
		return b[:start], fmt.Errorf("rpc: request of %s: %w", method, err)
	}
	return endFrame(b, start), nil
}

func (c *Client) appendHeader(b []byte, id, retry int32) []byte {
	b = appendVarint(b, 1, uint64(kindProto))
	b = appendVarint(b, 2, uint64(opFinal))
	b = appendVarint(b, 3, protowire.EncodeZigZag(int64(id)))
	b = appendBytes(b, 4, c.o.ClientID[:])
	return appendVarint(b, 5, protowire.EncodeZigZag(int64(retry)))
}

// greeting is the connection header and the connection context.
func (c *Client) greeting() []byte {
	b := []byte{'h', 'r', 'p', 'c', ipcVersion, 0, authSimple}
	start := len(b)
	b = beginFrame(b)
	b = appendDelimited(b, func(b []byte) []byte { return c.appendHeader(b, idContext, noRetry) })
	user := &hdfspb.UserInformationProto{EffectiveUser: &c.o.User}
	if c.o.RealUser != "" {
		user.RealUser = &c.o.RealUser
	}
	b, _ = appendMessage(b, &hdfspb.IpcConnectionContextProto{UserInfo: user, Protocol: &c.o.Protocol}) // has no required fields
	return endFrame(b, start)
}

func (c *Client) ping() []byte {
	b := beginFrame(nil)
	b = appendDelimited(b, func(b []byte) []byte { return c.appendHeader(b, idPing, noRetry) })
	return endFrame(b, 0)
}
