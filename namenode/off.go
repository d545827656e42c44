package namenode

import (
	"context"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// offMethods change quotas and ACLs, two features that are off. Whoever may not call them, calls them in safe mode or on
// a snapshot hears that first, as from an HDFS that has them.
func (n *NameNode) offMethods() []rpc.Method {
	noQuotas := dfs.Errorf(dfs.ClassUnsupportedAction, "Quotas are not supported by this file system.")
	noACLs := dfs.Errorf(dfs.ClassACL, "The ACL operation has been rejected.  Support for ACLs has been disabled by setting dfs.namenode.acls.enabled to false.")
	return []rpc.Method{
		off[hdfspb.SetQuotaRequestProto, hdfspb.SetQuotaResponseProto](n, "setQuota", "Cannot set quota on ", true, noQuotas),
		off[hdfspb.ModifyAclEntriesRequestProto, hdfspb.ModifyAclEntriesResponseProto](n, "modifyAclEntries", "Cannot modify ACL entries on ", false, noACLs),
		off[hdfspb.RemoveAclEntriesRequestProto, hdfspb.RemoveAclEntriesResponseProto](n, "removeAclEntries", "Cannot remove ACL entries on ", false, noACLs),
		off[hdfspb.RemoveDefaultAclRequestProto, hdfspb.RemoveDefaultAclResponseProto](n, "removeDefaultAcl", "Cannot remove default ACL entries on ", false, noACLs),
		off[hdfspb.RemoveAclRequestProto, hdfspb.RemoveAclResponseProto](n, "removeAcl", "Cannot remove ACL on ", false, noACLs),
		off[hdfspb.SetAclRequestProto, hdfspb.SetAclResponseProto](n, "setAcl", "Cannot set ACL on ", false, noACLs),
	}
}

// off makes a method that ends in a refusal. What safe mode says begins with what, and the path.
func off[Req, Resp any, PReq interface {
	*Req
	proto.Message
}, PResp interface {
	*Resp
	proto.Message
}](n *NameNode, name, what string, superuser bool, refusal error) rpc.Method {
	m := rpc.Handle[Req, Resp, PReq, PResp](name, func(_ context.Context, c *rpc.Call, req *Req) (*Resp, error) {
		path := targetOf(req)
		if superuser {
			if err := n.superuserOnly(c, name); err != nil {
				return nil, err
			}
		}
		if n.blocks.InSafeMode() {
			return nil, n.safeModeError(what + path)
		}
		if inSnapshot(path) {
			return nil, dfs.Errorf(dfs.ClassSnapshotAccess, "Modification on a read-only snapshot is disallowed")
		}
		return nil, refusal
	}).Quick()
	m.Refusal = refusal
	return m
}

// targetOf is the path that a request is about.
func targetOf(req any) string {
	switch req := req.(type) {
	case interface{ GetSrc() string }:
		return req.GetSrc()
	case interface{ GetPath() string }:
		return req.GetPath()
	}
	return ""
}

// inSnapshot reports whether a path leads through .snapshot.
func inSnapshot(path string) bool { return strings.Contains(path+"/", "/.snapshot/") }
