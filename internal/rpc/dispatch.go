package rpc

import (
	"bytes"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// The error codes of answers, by short names.
const (
	codeApplication   = hdfspb.RpcResponseHeaderProto_ERROR_APPLICATION
	codeNoMethod      = hdfspb.RpcResponseHeaderProto_ERROR_NO_SUCH_METHOD
	codeNoProtocol    = hdfspb.RpcResponseHeaderProto_ERROR_NO_SUCH_PROTOCOL
	codeServer        = hdfspb.RpcResponseHeaderProto_ERROR_RPC_SERVER
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
func fatalAnswer(h *requestHeader, code hdfspb.RpcResponseHeaderProto_RpcErrorCodeProto, class dfs.Class, message string) error {
	a := answerHeader{
		callID: h.callID, status: fatal, class: string(class), message: message, detail: code,
		clientID: h.clientID, retry: h.retry,
	}
	b, err := appendAnswer(nil, &a, nil)
	if err != nil {
		return err
	}
	return &fatalError{b, message}
}

// httpAnswer is for a browser on the wrong port.
const httpAnswer = "HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n" +
	"It looks like you are making an HTTP request to a Hadoop IPC port. This is not the correct port for the web interface on this daemon.\r\n"

// greet reads the connection header.
func (c *serverConn) greet() error {
	var b [7]byte
	if n, err := io.ReadFull(c.in, b[:]); err != nil {
		if n == 0 {
			return io.EOF
		}
		return err
	}
	version, auth := b[4], b[6]
	switch {
	case string(b[:4]) == "GET ":
		return &fatalError{[]byte(httpAnswer), "an HTTP request on the RPC port"}
	case string(b[:4]) != "hrpc" || version != ipcVersion:
		h := requestHeader{callID: -1, retry: noRetry}
		return fatalAnswer(&h, codeIPCVersion, dfs.ClassVersionMismatch,
			fmt.Sprintf("Server IPC version 9 cannot communicate with client version %d", version))
	case auth == authSASL:
		c.sasl = true
	case auth != authSimple:
		h := requestHeader{callID: -1, retry: noRetry}
		return fatalAnswer(&h, codeUnauthorized, dfs.ClassIO, fmt.Sprintf("Unknown auth protocol: %d", int8(auth)))
	}
	return nil
}

// dispatch decodes one frame. It returns the call to run, or nil when the frame needs none.
func (c *serverConn) dispatch(frame []byte) (*Call, error) {
	var h requestHeader
	head, rest, err := cutDelimited(frame)
	if err == nil {
		err = h.parse(head)
	}
	if err != nil {
		h = requestHeader{callID: idInvalid, retry: noRetry}
		return nil, fatalAnswer(&h, codeDeserializing, dfs.ClassRPCServer, err.Error())
	}
	invalid := func(format string, args ...any) (*Call, error) {
		return nil, fatalAnswer(&h, codeInvalidHeader, dfs.ClassRPCServer, fmt.Sprintf(format, args...))
	}
	switch {
	case h.op < 0:
		return invalid(" IPC Server: No rpc op in rpcRequestHeader")
	case h.op != opFinal:
		return invalid("IPC Server does not implement rpc header operation%d", h.op)
	case h.kind < 0:
		return invalid(" IPC Server: No rpc kind in rpcRequestHeader")
	case h.callID < 0:
		return nil, c.control(&h, rest)
	case !c.context:
		return invalid("Connection context not established")
	case h.kind != kindProto:
		return invalid("Unknown rpc kind in rpc header %d", h.kind)
	}
	return c.lookUp(&h, rest)
}

// control handles the frames that are no calls, by their negative ids.
func (c *serverConn) control(h *requestHeader, rest []byte) error {
	msg, _, err := cutDelimited(rest)
	switch {
	case h.callID == idPing:
		return nil
	case h.callID == idContext && c.context:
		return fatalAnswer(h, codeInvalidHeader, dfs.ClassRPCServer, "Connection context already processed")
	case h.callID == idContext:
		var m hdfspb.IpcConnectionContextProto
		if err == nil {
			err = proto.Unmarshal(msg, &m)
		}
		if err != nil {
			return fatalAnswer(h, codeDeserializing, dfs.ClassRPCServer, err.Error())
		}
		c.user, c.real = m.GetUserInfo().GetEffectiveUser(), m.GetUserInfo().GetRealUser()
		c.context = true
		return nil
	case h.callID == idSASL:
		var m hdfspb.RpcSaslProto
		if err == nil {
			err = proto.Unmarshal(msg, &m)
		}
		if err != nil {
			return fatalAnswer(h, codeDeserializing, dfs.ClassRPCServer, err.Error())
		}
		c.sasl = false
		a := answerHeader{callID: idSASL, clientID: h.clientID, retry: h.retry}
		b, err := appendAnswer(nil, &a, &hdfspb.RpcSaslProto{State: hdfspb.RpcSaslProto_SUCCESS.Enum()})
		if err == nil {
			_, err = c.out.send(b)
		}
		return err
	}
	return fatalAnswer(h, codeInvalidHeader, dfs.ClassRPCServer, fmt.Sprintf("Unknown out of band call #%d", h.callID))
}

// lookUp finds the method of a call, and answers right here when there is none.
func (c *serverConn) lookUp(h *requestHeader, rest []byte) (*Call, error) {
	var m methodHeader
	head, body, err := cutDelimited(rest)
	if err == nil {
		err = m.parse(head)
	}
	if err != nil {
		return nil, fatalAnswer(h, codeDeserializing, dfs.ClassRPCServer, err.Error())
	}
	t := c.srv.tables[string(m.protocol)]
	if t == nil {
		return nil, c.refuse(h, codeNoProtocol, dfs.ClassNoSuchProtocol, fmt.Sprintf("Unknown protocol: %s", m.protocol))
	}
	if t.version != m.version {
		return nil, c.refuse(h, codeMismatch, dfs.ClassVersionMismatch,
			fmt.Sprintf("Protocol %s version mismatch. (client = %d, server = %d)", t.name, m.version, t.version))
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
func (c *serverConn) refuse(h *requestHeader, code hdfspb.RpcResponseHeaderProto_RpcErrorCodeProto, class dfs.Class, message string) error {
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
