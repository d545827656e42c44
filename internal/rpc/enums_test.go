package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// TestUnknownEnumValues: to Hadoop a field whose value its enumeration does not have is not there.
func TestUnknownEnumValues(t *testing.T) {
	for name, c := range map[string]struct {
		request proto.Message
		text    string
		want    string
		missing string
	}{
		"known":                 {request: &hdfspb.SetSafeModeRequestProto{}, text: `action: 1`, want: `action: 1`},
		"required":              {request: &hdfspb.SetSafeModeRequestProto{}, text: `action: 99`, missing: "action"},
		"required below":        {request: &hdfspb.SetXAttrRequestProto{}, text: `src: "/f" flag: 3 xAttr { namespace: 99 name: "a" }`, missing: "xAttr.namespace"},
		"and others":            {request: &hdfspb.SetXAttrRequestProto{}, text: `src: "/f" flag: 3 xAttr { namespace: 99 }`, missing: "xAttr.namespace, xAttr.name"},
		"required in a list":    {request: &hdfspb.ModifyAclEntriesRequestProto{}, text: `src: "/d" aclSpec { type: 99 scope: 0 permissions: 4 } aclSpec { type: 0 scope: 88 permissions: 4 }`, missing: "aclSpec[0].type, aclSpec[1].scope"},
		"optional":              {request: &hdfspb.SetQuotaRequestProto{}, text: `path: "/d" namespaceQuota: 5 storagespaceQuota: 5 storageType: 99`, want: `path: "/d" namespaceQuota: 5 storagespaceQuota: 5`},
		"in a list":             {request: &hdfspb.ListOpenFilesRequestProto{}, text: `id: 0 types: 99 types: 1 types: 98 types: 2 path: "/"`, want: `id: 0 types: 1 types: 2 path: "/"`},
		"a kind that has none":  {request: &hdfspb.GetFileInfoRequestProto{}, text: `src: "/f"`, want: `src: "/f"`},
		"nothing in an absence": {request: &hdfspb.AddBlockRequestProto{}, text: `src: "/f" clientName: "c"`, want: `src: "/f" clientName: "c"`},
	} {
		t.Run(name, func(t *testing.T) {
			sent, want := proto.Clone(c.request), proto.Clone(c.request)
			require.NoError(t, prototext.UnmarshalOptions{AllowPartial: true}.Unmarshal([]byte(c.text), sent))
			body, err := proto.MarshalOptions{AllowPartial: true}.Marshal(sent)
			require.NoError(t, err)
			frame := append(protowire.AppendVarint(nil, uint64(len(body))), body...)
			err = decodeNext(frame, c.request, enumsOf(c.request.ProtoReflect().Descriptor()))
			if c.missing != "" {
				require.EqualError(t, err, "Message missing required fields: "+c.missing+" (InvalidProtocolBufferException)")
				return
			}
			require.NoError(t, err)
			require.NoError(t, prototext.Unmarshal([]byte(c.want), want))
			require.True(t, proto.Equal(want, c.request), "%v", c.request)
		})
	}
}

// TestEveryKindIsLookedOver: no message of ours makes the search endless.
func TestEveryKindIsLookedOver(t *testing.T) {
	var look func(ms protoreflect.MessageDescriptors)
	look = func(ms protoreflect.MessageDescriptors) {
		for i := range ms.Len() {
			enumsOf(ms.Get(i))
			look(ms.Get(i).Messages())
		}
	}
	look((&hdfspb.SetSafeModeRequestProto{}).ProtoReflect().Descriptor().ParentFile().Messages())
}
