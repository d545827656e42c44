package namenode

import (
	"context"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// defaultPolicy is HOT: all replicas on DISK.
const defaultPolicy = 7

// storagePolicies are HDFS's eight, by id.
func storagePolicies() []*hdfspb.BlockStoragePolicyProto {
	const (
		disk     = hdfspb.StorageTypeProto_DISK
		ssd      = hdfspb.StorageTypeProto_SSD
		archive  = hdfspb.StorageTypeProto_ARCHIVE
		ram      = hdfspb.StorageTypeProto_RAM_DISK
		provided = hdfspb.StorageTypeProto_PROVIDED
		nvdimm   = hdfspb.StorageTypeProto_NVDIMM
	)
	types := func(t ...hdfspb.StorageTypeProto) *hdfspb.StorageTypesProto {
		if len(t) == 0 {
			return nil
		}
		return &hdfspb.StorageTypesProto{StorageTypes: t}
	}
	policy := func(id uint32, name string, create, createFallback, replicationFallback *hdfspb.StorageTypesProto) *hdfspb.BlockStoragePolicyProto {
		return &hdfspb.BlockStoragePolicyProto{
			PolicyId: proto.Uint32(id), Name: proto.String(name), CreationPolicy: create,
			CreationFallbackPolicy: createFallback, ReplicationFallbackPolicy: replicationFallback,
		}
	}
	return []*hdfspb.BlockStoragePolicyProto{
		policy(1, "PROVIDED", types(provided, disk), types(provided, disk), types(provided, disk)),
		policy(2, "COLD", types(archive), types(), types()),
		policy(5, "WARM", types(disk, archive), types(disk, archive), types(disk, archive)),
		policy(defaultPolicy, "HOT", types(disk), types(), types(archive)),
		policy(10, "ONE_SSD", types(ssd, disk), types(ssd, disk), types(ssd, disk)),
		policy(12, "ALL_SSD", types(ssd), types(disk), types(disk)),
		policy(14, "ALL_NVDIMM", types(nvdimm), types(disk), types(disk)),
		policy(15, "LAZY_PERSIST", types(ram, disk), types(disk), types(disk)),
	}
}

// policyByName finds a policy, in any case.
func policyByName(name string) (uint8, error) {
	for _, p := range storagePolicies() {
		if strings.EqualFold(p.GetName(), name) {
			return uint8(p.GetPolicyId()), nil
		}
	}
	return 0, dfs.Errorf(dfs.ClassHadoopIllegal, "Cannot find a block policy with the name %s", name)
}

func (n *NameNode) setStoragePolicy(ctx context.Context, c *rpc.Call, req *hdfspb.SetStoragePolicyRequestProto) (*hdfspb.SetStoragePolicyResponseProto, error) {
	policy, err := policyByName(req.GetPolicyName())
	if err != nil {
		return nil, err
	}
	_, err = n.change(ctx, c, "Cannot set storage policy for ", req.GetSrc(), &namespace.SetStoragePolicy{Path: req.GetSrc(), Policy: policy})
	return &hdfspb.SetStoragePolicyResponseProto{}, err
}

func (n *NameNode) unsetStoragePolicy(ctx context.Context, c *rpc.Call, req *hdfspb.UnsetStoragePolicyRequestProto) (*hdfspb.UnsetStoragePolicyResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot unset storage policy for ", req.GetSrc(), &namespace.SetStoragePolicy{Path: req.GetSrc()})
	return &hdfspb.UnsetStoragePolicyResponseProto{}, err
}

// getStoragePolicy gives the policy in force: the path's own, that of the nearest directory above, or HOT.
func (n *NameNode) getStoragePolicy(_ context.Context, c *rpc.Call, req *hdfspb.GetStoragePolicyRequestProto) (*hdfspb.GetStoragePolicyResponseProto, error) {
	id, err := n.ns.StoragePolicy(n.caller(c), req.GetPath())
	if err != nil {
		return nil, err
	}
	if id == 0 {
		id = defaultPolicy
	}
	for _, p := range storagePolicies() {
		if p.GetPolicyId() == uint32(id) {
			return &hdfspb.GetStoragePolicyResponseProto{StoragePolicy: p}, nil
		}
	}
	return nil, dfs.Errorf(dfs.ClassIO, "Cannot find a block policy with the id %d", id)
}

func (n *NameNode) getStoragePolicies(context.Context, *rpc.Call, *hdfspb.GetStoragePoliciesRequestProto) (*hdfspb.GetStoragePoliciesResponseProto, error) {
	return &hdfspb.GetStoragePoliciesResponseProto{Policies: storagePolicies()}, nil
}
