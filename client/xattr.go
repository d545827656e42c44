package client

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// XAttrCreate and XAttrReplace say what SetXAttr may do; 0 allows both.
const (
	XAttrCreate  = dfs.XAttrCreate
	XAttrReplace = dfs.XAttrReplace
)

var xattrNamespaces = [...]dfs.XAttrNamespace{dfs.XAttrUser, dfs.XAttrTrusted, dfs.XAttrSecurity, dfs.XAttrSystem, dfs.XAttrRaw}

// xattr takes a name such as user.colour apart.
func xattr(op, path, name string) (*hdfspb.XAttrProto, error) {
	prefix, rest, found := strings.Cut(name, ".")
	for _, ns := range xattrNamespaces {
		if found && rest != "" && strings.EqualFold(prefix, ns.String()) {
			return &hdfspb.XAttrProto{Namespace: hdfspb.XAttrProto_XAttrNamespaceProto(ns).Enum(), Name: &rest}, nil
		}
	}
	return nil, &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("attribute name %q must begin with user., trusted., security., system. or raw.: %w", name, fs.ErrInvalid)}
}

func xattrName(x *hdfspb.XAttrProto) string {
	return dfs.XAttrNamespace(x.GetNamespace()).String() + "." + x.GetName()
}

// SetXAttr sets an extended attribute, named with its namespace: user.colour. flag 0 creates or replaces.
func (c *Client) SetXAttr(ctx context.Context, path, name string, value []byte, flag XAttrFlag) error {
	x, err := xattr("setxattr", path, name)
	if err != nil {
		return err
	}
	if flag == 0 {
		flag = XAttrCreate | XAttrReplace
	}
	x.Value = append([]byte{}, value...)
	return c.call(ctx, "setxattr", path, "setXAttr", &hdfspb.SetXAttrRequestProto{
		Src:   proto.String(c.abs(path)),
		XAttr: x,
		Flag:  proto.Uint32(uint32(flag)),
	}, &hdfspb.SetXAttrResponseProto{})
}

// GetXAttr gives the value of one extended attribute. One that is not there is an ErrXAttrNotFound, or with some Hadoops
// another RemoteError.
func (c *Client) GetXAttr(ctx context.Context, path, name string) ([]byte, error) {
	m, err := c.GetXAttrs(ctx, path, name)
	if err != nil {
		return nil, err
	}
	for _, v := range m {
		return v, nil
	}
	return nil, &fs.PathError{Op: "getxattr", Path: path, Err: dfs.Errorf(dfs.ClassXAttrNotFound, "%s", name)}
}

// GetXAttrs gives the named extended attributes, or without names all that the user may see.
func (c *Client) GetXAttrs(ctx context.Context, path string, names ...string) (map[string][]byte, error) {
	req := &hdfspb.GetXAttrsRequestProto{Src: proto.String(c.abs(path))}
	for _, name := range names {
		x, err := xattr("getxattr", path, name)
		if err != nil {
			return nil, err
		}
		req.XAttrs = append(req.XAttrs, x)
	}
	var resp hdfspb.GetXAttrsResponseProto
	if err := c.call(ctx, "getxattr", path, "getXAttrs", req, &resp); err != nil {
		return nil, err
	}
	m := make(map[string][]byte, len(resp.GetXAttrs()))
	for _, x := range resp.GetXAttrs() {
		m[xattrName(x)] = x.GetValue()
	}
	return m, nil
}

// ListXAttrs gives the names of the extended attributes that the user may see.
func (c *Client) ListXAttrs(ctx context.Context, path string) ([]string, error) {
	var resp hdfspb.ListXAttrsResponseProto
	if err := c.call(ctx, "listxattr", path, "listXAttrs", &hdfspb.ListXAttrsRequestProto{Src: proto.String(c.abs(path))}, &resp); err != nil {
		return nil, err
	}
	names := make([]string, len(resp.GetXAttrs()))
	for i, x := range resp.GetXAttrs() {
		names[i] = xattrName(x)
	}
	return names, nil
}

// RemoveXAttr removes an extended attribute, which must be there.
func (c *Client) RemoveXAttr(ctx context.Context, path, name string) error {
	x, err := xattr("removexattr", path, name)
	if err != nil {
		return err
	}
	return c.call(ctx, "removexattr", path, "removeXAttr", &hdfspb.RemoveXAttrRequestProto{
		Src:   proto.String(c.abs(path)),
		XAttr: x,
	}, &hdfspb.RemoveXAttrResponseProto{})
}
