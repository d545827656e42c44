package rpc

import (
	"errors"
	"fmt"
)

// errCut is what calls of a connection end with that Client.Cut has ended.
var errCut = errors.New("the connection has gone silent and was cut")

// ErrClosed is what calls of a closed client end with, inside a ConnError.
var ErrClosed = errors.New("client is closed")

// ConnError reports a connection that could not be made or broke before the answer came.
type ConnError struct {
	Addr string
	Op   string // "dial", or the method
	Sent bool   // the request has left this process: the call may have been carried out
	Err  error
}

// Error says what failed, where, and whether the call may have happened.
func (e *ConnError) Error() string {
	if e.Sent {
		return fmt.Sprintf("rpc: %s at %s: no answer, the call may have been carried out: %v", e.Op, e.Addr, e.Err)
	}
	return fmt.Sprintf("rpc: %s at %s: call not sent: %v", e.Op, e.Addr, e.Err)
}

// Unwrap gives the cause.
func (e *ConnError) Unwrap() error { return e.Err }

var errConnectTimeout = errors.New("no connection within the connect timeout")
