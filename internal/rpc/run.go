package rpc

import (
	"errors"
	"runtime/debug"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// run carries out a call and answers it. It reports whether the reading of the connection is the caller's afterwards:
// always that of a quick method that did not yield, else only when reading had stopped for lack of room.
func (c *serverConn) run(call *Call) (reading bool) {
	call.reading = c.admit(call.size)
	if !call.method.quick || c.in.Buffered() > 0 { // more calls are there: share the work
		call.Yield()
	}
	c.answer(call)
	resumed := c.leave(call.size)
	return call.reading || resumed
}

// answer runs the method and sends what comes out of it. An answer that cannot be sent ends the connection, so that the
// client does not wait for it.
func (c *serverConn) answer(call *Call) {
	resp, err := c.invoke(call)
	if errors.Is(err, ErrDrop) {
		c.close()
		return
	}
	h := answerHeader{callID: call.CallID, clientID: call.ClientID, retry: call.RetryCount}
	if err != nil {
		h.fail(err)
	}
	buf := c.srv.pool.get()
	if *buf, err = appendAnswer(*buf, &h, resp); err != nil {
		c.srv.log.Error("rpc: answer cannot be encoded", "method", call.Method, "err", err)
		h.fail(&callError{codeSerializing, dfs.AsRemote(err)})
		*buf, err = appendAnswer(*buf, &h, nil)
	}
	if err == nil {
		_, err = c.out.send(*buf)
	}
	if err != nil {
		c.srv.log.Debug("rpc: answer lost", "method", call.Method, "peer", c.remote, "err", err)
		c.close()
	}
	c.srv.pool.put(buf)
}

// invoke decodes the request and calls hook and method.
func (c *serverConn) invoke(call *Call) (resp proto.Message, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		if p == nil { // runtime.Goexit: this goroutine ends, and nobody would answer
			c.close()
			return
		}
		c.srv.log.Error("rpc: method panicked", "method", call.Method, "panic", p, "stack", string(debug.Stack()))
		resp, err = nil, dfs.Errorf(dfs.ClassRuntime, "%v", p)
	}()
	if err = call.decode(); err == nil {
		if hook := c.srv.hook; hook != nil {
			resp, err = hook(c.ctx, call, call.next)
		} else {
			resp, err = call.method.run(c.ctx, call)
		}
	}
	returned = true
	return resp, err
}

// decode makes Request of the frame and gives the frame back.
func (c *Call) decode() (err error) {
	if c.method.request != nil {
		c.Request = c.method.request()
		err = decodeNext(c.body, c.Request, c.method.enums)
	}
	c.conn.srv.pool.put(c.frame)
	c.body, c.frame = nil, nil
	return err
}

// callError is an error with a code of its own.
type callError struct {
	code errorCode
	*dfs.RemoteError
}

func (e *callError) Unwrap() error { return e.RemoteError }

// fail turns the header into that of an error.
func (h *answerHeader) fail(err error) {
	r := dfs.AsRemote(err)
	h.status, h.class, h.message, h.detail = failure, string(r.Class), r.Message, codeApplication
	var e *callError
	if errors.As(err, &e) {
		h.detail = e.code
	}
}
