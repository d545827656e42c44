package client

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// ACLType says who an ACL entry is for.
type ACLType int

// The types of ACL entries.
const (
	ACLUser ACLType = iota
	ACLGroup
	ACLMask
	ACLOther
)

// ACLEntry is one line of an access control list.
type ACLEntry struct {
	Type    ACLType
	Name    string // "" for the owner and the owning group
	Default bool   // inherited by what is created in the directory
	Perm    Access // bits of AccessRead, AccessWrite, AccessExecute
}

// ACL is the access control list of a path, beside its permission bits.
type ACL struct {
	Owner, Group string
	Sticky       bool
	Entries      []ACLEntry
}

// ACL gives the access control list of a path. Without extended entries it is empty.
func (c *Client) ACL(ctx context.Context, path string) (ACL, error) {
	var resp hdfspb.GetAclStatusResponseProto
	if err := c.call(ctx, "getacl", path, "getAclStatus", &hdfspb.GetAclStatusRequestProto{Src: proto.String(c.abs(path))}, &resp); err != nil {
		return ACL{}, err
	}
	s := resp.GetResult()
	a := ACL{Owner: s.GetOwner(), Group: s.GetGroup(), Sticky: s.GetSticky()}
	for _, e := range s.GetEntries() {
		a.Entries = append(a.Entries, ACLEntry{
			Type:    ACLType(e.GetType()),
			Name:    e.GetName(),
			Default: e.GetScope() == hdfspb.AclEntryProto_DEFAULT,
			Perm:    Access(e.GetPermissions()),
		})
	}
	return a, nil
}

// SetACL replaces the access control list; it must hold entries for owner, group and other.
func (c *Client) SetACL(ctx context.Context, path string, entries ...ACLEntry) error {
	return c.call(ctx, "setacl", path, "setAcl", &hdfspb.SetAclRequestProto{Src: proto.String(c.abs(path)), AclSpec: aclSpec(entries, true)}, &hdfspb.SetAclResponseProto{})
}

// ModifyACL adds or changes entries.
func (c *Client) ModifyACL(ctx context.Context, path string, entries ...ACLEntry) error {
	return c.call(ctx, "modifyacl", path, "modifyAclEntries", &hdfspb.ModifyAclEntriesRequestProto{Src: proto.String(c.abs(path)), AclSpec: aclSpec(entries, true)}, &hdfspb.ModifyAclEntriesResponseProto{})
}

// RemoveACLEntries removes entries, whose permissions do not matter.
func (c *Client) RemoveACLEntries(ctx context.Context, path string, entries ...ACLEntry) error {
	return c.call(ctx, "removeaclentries", path, "removeAclEntries", &hdfspb.RemoveAclEntriesRequestProto{Src: proto.String(c.abs(path)), AclSpec: aclSpec(entries, false)}, &hdfspb.RemoveAclEntriesResponseProto{})
}

// RemoveDefaultACL removes what is inherited.
func (c *Client) RemoveDefaultACL(ctx context.Context, path string) error {
	return c.call(ctx, "removedefaultacl", path, "removeDefaultAcl", &hdfspb.RemoveDefaultAclRequestProto{Src: proto.String(c.abs(path))}, &hdfspb.RemoveDefaultAclResponseProto{})
}

// RemoveACL leaves the permission bits only.
func (c *Client) RemoveACL(ctx context.Context, path string) error {
	return c.call(ctx, "removeacl", path, "removeAcl", &hdfspb.RemoveAclRequestProto{Src: proto.String(c.abs(path))}, &hdfspb.RemoveAclResponseProto{})
}

func aclSpec(entries []ACLEntry, perms bool) []*hdfspb.AclEntryProto {
	spec := make([]*hdfspb.AclEntryProto, len(entries))
	for i, e := range entries {
		p := &hdfspb.AclEntryProto{
			Type:        hdfspb.AclEntryProto_AclEntryTypeProto(e.Type).Enum(),
			Scope:       hdfspb.AclEntryProto_ACCESS.Enum(),
			Permissions: hdfspb.AclEntryProto_NONE.Enum(),
		}
		if e.Default {
			p.Scope = hdfspb.AclEntryProto_DEFAULT.Enum()
		}
		if perms {
			p.Permissions = hdfspb.AclEntryProto_FsActionProto(e.Perm).Enum()
		}
		if e.Name != "" {
			p.Name = &entries[i].Name
		}
		spec[i] = p
	}
	return spec
}
