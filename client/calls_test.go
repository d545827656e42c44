package client

import (
	"context"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/memnet"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// canned is a method with one answer, which is given in text.
func canned[Req, Resp any, PReq interface {
	*Req
	proto.Message
}, PResp interface {
	*Resp
	proto.Message
}](name string) func(t *testing.T, answer string, got func(proto.Message)) rpc.Method {
	return func(t *testing.T, answer string, got func(proto.Message)) rpc.Method {
		return rpc.Handle[Req, Resp, PReq, PResp](name, func(_ context.Context, _ *rpc.Call, r *Req) (*Resp, error) {
			got(PReq(r))
			resp := new(Resp)
			require.NoError(t, prototext.Unmarshal([]byte(answer), PResp(resp)))
			return resp, nil
		})
	}
}

// TestCalls holds what goes over the wire, and what is made of the answer, against the words of the protocol.
func TestCalls(t *testing.T) {
	ctx := context.Background()
	tests := []struct {
		method  func(t *testing.T, answer string, got func(proto.Message)) rpc.Method
		answer  string
		call    func(c *Client) (any, error)
		request string
		want    any
	}{
		{
			canned[hdfspb.SetPermissionRequestProto, hdfspb.SetPermissionResponseProto]("setPermission"), "",
			func(c *Client) (any, error) { return nil, c.Chmod(ctx, "/f", 0o751|fs.ModeSticky) },
			`src: "/f" permission {perm: 1001}`, nil,
		}, {
			canned[hdfspb.SetOwnerRequestProto, hdfspb.SetOwnerResponseProto]("setOwner"), "",
			func(c *Client) (any, error) { return nil, c.Chown(ctx, "/f", "", "staff") },
			`src: "/f" groupname: "staff"`, nil,
		}, {
			canned[hdfspb.SetTimesRequestProto, hdfspb.SetTimesResponseProto]("setTimes"), "",
			func(c *Client) (any, error) {
				return nil, c.Chtimes(ctx, "/f", time.Time{}, time.UnixMilli(1234))
			},
			`src: "/f" mtime: 1234 atime: 18446744073709551615`, nil,
		}, {
			canned[hdfspb.SetReplicationRequestProto, hdfspb.SetReplicationResponseProto]("setReplication"), "result: true",
			func(c *Client) (any, error) { return nil, c.SetReplication(ctx, "/f", 5) },
			`src: "/f" replication: 5`, nil,
		}, {
			canned[hdfspb.TruncateRequestProto, hdfspb.TruncateResponseProto]("truncate"), "result: false",
			func(c *Client) (any, error) { return c.Truncate(ctx, "/f", 7) },
			`src: "/f" newLength: 7 clientName: "NAME"`, false,
		}, {
			canned[hdfspb.ConcatRequestProto, hdfspb.ConcatResponseProto]("concat"), "",
			func(c *Client) (any, error) { return nil, c.Concat(ctx, "/f", "/g", "/h") },
			`trg: "/f" srcs: "/g" srcs: "/h"`, nil,
		}, {
			canned[hdfspb.SetXAttrRequestProto, hdfspb.SetXAttrResponseProto]("setXAttr"), "",
			func(c *Client) (any, error) { return nil, c.SetXAttr(ctx, "/f", "trusted.a.b", []byte("v"), 0) },
			`src: "/f" xAttr {namespace: TRUSTED name: "a.b" value: "v"} flag: 3`, nil,
		}, {
			canned[hdfspb.GetXAttrsRequestProto, hdfspb.GetXAttrsResponseProto]("getXAttrs"),
			`xAttrs {namespace: USER name: "a" value: "v"}`,
			func(c *Client) (any, error) { return c.GetXAttr(ctx, "/f", "USER.a") },
			`src: "/f" xAttrs {namespace: USER name: "a"}`, []byte("v"),
		}, {
			canned[hdfspb.ListXAttrsRequestProto, hdfspb.ListXAttrsResponseProto]("listXAttrs"),
			`xAttrs {namespace: USER name: "a"} xAttrs {namespace: RAW name: "b"}`,
			func(c *Client) (any, error) { return c.ListXAttrs(ctx, "/f") },
			`src: "/f"`, []string{"user.a", "raw.b"},
		}, {
			canned[hdfspb.CreateSnapshotRequestProto, hdfspb.CreateSnapshotResponseProto]("createSnapshot"),
			`snapshotPath: "/d/.snapshot/s"`,
			func(c *Client) (any, error) { return c.CreateSnapshot(ctx, "/d", "") },
			`snapshotRoot: "/d"`, "/d/.snapshot/s",
		}, {
			canned[hdfspb.GetSnapshotDiffReportRequestProto, hdfspb.GetSnapshotDiffReportResponseProto]("getSnapshotDiffReport"),
			`diffReport {snapshotRoot: "/d" fromSnapshot: "a" toSnapshot: "" diffReportEntries {fullpath: "" modificationLabel: "M"}
			 diffReportEntries {fullpath: "x" modificationLabel: "R" targetPath: "y"}}`,
			func(c *Client) (any, error) { return c.SnapshotDiff(ctx, "/d", "a", "") },
			`snapshotRoot: "/d" fromSnapshot: "a" toSnapshot: ""`,
			[]DiffEntry{{DiffModified, ".", ""}, {DiffRenamed, "x", "y"}},
		}, {
			canned[hdfspb.ModifyAclEntriesRequestProto, hdfspb.ModifyAclEntriesResponseProto]("modifyAclEntries"), "",
			func(c *Client) (any, error) {
				return nil, c.ModifyACL(ctx, "/d", ACLEntry{Type: ACLUser, Name: "bob", Default: true, Perm: AccessRead | AccessExecute})
			},
			`src: "/d" aclSpec {type: USER scope: DEFAULT permissions: READ_EXECUTE name: "bob"}`, nil,
		}, {
			canned[hdfspb.GetAclStatusRequestProto, hdfspb.GetAclStatusResponseProto]("getAclStatus"),
			`result {owner: "a" group: "g" sticky: true entries {type: GROUP scope: ACCESS permissions: WRITE}}`,
			func(c *Client) (any, error) { return c.ACL(ctx, "/d") },
			`src: "/d"`, ACL{Owner: "a", Group: "g", Sticky: true, Entries: []ACLEntry{{Type: ACLGroup, Perm: AccessWrite}}},
		}, {
			canned[hdfspb.SetQuotaRequestProto, hdfspb.SetQuotaResponseProto]("setQuota"), "",
			func(c *Client) (any, error) { return nil, c.SetQuota(ctx, "/d", QuotaClear, QuotaKeep) },
			`path: "/d" namespaceQuota: 18446744073709551615 storagespaceQuota: 9223372036854775807`, nil,
		}, {
			canned[hdfspb.GetContentSummaryRequestProto, hdfspb.GetContentSummaryResponseProto]("getContentSummary"),
			`summary {length: 1 fileCount: 2 directoryCount: 3 quota: 18446744073709551615 spaceConsumed: 4 spaceQuota: 18446744073709551615}`,
			func(c *Client) (any, error) { return c.ContentSummary(ctx, "/d") },
			`path: "/d"`, ContentSummary{Length: 1, Files: 2, Directories: 3, Quota: -1, SpaceConsumed: 4, SpaceQuota: -1},
		}, {
			canned[hdfspb.SetSafeModeRequestProto, hdfspb.SetSafeModeResponseProto]("setSafeMode"), "result: true",
			func(c *Client) (any, error) { return c.SetSafeMode(ctx, true) },
			`action: SAFEMODE_ENTER checked: true`, true,
		}, {
			canned[hdfspb.RecoverLeaseRequestProto, hdfspb.RecoverLeaseResponseProto]("recoverLease"), "result: false",
			func(c *Client) (any, error) { return c.RecoverLease(ctx, "/f") },
			`src: "/f" clientName: "NAME"`, false,
		}, {
			canned[hdfspb.CheckAccessRequestProto, hdfspb.CheckAccessResponseProto]("checkAccess"), "",
			func(c *Client) (any, error) { return nil, c.Access(ctx, "/f", AccessRead|AccessWrite) },
			`path: "/f" mode: READ_WRITE`, nil,
		}, {
			canned[hdfspb.Rename2RequestProto, hdfspb.Rename2ResponseProto]("rename2"), "",
			func(c *Client) (any, error) { return nil, c.RenameOverwrite(ctx, "/f", "g/") },
			`src: "/f" dst: "/user/alice/g" overwriteDest: true moveToTrash: false`, nil,
		},
	}
	for _, tt := range tests {
		var got proto.Message
		method := tt.method(t, tt.answer, func(m proto.Message) { got = m })
		t.Run(method.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := memnet.New(memnet.Options{})
				l, err := n.Host("nn").Listen("tcp", ":0")
				require.NoError(t, err)
				s, err := rpc.NewServer(rpc.ServerOptions{}, rpc.Protocol{Name: clientProtocol, Version: 1, Methods: []rpc.Method{method}})
				require.NoError(t, err)
				s.Serve(l)
				defer s.Close()
				c, err := New(Options{Addrs: []string{l.Addr().String()}, User: "alice", Dial: n.Host("client").Dial})
				require.NoError(t, err)
				defer c.Close()
				c.name = "NAME"
				answer, err := tt.call(c)
				require.NoError(t, err)
				require.Equal(t, tt.want, answer)
				want := got.ProtoReflect().New().Interface()
				require.NoError(t, prototext.Unmarshal([]byte(tt.request), want))
				require.True(t, proto.Equal(want, got), "expected %v, got %v", want, got)
			})
		})
	}
}

func TestXAttrNames(t *testing.T) {
	for _, name := range []string{"", "user", "user.", "colour", "other.a"} {
		_, err := xattr("setxattr", "/f", name)
		require.ErrorIs(t, err, fs.ErrInvalid, name)
	}
}

func TestRootStays(t *testing.T) {
	c, err := New(Options{Addrs: []string{"h:1"}})
	require.NoError(t, err)
	defer c.Close()
	require.EqualError(t, c.RemoveAll(t.Context(), "/x/.."), "removeall /x/..: the root cannot be removed: invalid argument")
}
