package namenode

import (
	"context"
	"math"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

func (n *NameNode) setPermission(ctx context.Context, c *rpc.Call, req *hdfspb.SetPermissionRequestProto) (*hdfspb.SetPermissionResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot set permission for ", req.GetSrc(), &namespace.SetPermission{
		Path: req.GetSrc(), Perm: permFromWire(req.GetPermission()),
	})
	return &hdfspb.SetPermissionResponseProto{}, err
}

// setOwner leaves alone what is absent or empty.
func (n *NameNode) setOwner(ctx context.Context, c *rpc.Call, req *hdfspb.SetOwnerRequestProto) (*hdfspb.SetOwnerResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot set owner for ", req.GetSrc(), &namespace.SetOwner{
		Path: req.GetSrc(), Owner: req.GetUsername(), Group: req.GetGroupname(),
	})
	return &hdfspb.SetOwnerResponseProto{}, err
}

// setTimes takes milliseconds; -1 leaves a time alone.
func (n *NameNode) setTimes(ctx context.Context, c *rpc.Call, req *hdfspb.SetTimesRequestProto) (*hdfspb.SetTimesResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot set times ", req.GetSrc(), &namespace.SetTimes{
		Path: req.GetSrc(), MTime: int64(req.GetMtime()), ATime: int64(req.GetAtime()),
	})
	return &hdfspb.SetTimesResponseProto{}, err
}

// setReplication answers false for a directory.
func (n *NameNode) setReplication(ctx context.Context, c *rpc.Call, req *hdfspb.SetReplicationRequestProto) (*hdfspb.SetReplicationResponseProto, error) {
	result, err := n.change(ctx, c, "Cannot set replication for ", req.GetSrc(), &namespace.SetReplication{
		Path: req.GetSrc(), Replication: replicationFromWire(req.GetReplication()),
	})
	if err != nil {
		return nil, err
	}
	return &hdfspb.SetReplicationResponseProto{Result: &result.Bool}, nil
}

// replicationFromWire keeps the low 16 bits, as Java's cast to short does.
func replicationFromWire(r uint32) int16 { return int16(r & math.MaxUint16) }

func (n *NameNode) checkAccess(_ context.Context, c *rpc.Call, req *hdfspb.CheckAccessRequestProto) (*hdfspb.CheckAccessResponseProto, error) {
	err := n.ns.CheckAccess(n.caller(c), req.GetPath(), dfs.Access(req.GetMode()))
	return &hdfspb.CheckAccessResponseProto{}, err
}

func (n *NameNode) getAclStatus(_ context.Context, c *rpc.Call, req *hdfspb.GetAclStatusRequestProto) (*hdfspb.GetAclStatusResponseProto, error) {
	s, err := n.ns.ACLStatus(n.caller(c), req.GetSrc())
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetAclStatusResponseProto{Result: &hdfspb.AclStatusProto{
		Owner: proto.String(s.Owner), Group: proto.String(s.Group), Sticky: proto.Bool(s.Sticky), Permission: permission(s.Perm),
	}}, nil
}

func xattrFromWire(x *hdfspb.XAttrProto) namespace.XAttr {
	return namespace.XAttr{Namespace: dfs.XAttrNamespace(x.GetNamespace()), Name: x.GetName(), Value: x.GetValue()}
}

func xattrProtos(list []namespace.XAttr) []*hdfspb.XAttrProto {
	protos := make([]*hdfspb.XAttrProto, len(list))
	for i, x := range list {
		protos[i] = &hdfspb.XAttrProto{
			Namespace: hdfspb.XAttrProto_XAttrNamespaceProto(x.Namespace).Enum(), Name: proto.String(x.Name), Value: x.Value,
		}
	}
	return protos
}

func (n *NameNode) setXAttr(ctx context.Context, c *rpc.Call, req *hdfspb.SetXAttrRequestProto) (*hdfspb.SetXAttrResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot set XAttr on ", req.GetSrc(), &namespace.SetXAttr{
		Path: req.GetSrc(), XAttr: xattrFromWire(req.GetXAttr()), Flags: dfs.XAttrFlag(req.GetFlag()),
	})
	return &hdfspb.SetXAttrResponseProto{}, err
}

func (n *NameNode) removeXAttr(ctx context.Context, c *rpc.Call, req *hdfspb.RemoveXAttrRequestProto) (*hdfspb.RemoveXAttrResponseProto, error) {
	x := xattrFromWire(req.GetXAttr())
	_, err := n.change(ctx, c, "Cannot remove XAttr entry on ", req.GetSrc(), &namespace.RemoveXAttr{
		Path: req.GetSrc(), Namespace: x.Namespace, Name: x.Name,
	})
	return &hdfspb.RemoveXAttrResponseProto{}, err
}

// getXAttrs gives the attributes that are named, all of them present, or every one the caller may see.
func (n *NameNode) getXAttrs(_ context.Context, c *rpc.Call, req *hdfspb.GetXAttrsRequestProto) (*hdfspb.GetXAttrsResponseProto, error) {
	names := make([]namespace.XAttr, len(req.GetXAttrs()))
	for i, x := range req.GetXAttrs() {
		names[i] = xattrFromWire(x)
	}
	list, err := n.ns.XAttrs(n.caller(c), req.GetSrc(), names)
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetXAttrsResponseProto{XAttrs: xattrProtos(list)}, nil
}

func (n *NameNode) listXAttrs(_ context.Context, c *rpc.Call, req *hdfspb.ListXAttrsRequestProto) (*hdfspb.ListXAttrsResponseProto, error) {
	list, err := n.ns.ListXAttrs(n.caller(c), req.GetSrc())
	if err != nil {
		return nil, err
	}
	return &hdfspb.ListXAttrsResponseProto{XAttrs: xattrProtos(list)}, nil
}
