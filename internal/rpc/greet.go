package rpc

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// auth is how far a connection has come with its authentication.
type auth uint8

const (
	authDone  auth = iota // or never asked for: the connection context says who speaks
	authAsked             // the connection header asked for SASL
	authTried             // we said that we do without, but the peer chose a mechanism blindly and has to ask properly
)

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
	version, method := int8(b[4]), b[6]
	switch {
	case string(b[:4]) == "GET ":
		return &fatalError{[]byte(httpAnswer), "an HTTP request on the RPC port"}
	case string(b[:4]) != "hrpc" || version != ipcVersion:
		return versionMismatch(version)
	case method == authSASL:
		c.auth = authAsked
	case method != authSimple:
		return fatalAnswer(connectionItself(), codeUnauthorized, "org.apache.hadoop.ipc.IpcException", fmt.Sprintf("Unknown auth protocol:%d", int8(method)))
	}
	return nil
}

// connectionItself stands for the header of the frame when there was no frame, or no readable one.
func connectionItself() *requestHeader { return &requestHeader{callID: -1, retry: noRetry} }

// versionMismatch refuses a peer of another RPC version, in the answer format of its time.
func versionMismatch(version int8) error {
	reason := fmt.Sprintf("Server IPC version %d cannot communicate with client version %d", ipcVersion, version)
	var b []byte
	switch {
	case version >= 9:
		return fatalAnswer(connectionItself(), codeIPCVersion, dfs.ClassVersionMismatch, reason)
	case version >= 3: // call id -1, status FATAL
		b = []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}
	case version == 2: // call id 0, an error
		b = []byte{0, 0, 0, 0, 1}
	default: // too old for any answer
		return &fatalError{nil, reason}
	}
	for _, s := range []string{string(dfs.ClassVersionMismatch), reason} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return &fatalError{b, reason}
}

const classSASL dfs.Class = "javax.security.sasl.SaslException"

// negotiate handles a SASL message as a server does that has only simple authentication to offer: it says that no SASL
// is needed. A client with a token in its hands asks even then.
func (c *serverConn) negotiate(h *requestHeader, rest []byte) error {
	if c.auth == authDone {
		return fatalAnswer(h, codeInvalidHeader, dfs.ClassRPCServer, "SASL protocol not requested by client")
	}
	var m hdfspb.RpcSaslProto
	if err := decodeNext(rest, &m, nil); err != nil {
		return undecodable(h, "RpcSaslProto", err)
	}
	refuse := func(class dfs.Class, format string, args ...any) error {
		return fatalAnswer(h, codeUnauthorized, class, fmt.Sprintf(format, args...))
	}
	switch state := m.GetState(); {
	case state == hdfspb.RpcSaslProto_NEGOTIATE && c.auth == authTried:
		return refuse(dfs.ClassAccessControl, "Client already attempted negotiation")
	case state == hdfspb.RpcSaslProto_NEGOTIATE:
		c.auth = authDone
	case state == hdfspb.RpcSaslProto_INITIATE && len(m.Auths) != 1:
		return refuse(classSASL, "Client mechanism is malformed")
	case state == hdfspb.RpcSaslProto_INITIATE && c.auth == authTried:
		return refuse(dfs.ClassAccessControl, "%s authentication is not enabled.  Available:[SIMPLE]", m.Auths[0].GetMethod())
	case state == hdfspb.RpcSaslProto_INITIATE:
		c.auth = authTried
	case state == hdfspb.RpcSaslProto_RESPONSE:
		return refuse(classSASL, "Client did not send a token")
	case state == hdfspb.RpcSaslProto_WRAP:
		return fatalAnswer(h, codeInvalidHeader, classSASL, "Server is not wrapping data")
	default:
		return refuse(classSASL, "Client sent unsupported state %v", state)
	}
	a := answerHeader{callID: idSASL, retry: noRetry}
	b, err := appendAnswer(nil, &a, &hdfspb.RpcSaslProto{State: hdfspb.RpcSaslProto_SUCCESS.Enum()})
	if err == nil {
		_, err = c.out.send(b)
	}
	return err
}

// identify handles the connection context.
func (c *serverConn) identify(h *requestHeader, rest []byte) error {
	switch {
	case c.auth != authDone:
		return fatalAnswer(h, codeInvalidHeader, dfs.ClassRPCServer, "Connection header sent during SASL negotiation")
	case c.identified:
		return fatalAnswer(h, codeInvalidHeader, dfs.ClassRPCServer, "Connection context already processed")
	}
	var m hdfspb.IpcConnectionContextProto
	if err := decodeNext(rest, &m, nil); err != nil {
		return undecodable(h, "IpcConnectionContextProto", err)
	}
	c.user, c.real = m.GetUserInfo().GetEffectiveUser(), m.GetUserInfo().GetRealUser()
	if c.real != "" && (c.srv.impersonate == nil || !c.srv.impersonate(c.real, c.user, c.remote)) {
		return fatalAnswer(h, codeUnauthorized, dfs.ClassAuthorization,
			fmt.Sprintf("User: %s is not allowed to impersonate %s", c.real, c.user))
	}
	c.identified = true
	return nil
}
