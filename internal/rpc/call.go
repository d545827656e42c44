package rpc

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
)

// Call is one request as the server has decoded it. Handlers and hooks must not change it.
type Call struct {
	Protocol string
	Method   string
	Version  uint64
	User     string // the effective user of the connection
	RealUser string // who speaks for User, "" for User itself
	Remote   string // the peer's IP address

	ClientID      []byte
	CallID        int32
	RetryCount    int32 // -1: not sent
	CallerContext string

	Request proto.Message // nil for a method that only refuses

	conn    *serverConn
	method  *Method
	body    []byte  // the undecoded request, in frame
	frame   *[]byte // of the server's pool
	size    int
	reading bool // this goroutine still has the reading of conn
}

// Yield lets a Quick method, or a hook before it, wait: other calls of the connection are read from now on, and its end
// is noticed. It is cheap, may be called again, and does nothing for other methods. Only the goroutine that was given
// the call may call it. A nil Call has nothing to give.
func (c *Call) Yield() {
	if c != nil && c.reading {
		c.reading = false
		c.conn.srv.passOn(c.conn)
	}
}

// Next is what a Hook stands before: the method itself. It may be called once, not at all, or again: each time the
// method runs.
type Next func(ctx context.Context) (proto.Message, error)

func (c *Call) next(ctx context.Context) (proto.Message, error) { return c.method.run(ctx, c) }

// Hook sees each call before its method and decides about the answer: it returns what next returns, or something else,
// sooner, later, or after as long as it likes; before it waits for anything it calls Call.Yield. ErrDrop cuts the
// connection. Calls of protocols and methods that do not exist are refused before the hook.
type Hook func(ctx context.Context, c *Call, next Next) (proto.Message, error)

// ErrDrop, returned by a hook or a method, cuts the connection instead of answering.
var ErrDrop = errors.New("rpc: call dropped")

// Method is one method of a Protocol: made by Handle or Refuse.
type Method struct {
	Name    string
	Refusal error // what a method made by Refuse answers; nil for others

	request func() proto.Message // nil: the request is not decoded
	enums   *closedEnums         // of the request
	run     func(ctx context.Context, c *Call) (proto.Message, error)
	quick   bool
}

// Quick marks a method that never waits for anything but short locks, or calls Call.Yield before it does. Such a method
// saves its connection a change of goroutine.
func (m Method) Quick() Method {
	m.quick = true
	return m
}

// Handle makes a method of f. The context ends with the connection. An answer of nil is a void one. An error that has
// a *dfs.RemoteError in its chain travels as that class and message, any other as a java.io.IOException.
func Handle[Req, Resp any, PReq message[Req], PResp message[Resp]](name string, f func(ctx context.Context, c *Call, req *Req) (*Resp, error)) Method {
	return Method{
		Name:    name,
		request: func() proto.Message { return PReq(new(Req)) },
		enums:   enumsOf(PReq(new(Req)).ProtoReflect().Descriptor()),
		run: func(ctx context.Context, c *Call) (proto.Message, error) {
			resp, err := f(ctx, c, c.Request.(PReq))
			if resp == nil || err != nil {
				return nil, err
			}
			return PResp(resp), nil
		},
	}
}

// message is a pointer to a generated message.
type message[T any] interface {
	*T
	proto.Message
}

// Refuse makes a method that is known and always answers err; its requests are not looked at.
func Refuse(name string, err error) Method {
	return Method{
		Name:    name,
		Refusal: err,
		run:     func(context.Context, *Call) (proto.Message, error) { return nil, err },
	}
}

// Protocol is a table of methods under the name of the Java interface, such as
// "org.apache.hadoop.hdfs.protocol.ClientProtocol".
type Protocol struct {
	Name    string
	Version uint64
	Methods []Method
}
