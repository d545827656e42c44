package rpc

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// goldenCase is what one connection sends.
type goldenCase struct {
	name string
	send []byte
}

func hrpc(version, auth byte) []byte { return []byte{'h', 'r', 'p', 'c', version, 0, auth} }

// parts makes a frame of messages (each led by its length) and raw bytes.
func parts(ps ...any) []byte {
	b := beginFrame(nil)
	for _, p := range ps {
		switch p := p.(type) {
		case proto.Message:
			var err error
			if b, err = appendMessage(b, p); err != nil {
				panic(err)
			}
		case []byte:
			b = append(b, p...)
		}
	}
	return endFrame(b, 0)
}

const testClientID = "0123456789abcdef"

// request makes a request header and lets edit change it.
func request(callID int32, edit ...func(*hdfspb.RpcRequestHeaderProto)) *hdfspb.RpcRequestHeaderProto {
	h := &hdfspb.RpcRequestHeaderProto{
		RpcKind: hdfspb.RpcKindProto_RPC_PROTOCOL_BUFFER.Enum(), RpcOp: hdfspb.RpcRequestHeaderProto_RPC_FINAL_PACKET.Enum(),
		CallId: &callID, ClientId: []byte(testClientID), RetryCount: proto.Int32(0),
	}
	for _, f := range edit {
		f(h)
	}
	return h
}

func methodOf(protocol, method string, version uint64) *hdfspb.RequestHeaderProto {
	return &hdfspb.RequestHeaderProto{MethodName: &method, DeclaringClassProtocolName: &protocol, ClientProtocolVersion: &version}
}

func contextOf(user, realUser, protocol string) *hdfspb.IpcConnectionContextProto {
	u := &hdfspb.UserInformationProto{EffectiveUser: &user}
	if realUser != "" {
		u.RealUser = &realUser
	}
	return &hdfspb.IpcConnectionContextProto{UserInfo: u, Protocol: &protocol}
}

func saslOf(state hdfspb.RpcSaslProto_SaslState, auth ...string) *hdfspb.RpcSaslProto {
	m := &hdfspb.RpcSaslProto{State: &state}
	if len(auth) == 2 {
		m.Auths = []*hdfspb.RpcSaslProto_SaslAuth{{Method: &auth[0], Mechanism: &auth[1]}}
	}
	return m
}

var noClient = func(h *hdfspb.RpcRequestHeaderProto) { h.ClientId = []byte{} }

func goldenCases() []goldenCase {
	var (
		hello   = hrpc(9, 0)
		context = parts(request(-3, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = proto.Int32(-1) }), contextOf("alice", "", protocolName))
		getInfo = methodOf(protocolName, "getFileInfo", 1)
		absent  = &hdfspb.GetFileInfoRequestProto{Src: proto.String("/absent")}
		good    = parts(request(8), getInfo, absent)
		sasl    = parts(request(-33, noClient, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = proto.Int32(-1) }), saslOf(hdfspb.RpcSaslProto_NEGOTIATE))
		junk    = []byte{3, 0xFF, 0xFF, 0xFF}
	)
	join := func(bs ...[]byte) []byte { return bytes.Join(bs, nil) }
	call := func(bs ...[]byte) []byte { return join(hello, context, join(bs...)) }
	return []goldenCase{
		{"a call", call(parts(request(7), getInfo, absent))},
		{"a void answer", call(parts(request(0), methodOf(protocolName, "renewLease", 1), &hdfspb.RenewLeaseRequestProto{ClientName: proto.String("c")}))},
		{"an exception", call(parts(request(1), methodOf(protocolName, "getBlockLocations", 1),
			&hdfspb.GetBlockLocationsRequestProto{Src: proto.String("/absent"), Offset: proto.Uint64(0), Length: proto.Uint64(1)}))},
		{"highest call id, retry 3", call(parts(request(0x7FFFFFFF, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = proto.Int32(3) }), getInfo, absent))},
		{"no retry count", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = nil }), getInfo, absent))},
		{"empty client id", call(parts(request(7, noClient), getInfo, absent))},
		{"unknown method", call(parts(request(7), methodOf(protocolName, "nope", 1), absent), good)},
		{"unknown protocol", call(parts(request(7), methodOf("org.example.Nope", "getFileInfo", 1), absent), good)},
		{"protocol version 2", call(parts(request(7), methodOf(protocolName, "getFileInfo", 2), absent), good)},
		{"protocol version 2, unknown method", call(parts(request(7), methodOf(protocolName, "nope", 2), absent), good)},
		{"context of an unknown protocol", join(hello, parts(request(-3), contextOf("alice", "", "org.example.Nope")), good)},
		{"context without a user", join(hello, parts(request(-3), &hdfspb.IpcConnectionContextProto{Protocol: proto.String(protocolName)}), good)},
		{"context of a proxy user", join(hello, parts(request(-3), contextOf("alice", "root", protocolName)), good)},
		{"context undecodable", join(hello, parts(request(-3), junk), good)},
		{"context missing", join(hello, good)},
		{"context twice", call(context, good)},
		{"ping", call(parts(request(-4)), good)},
		{"ping before the context", join(hello, parts(request(-4)), context, good)},
		{"call id -1", call(parts(request(-1), getInfo, absent), good)},
		{"call id -2", call(parts(request(-2), getInfo, absent), good)},
		{"call id -5", call(parts(request(-5), getInfo, absent), good)},
		{"call id -5 before the context", join(hello, parts(request(-5), getInfo, absent), good)},
		{"RPC version 8", join(hrpc(8, 0), context, good)},
		{"RPC version 7", join(hrpc(7, 0), context, good)},
		{"RPC version 4", join(hrpc(4, 0), context, good)},
		{"RPC version 3", join(hrpc(3, 0), context, good)},
		{"RPC version 2", join(hrpc(2, 0), context, good)},
		{"RPC version 1", join(hrpc(1, 0), context, good)},
		{"RPC version 0", join(hrpc(0, 0), context, good)},
		{"RPC version -1", join(hrpc(0xFF, 0), context, good)},
		{"RPC version 10", join(hrpc(10, 0), context, good)},
		{"other magic", join([]byte("abcd\x09\x00\x00"), context, good)},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"SASL negotiation", join(hrpc(9, 0xDF), sasl, context, good)},
		{"SASL initiation", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE)), context, good)},
		{"SASL initiation of SIMPLE", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "SIMPLE", "")), context, good)},
		{"SASL initiation of TOKEN", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "TOKEN", "DIGEST-MD5")), context, good)},
		{"SASL initiation twice", join(hrpc(9, 0xDF), bytes.Repeat(parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "TOKEN", "DIGEST-MD5")), 2), context, good)},
		{"SASL initiation, then negotiation", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "TOKEN", "DIGEST-MD5")), sasl, context, good)},
		{"SASL initiation of KERBEROS", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "KERBEROS", "GSSAPI")), context, good)},
		{"SASL initiation of PAPER", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "PAPER", "FOLD")), context, good)},
		{"SASL without a state", join(hrpc(9, 0xDF), parts(request(-33, noClient), junk), context, good)},
		{"SASL negotiation twice", join(hrpc(9, 0xDF), sasl, sasl, context, good)},
		{"SASL response", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_RESPONSE)), context, good)},
		{"SASL challenge", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_CHALLENGE)), context, good)},
		{"SASL success", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_SUCCESS)), context, good)},
		{"SASL wrap", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_WRAP)), context, good)},
		{"SASL asked for, a call comes", join(hrpc(9, 0xDF), good)},
		{"SASL asked for, a ping comes", join(hrpc(9, 0xDF), parts(request(-4)), sasl, context, good)},
		{"SASL asked for, none comes", join(hrpc(9, 0xDF), context, good)},
		{"SASL unasked", join(hello, sasl, context, good)},
		{"SASL after the context", call(sasl, good)},
		{"auth byte 0x51", join(hrpc(9, 0x51), context, good)},
		{"auth byte 0x50", join(hrpc(9, 0x50), context, good)},
		{"auth byte 1", join(hrpc(9, 1), context, good)},
		{"length 0", call([]byte{0, 0, 0, 0}, good)},
		{"length -1", call([]byte{0xFF, 0xFF, 0xFF, 0xFF}, good)},
		{"length -2", call([]byte{0xFF, 0xFF, 0xFF, 0xFE}, good)},
		{"length 128 MiB and 1", call([]byte{0x08, 0, 0, 1}, good)},
		{"header undecodable", call(parts(junk), good)},
		{"header longer than its frame", call(parts([]byte{0x7F, 1, 2, 3}), good)},
		{"no call id", call(parts([]byte{22, 0x08, 2, 0x10, 0, 0x22, 16}, []byte(testClientID)), good)},
		{"no client id", call(parts([]byte{6, 0x08, 2, 0x10, 0, 0x18, 14}), good)},
		{"no rpc kind", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcKind = nil }), getInfo, absent), good)},
		{"no rpc op", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcOp = nil }), getInfo, absent), good)},
		{"continuation", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) {
			h.RpcOp = hdfspb.RpcRequestHeaderProto_RPC_CONTINUATION_PACKET.Enum()
		}), getInfo, absent), good)},
		{"close connection", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) {
			h.RpcOp = hdfspb.RpcRequestHeaderProto_RPC_CLOSE_CONNECTION.Enum()
		}), getInfo, absent), good)},
		{"rpc kind writable", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcKind = hdfspb.RpcKindProto_RPC_WRITABLE.Enum() }), getInfo, absent), good)},
		{"rpc kind builtin", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcKind = hdfspb.RpcKindProto_RPC_BUILTIN.Enum() }), getInfo, absent), good)},
		{"rpc kind 9", call(parts([]byte{26, 0x08, 9, 0x10, 0, 0x18, 14, 0x22, 16}, []byte(testClientID), []byte{0x28, 0}, getInfo, absent), good)},
		{"method header undecodable", call(parts(request(7), junk), good)},
		{"method header incomplete", call(parts(request(7), []byte{3, 0x0A, 1, 'x'}, absent), good)},
		{"method header missing", call(parts(request(7)), good)},
		{"body undecodable", call(parts(request(7), getInfo, junk), good)},
		{"body missing", call(parts(request(7), getInfo), good)},
		{"body incomplete", call(parts(request(7), getInfo, []byte{0}), good)},
		{"body torn", call(parts(request(7), getInfo, []byte{9, 0x0A, 7, '/'}), good)},
		{"bytes after the body", call(parts(request(7), getInfo, absent, []byte{1, 2, 3}), good)},
		{"unknown fields", call(parts(request(7), getInfo, []byte{12, 0x0A, 7}, []byte("/absent"), []byte{0xF8, 0x07, 1}), good)},
	}
}
