package rpc

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// classInvalidMessage is what Hadoop throws at messages that it cannot decode.
const classInvalidMessage dfs.Class = "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException"

// errTruncated is what it says about most of them.
var errTruncated = &dfs.RemoteError{Class: classInvalidMessage, Message: "While parsing a protocol message, the input ended unexpectedly in the middle of a field.  This could mean " +
	"either that the input has been truncated or that an embedded message misreported its own length."}

func errMissing(fields []string) error {
	return dfs.Errorf(classInvalidMessage, "Message missing required fields: %s", strings.Join(fields, ", "))
}

// decodeNext decodes the first message of a frame into m, whose enumerations are enums. Its errors are Hadoop's.
func decodeNext(frame []byte, m proto.Message, enums *closedEnums) error {
	msg, _, err := cutDelimited(frame)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(msg, m); err != nil {
		return explain(msg, m, enums)
	}
	if enums.close(m.ProtoReflect()) {
		return errMissing(missing(nil, "", m.ProtoReflect()))
	}
	return nil
}

// explain says, in Hadoop's words, why msg could not be decoded into m.
func explain(msg []byte, m proto.Message, enums *closedEnums) error {
	if (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(msg, m) != nil {
		return errTruncated
	}
	enums.close(m.ProtoReflect())
	return errMissing(missing(nil, "", m.ProtoReflect()))
}

// missing lists the required fields that m lacks, by their paths.
func missing(list []string, prefix string, m protoreflect.Message) []string {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Cardinality() == protoreflect.Required && !m.Has(f) {
			list = append(list, prefix+string(f.Name()))
		}
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.Message() == nil || !m.Has(f):
		case f.IsList():
			for j := range m.Get(f).List().Len() {
				list = missing(list, fmt.Sprintf("%s%s[%d].", prefix, f.Name(), j), m.Get(f).List().Get(j).Message())
			}
		default:
			list = missing(list, prefix+string(f.Name())+".", m.Get(f).Message())
		}
	}
	return list
}
