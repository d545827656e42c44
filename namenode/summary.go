package namenode

import (
	"context"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

func count(n int64) *uint64 { return proto.Uint64(uint64(n)) }

func (n *NameNode) getContentSummary(_ context.Context, c *rpc.Call, req *hdfspb.GetContentSummaryRequestProto) (*hdfspb.GetContentSummaryResponseProto, error) {
	s, err := n.ns.ContentSummary(n.caller(c), req.GetPath())
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetContentSummaryResponseProto{Summary: &hdfspb.ContentSummaryProto{
		Length:                 count(s.Length),
		FileCount:              count(s.Files),
		DirectoryCount:         count(s.Directories),
		Quota:                  count(s.Quota),
		SpaceConsumed:          count(s.SpaceConsumed),
		SpaceQuota:             count(s.SpaceQuota),
		SnapshotLength:         count(s.SnapshotLength),
		SnapshotFileCount:      count(s.SnapshotFiles),
		SnapshotDirectoryCount: count(s.SnapshotDirectories),
		SnapshotSpaceConsumed:  count(s.SnapshotSpaceConsumed),
		ErasureCodingPolicy:    proto.String(""),
	}}, nil
}

func (n *NameNode) getQuotaUsage(_ context.Context, c *rpc.Call, req *hdfspb.GetQuotaUsageRequestProto) (*hdfspb.GetQuotaUsageResponseProto, error) {
	s, err := n.ns.ContentSummary(n.caller(c), req.GetPath())
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetQuotaUsageResponseProto{Usage: &hdfspb.QuotaUsageProto{
		FileAndDirectoryCount: count(s.Files + s.Directories),
		Quota:                 count(s.Quota),
		SpaceConsumed:         count(s.SpaceConsumed),
		SpaceQuota:            count(s.SpaceQuota),
	}}, nil
}
