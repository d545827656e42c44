package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// The headers are read and written by hand: they are small, and every call carries two of them.

const (
	ipcVersion = 9
	authSimple = 0x00
	authSASL   = 0xDF
	kindProto  = int32(hdfspb.RpcKindProto_RPC_PROTOCOL_BUFFER)
	opFinal    = int32(hdfspb.RpcRequestHeaderProto_RPC_FINAL_PACKET)
	idContext  = -3
	idPing     = -4
	idSASL     = -33
	noRetry    = -1 // a header without a retry count
)

// fields walks the fields of one message; f is given varints in v and byte strings in b.
func fields(msg []byte, f func(num protowire.Number, typ protowire.Type, v uint64, b []byte)) error {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return errTruncated
		}
		msg = msg[n:]
		var v uint64
		var b []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(msg)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(msg)
		default:
			n = protowire.ConsumeFieldValue(num, typ, msg)
		}
		if n < 0 {
			return errTruncated
		}
		msg = msg[n:]
		f(num, typ, v, b)
	}
	return nil
}

// cutDelimited splits off the first message of a frame.
func cutDelimited(frame []byte) (msg, rest []byte, err error) {
	n, k := binary.Uvarint(frame)
	if k <= 0 || n > uint64(len(frame)-k) {
		return nil, nil, errTruncated
	}
	return frame[k : k+int(n)], frame[k+int(n):], nil
}

// requestHeader is RpcRequestHeaderProto. Its slices point into the frame.
type requestHeader struct {
	kind, op      int32 // -1: absent
	callID        int32
	retry         int32
	clientID      []byte
	callerContext []byte
}

func (h *requestHeader) parse(msg []byte) error {
	*h = requestHeader{kind: -1, op: -1, retry: noRetry}
	var hasID, hasClient bool
	var nested error
	err := fields(msg, func(num protowire.Number, typ protowire.Type, v uint64, b []byte) {
		switch {
		case num == 1 && typ == protowire.VarintType:
			h.kind = enum(v, int32(hdfspb.RpcKindProto_RPC_PROTOCOL_BUFFER), h.kind)
		case num == 2 && typ == protowire.VarintType:
			h.op = enum(v, int32(hdfspb.RpcRequestHeaderProto_RPC_CLOSE_CONNECTION), h.op)
		case num == 3 && typ == protowire.VarintType:
			h.callID, hasID = int32(protowire.DecodeZigZag(v&0xFFFFFFFF)), true
		case num == 4 && typ == protowire.BytesType:
			h.clientID, hasClient = b, true
		case num == 5 && typ == protowire.VarintType:
			h.retry = int32(protowire.DecodeZigZag(v & 0xFFFFFFFF))
		case num == 7 && typ == protowire.BytesType:
			nested = fields(b, func(num protowire.Number, typ protowire.Type, _ uint64, b []byte) {
				if num == 1 && typ == protowire.BytesType {
					h.callerContext = b
				}
			})
		}
	})
	if err == nil {
		err = nested
	}
	if err == nil && (!hasID || !hasClient) {
		err = errMissing(names(!hasID, "callId", !hasClient, "clientId"))
	}
	return err
}

// names picks the names that stand behind a true.
func names(pairs ...any) (picked []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].(bool) {
			picked = append(picked, pairs[i+1].(string))
		}
	}
	return picked
}

// enum gives an enum's value; one that is unknown, above highest, counts as not sent.
func enum(v uint64, highest, old int32) int32 {
	if n := int32(v); n >= 0 && n <= highest {
		return n
	}
	return old
}

// methodHeader is RequestHeaderProto. Its slices point into the frame.
type methodHeader struct {
	method, protocol []byte
	version          uint64
}

func (h *methodHeader) parse(msg []byte) error {
	*h = methodHeader{}
	var hasVersion bool
	err := fields(msg, func(num protowire.Number, typ protowire.Type, v uint64, b []byte) {
		switch {
		case num == 1 && typ == protowire.BytesType:
			h.method = b
		case num == 2 && typ == protowire.BytesType:
			h.protocol = b
		case num == 3 && typ == protowire.VarintType:
			h.version, hasVersion = v, true
		}
	})
	if err == nil && (h.method == nil || h.protocol == nil || !hasVersion) {
		err = errMissing(names(h.method == nil, "methodName", h.protocol == nil, "declaringClassProtocolName", !hasVersion, "clientProtocolVersion"))
	}
	return err
}

// answerHeader is RpcResponseHeaderProto.
type answerHeader struct {
	callID   int32
	status   hdfspb.RpcResponseHeaderProto_RpcStatusProto
	class    string
	message  string
	detail   hdfspb.RpcResponseHeaderProto_RpcErrorCodeProto
	clientID []byte
	retry    int32
}

const (
	success = hdfspb.RpcResponseHeaderProto_SUCCESS
	failure = hdfspb.RpcResponseHeaderProto_ERROR
	fatal   = hdfspb.RpcResponseHeaderProto_FATAL
)

// append adds the header without its length.
func (h *answerHeader) append(b []byte) []byte {
	b = appendVarint(b, 1, uint64(uint32(h.callID)))
	b = appendVarint(b, 2, uint64(h.status))
	b = appendVarint(b, 3, ipcVersion)
	if h.status != success {
		b = appendBytes(b, 4, h.class)
		b = appendBytes(b, 5, h.message)
		b = appendVarint(b, 6, uint64(h.detail))
	}
	b = appendBytes(b, 7, h.clientID)
	return appendVarint(b, 8, protowire.EncodeZigZag(int64(h.retry)))
}

func (h *answerHeader) parse(msg []byte) error {
	*h = answerHeader{retry: noRetry}
	var hasID, hasStatus bool
	err := fields(msg, func(num protowire.Number, typ protowire.Type, v uint64, b []byte) {
		switch {
		case num == 1 && typ == protowire.VarintType:
			h.callID, hasID = int32(uint32(v)), true
		case num == 2 && typ == protowire.VarintType:
			if n := enum(v, int32(fatal), -1); n >= 0 {
				h.status, hasStatus = hdfspb.RpcResponseHeaderProto_RpcStatusProto(n), true
			}
		case num == 4 && typ == protowire.BytesType:
			h.class = string(b)
		case num == 5 && typ == protowire.BytesType:
			h.message = string(b)
		case num == 7 && typ == protowire.BytesType:
			h.clientID = b
		case num == 8 && typ == protowire.VarintType:
			h.retry = int32(protowire.DecodeZigZag(v & 0xFFFFFFFF))
		}
	})
	if err == nil && (!hasID || !hasStatus) {
		err = errors.New("the header lacks a call id or a status")
	}
	return err
}

// appendAnswer adds a frame with the header, and with m where the header says success (nil: a void answer).
func appendAnswer(b []byte, h *answerHeader, m proto.Message) ([]byte, error) {
	start := len(b)
	b = beginFrame(b)
	b = appendDelimited(b, h.append)
	if h.status == success {
		var err error
		if b, err = appendMessage(b, m); err != nil {
			return b[:start], err
		}
	}
	if n := len(b) - start - 4; n > DefaultMaxFrame {
		return b[:start], fmt.Errorf("an answer of %d bytes is longer than the %d that a client accepts", n, DefaultMaxFrame)
	}
	return endFrame(b, start), nil
}

// appendDelimited adds what f appends, led by its length.
func appendDelimited(b []byte, f func([]byte) []byte) []byte {
	start := len(b)
	b = f(append(b, 0)) // most headers are shorter than 128 bytes: one byte of length
	n := len(b) - start - 1
	if extra := protowire.SizeVarint(uint64(n)) - 1; extra > 0 {
		b = append(b, make([]byte, extra)...)
		copy(b[start+1+extra:], b[start+1:])
	}
	protowire.AppendVarint(b[:start], uint64(n))
	return b
}

// appendMessage adds m, led by its length.
func appendMessage(b []byte, m proto.Message) ([]byte, error) {
	if m == nil {
		return append(b, 0), nil
	}
	var o proto.MarshalOptions
	b = protowire.AppendVarint(b, uint64(o.Size(m)))
	o.UseCachedSize = true
	return o.MarshalAppend(b, m)
}

func appendVarint(b []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func appendBytes[T string | []byte](b []byte, num protowire.Number, v T) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.BytesType), uint64(len(v)))
	return append(b, v...)
}
