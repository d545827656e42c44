package client

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// The values of a quota that stand for no number.
const (
	QuotaKeep  int64 = math.MaxInt64 // SetQuota leaves it as it is
	QuotaClear int64 = -1            // SetQuota removes it; reports have it where there is none
)

// SetQuota limits the names under a directory and the bytes of all replicas; only the superuser may.
func (c *Client) SetQuota(ctx context.Context, path string, names, space int64) error {
	return c.call(ctx, "setquota", path, "setQuota", &hdfspb.SetQuotaRequestProto{
		Path:              proto.String(c.abs(path)),
		NamespaceQuota:    proto.Uint64(uint64(names)),
		StoragespaceQuota: proto.Uint64(uint64(space)),
	}, &hdfspb.SetQuotaResponseProto{})
}

// SetTypeQuota limits the bytes of the replicas on one type of storage.
func (c *Client) SetTypeQuota(ctx context.Context, path string, t StorageType, space int64) error {
	return c.call(ctx, "setquota", path, "setQuota", &hdfspb.SetQuotaRequestProto{
		Path:              proto.String(c.abs(path)),
		NamespaceQuota:    proto.Uint64(uint64(QuotaKeep)),
		StoragespaceQuota: proto.Uint64(uint64(space)),
		StorageType:       hdfspb.StorageTypeProto(t).Enum(),
	}, &hdfspb.SetQuotaResponseProto{})
}

// QuotaUsage is what a directory may hold and what it does. Quotas are -1 where there are none.
type QuotaUsage struct {
	Names      int64
	Quota      int64
	Space      int64
	SpaceQuota int64
	Types      map[StorageType]TypeUsage
}

// TypeUsage is the part of a QuotaUsage on one type of storage.
type TypeUsage struct{ Quota, Space int64 }

// QuotaUsage tells what a directory may hold and what it does.
func (c *Client) QuotaUsage(ctx context.Context, path string) (QuotaUsage, error) {
	var resp hdfspb.GetQuotaUsageResponseProto
	if err := c.call(ctx, "quotausage", path, "getQuotaUsage", &hdfspb.GetQuotaUsageRequestProto{Path: proto.String(c.abs(path))}, &resp); err != nil {
		return QuotaUsage{}, err
	}
	u := resp.GetUsage()
	q := QuotaUsage{
		Names:      int64(u.GetFileAndDirectoryCount()),
		Quota:      int64(u.GetQuota()),
		Space:      int64(u.GetSpaceConsumed()),
		SpaceQuota: int64(u.GetSpaceQuota()),
		Types:      map[StorageType]TypeUsage{},
	}
	for _, t := range u.GetTypeQuotaInfos().GetTypeQuotaInfo() {
		q.Types[StorageType(t.GetType())] = TypeUsage{Quota: int64(t.GetQuota()), Space: int64(t.GetConsumed())}
	}
	return q, nil
}

// StoragePolicyInfo says on which types of storage the replicas of a file go.
type StoragePolicyInfo struct {
	ID   int
	Name string
	// of the replicas in turn, the last for all further ones; and what may take their place
	Types, CreationFallback, ReplicationFallback []StorageType
}

// StoragePolicies gives the policies that there are.
func (c *Client) StoragePolicies(ctx context.Context) ([]StoragePolicyInfo, error) {
	var resp hdfspb.GetStoragePoliciesResponseProto
	if err := c.call(ctx, "storagepolicies", "/", "getStoragePolicies", &hdfspb.GetStoragePoliciesRequestProto{}, &resp); err != nil {
		return nil, err
	}
	all := make([]StoragePolicyInfo, len(resp.GetPolicies()))
	for i, p := range resp.GetPolicies() {
		all[i] = newPolicy(p)
	}
	return all, nil
}

// StoragePolicy gives the policy in force for a path.
func (c *Client) StoragePolicy(ctx context.Context, path string) (StoragePolicyInfo, error) {
	var resp hdfspb.GetStoragePolicyResponseProto
	err := c.call(ctx, "storagepolicy", path, "getStoragePolicy", &hdfspb.GetStoragePolicyRequestProto{Path: proto.String(c.abs(path))}, &resp)
	return newPolicy(resp.GetStoragePolicy()), err
}

// SetStoragePolicy sets the policy of a path by name; "" removes it, so that the parent's is in force.
func (c *Client) SetStoragePolicy(ctx context.Context, path, name string) error {
	src := proto.String(c.abs(path))
	if name == "" {
		return c.call(ctx, "setstoragepolicy", path, "unsetStoragePolicy", &hdfspb.UnsetStoragePolicyRequestProto{Src: src}, &hdfspb.UnsetStoragePolicyResponseProto{})
	}
	return c.call(ctx, "setstoragepolicy", path, "setStoragePolicy", &hdfspb.SetStoragePolicyRequestProto{Src: src, PolicyName: &name}, &hdfspb.SetStoragePolicyResponseProto{})
}

func newPolicy(p *hdfspb.BlockStoragePolicyProto) StoragePolicyInfo {
	types := func(t *hdfspb.StorageTypesProto) []StorageType {
		var list []StorageType
		for _, s := range t.GetStorageTypes() {
			list = append(list, dfs.StorageType(s))
		}
		return list
	}
	return StoragePolicyInfo{
		ID:                  int(p.GetPolicyId()),
		Name:                p.GetName(),
		Types:               types(p.GetCreationPolicy()),
		CreationFallback:    types(p.GetCreationFallbackPolicy()),
		ReplicationFallback: types(p.GetReplicationFallbackPolicy()),
	}
}
