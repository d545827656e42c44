package rpc

import (
	"bytes"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

type errorCode = hdfspb.RpcResponseHeaderProto_RpcErrorCodeProto

// The error codes of answers, by short names.
const (
	codeApplication   = hdfspb.RpcResponseHeaderProto_ERROR_APPLICATION
	codeNoMethod      = hdfspb.RpcResponseHeaderProto_ERROR_NO_SUCH_METHOD
	codeNoProtocol    = hdfspb.RpcResponseHeaderProto_ERROR_NO_SUCH_PROTOCOL
	codeSerializing   = hdfspb.RpcResponseHeaderProto_ERROR_SERIALIZING_RESPONSE
	codeMismatch      = hdfspb.RpcResponseHeaderProto_ERROR_RPC_VERSION_MISMATCH
	codeInvalidHeader = hdfspb.RpcResponseHeaderProto_FATAL_INVALID_RPC_HEADER
	codeDeserializing = hdfspb.RpcResponseHeaderProto_FATAL_DESERIALIZING_REQUEST
	codeIPCVersion    = hdfspb.RpcResponseHeaderProto_FATAL_VERSION_MISMATCH
	codeUnauthorized  = hdfspb.RpcResponseHeaderProto_FATAL_UNAUTHORIZED
)

// fatalError ends a connection: answer is sent first.
type fatalError struct {
	answer []byte
	reason string
}

func (e *fatalError) Error() string { return e.reason }

// fatalAnswer makes the fatal answer to the frame with header h.
func fatalAnswer(h *requestHeader, code errorCode, class dfs.Class, message string) error {
	a := answerHeader{callID: h.callID, status: fatal, class: string(class), message: message, detail: code, retry: h.retry}
	b, err := appendAnswer(nil, &a, nil)
	if err != nil {
		return err
	}
	return &fatalError{b, message}
}

// undecodable makes the fatal answer to a frame of which a header cannot be read.
func undecodable(h *requestHeader, what string, err error) error {
	r := dfs.AsRemote(err)
	return fatalAnswer(h, codeDeserializing, dfs.ClassRPCServer, fmt.Sprintf("Error decoding %s: %s: %s", what, string(r.Class), r.Message))
}

// dispatch decodes one frame. It returns the call to run, or nil when the frame needs none.
func (c *serverConn) dispatch(frame []byte) (*Call, error) {
	var h requestHeader
	head, rest, err := cutDelimited(frame)
	if err == nil {
		err = h.parse(head)
	}
	if err != nil {
		return nil, undecodable(connectionItself(), "RpcRequestHeaderProto", err)
	}
	invalid := func(format string, args ...any) error {
		return fatalAnswer(&h, codeInvalidHeader, dfs.ClassRPCServer, fmt.Sprintf(format, args...))
	}
	switch {
	case h.op < 0:
		return nil, invalid(" IPC Server: No rpc op in rpcRequestHeader")
	case h.op != opFinal:
		return nil, invalid("IPC Server does not implement rpc header operation%v", hdfspb.RpcRequestHeaderProto_OperationProto(h.op))
	case h.kind < 0:
		return nil, invalid(" IPC Server: No rpc kind in rpcRequestHeader")
	case h.callID == idPing:
		return nil, nil
	case h.callID == idContext:
		return nil, c.identify(&h, rest)
	case h.callID == idSASL:
		return nil, c.negotiate(&h, rest)
	case h.callID < 0:
		return nil, invalid("Unknown out of band call #%d", h.callID)
	case !c.identified:
		return nil, invalid("Connection context not established")
	case h.kind != kindProto:
		return nil, invalid("Unknown rpc kind in rpc header%v", hdfspb.RpcKindProto(h.kind))
	}
	return c.lookUp(&h, rest)
}

// lookUp finds the method of a call, and answers right here when there is none.
func (c *serverConn) lookUp(h *requestHeader, rest []byte) (*Call, error) {
	var m methodHeader
	head, body, err := cutDelimited(rest)
	if err == nil {
		err = m.parse(head)
	}
	if err != nil { // Hadoop never answers this
		r := dfs.AsRemote(err)
		return nil, c.refuse(h, codeApplication, r.Class, r.Message)
	}
	t := c.srv.tables[string(m.protocol)]
	if t == nil {
		return nil, c.refuse(h, codeNoProtocol, dfs.ClassNoSuchProtocol, fmt.Sprintf("Unknown protocol: %s", m.protocol))
	}
	if t.version != m.version {
		return nil, c.refuse(h, codeMismatch, dfs.ClassVersionMismatch,
			fmt.Sprintf("Protocol %s version mismatch. (client = %d, server = %d)", t.name, int64(m.version), t.version))
	}
	method := t.methods[string(m.method)]
	if method == nil {
		return nil, c.refuse(h, codeNoMethod, dfs.ClassNoSuchMethod,
			fmt.Sprintf("Unknown method %s called on %s protocol.", m.method, t.name))
	}
	if !bytes.Equal(c.client, h.clientID) {
		c.client = bytes.Clone(h.clientID)
	}
	return &Call{
		Protocol: t.name, Method: method.Name, Version: m.version,
		User: c.user, RealUser: c.real, Remote: c.remote,
		ClientID: c.client, CallID: h.callID, RetryCount: h.retry, CallerContext: string(h.callerContext),
		conn: c, method: method, body: body,
	}, nil
}

// refuse answers a call that has no method.
func (c *serverConn) refuse(h *requestHeader, code errorCode, class dfs.Class, message string) error {
	a := answerHeader{
		callID: h.callID, status: failure, class: string(class), message: message, detail: code,
		clientID: h.clientID, retry: h.retry,
	}
	b, err := appendAnswer(nil, &a, nil)
	if err == nil {
		_, err = c.out.send(b)
	}
	return err
}
