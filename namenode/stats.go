package namenode

import (
	"context"
	"strconv"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"google.golang.org/protobuf/proto"
)

func (n *NameNode) getFsStats(context.Context, *rpc.Call, *hdfspb.GetFsStatusRequestProto) (*hdfspb.GetFsStatsResponseProto, error) {
	s := n.blocks.Stats()
	return &hdfspb.GetFsStatsResponseProto{
		Capacity: count(s.Capacity), Used: count(s.Used), Remaining: count(s.Remaining),
		UnderReplicated: count(int64(s.LowRedundancy)), CorruptBlocks: count(int64(s.Corrupt)), MissingBlocks: count(int64(s.Missing)),
		MissingReplOneBlocks: count(int64(s.MissingOne)), BlocksInFuture: count(int64(s.InFuture)),
		PendingDeletionBlocks: count(int64(s.PendingDeletion)),
	}, nil
}

func (n *NameNode) getFsReplicatedBlockStats(context.Context, *rpc.Call, *hdfspb.GetFsReplicatedBlockStatsRequestProto) (*hdfspb.GetFsReplicatedBlockStatsResponseProto, error) {
	s := n.blocks.Stats()
	return &hdfspb.GetFsReplicatedBlockStatsResponseProto{
		LowRedundancy: count(int64(s.LowRedundancy)), CorruptBlocks: count(int64(s.Corrupt)), MissingBlocks: count(int64(s.Missing)),
		MissingReplOneBlocks: count(int64(s.MissingOne)), BlocksInFuture: count(int64(s.InFuture)),
		PendingDeletionBlocks: count(int64(s.PendingDeletion)), HighestPrioLowRedundancyBlocks: count(0),
	}, nil
}

// getFsECBlockGroupStats counts nothing: there are no erasure coded files.
func (n *NameNode) getFsECBlockGroupStats(context.Context, *rpc.Call, *hdfspb.GetFsECBlockGroupStatsRequestProto) (*hdfspb.GetFsECBlockGroupStatsResponseProto, error) {
	return &hdfspb.GetFsECBlockGroupStatsResponseProto{
		LowRedundancy: count(0), CorruptBlocks: count(0), MissingBlocks: count(0), BlocksInFuture: count(0),
		PendingDeletionBlocks: count(0), HighestPrioLowRedundancyBlocks: count(0),
	}, nil
}

// datanodeInfo describes a datanode as its last heartbeat did.
func datanodeInfo(d *blocks.DatanodeInfo) *hdfspb.DatanodeInfoProto {
	info := &hdfspb.DatanodeInfoProto{
		Id:       datanodeProto(d.DatanodeID),
		Capacity: count(d.Capacity), DfsUsed: count(d.DFSUsed), NonDfsUsed: count(d.NonDFSUsed), Remaining: count(d.Remaining),
		BlockPoolUsed: count(d.BlockPoolUsed), CacheCapacity: count(d.CacheCapacity), CacheUsed: count(d.CacheUsed),
		LastUpdate: count(d.LastUpdate.UnixMilli()), LastUpdateMonotonic: count(d.LastUpdate.UnixMilli()),
		XceiverCount: proto.Uint32(uint32(d.XceiverCount)),
		Location:     proto.String(d.Location),
		AdminState:   hdfspb.DatanodeInfoProto_NORMAL.Enum(),
		NumBlocks:    proto.Uint32(uint32(d.NumBlocks)),
	}
	reported := int64(0) // there always, as from Hadoop
	if !d.LastReport.IsZero() {
		reported = d.LastReport.UnixMilli()
	}
	info.LastBlockReportTime, info.LastBlockReportMonotonic = count(reported), count(reported)
	return info
}

func (n *NameNode) getDatanodeReport(_ context.Context, c *rpc.Call, req *hdfspb.GetDatanodeReportRequestProto) (*hdfspb.GetDatanodeReportResponseProto, error) {
	if err := n.superuserOnly(c, "datanodeReport"); err != nil {
		return nil, err
	}
	answer := &hdfspb.GetDatanodeReportResponseProto{}
	for _, d := range n.blocks.Datanodes(blocks.ReportKind(req.GetType())) {
		answer.Di = append(answer.Di, datanodeInfo(d))
	}
	return answer, nil
}

func (n *NameNode) getDatanodeStorageReport(_ context.Context, c *rpc.Call, req *hdfspb.GetDatanodeStorageReportRequestProto) (*hdfspb.GetDatanodeStorageReportResponseProto, error) {
	if err := n.superuserOnly(c, "getDatanodeStorageReport"); err != nil {
		return nil, err
	}
	answer := &hdfspb.GetDatanodeStorageReportResponseProto{}
	for _, d := range n.blocks.Datanodes(blocks.ReportKind(req.GetType())) {
		report := &hdfspb.DatanodeStorageReportProto{DatanodeInfo: datanodeInfo(d)}
		for i := range d.Storages {
			s := &d.Storages[i]
			state := hdfspb.DatanodeStorageProto_NORMAL
			if s.ReadOnly {
				state = hdfspb.DatanodeStorageProto_READ_ONLY_SHARED
			}
			report.StorageReports = append(report.StorageReports, &hdfspb.StorageReportProto{
				StorageUuid: proto.String(s.ID), Failed: proto.Bool(s.Failed), Capacity: count(s.Capacity), DfsUsed: count(s.DFSUsed),
				Remaining: count(s.Remaining), BlockPoolUsed: count(s.BlockPoolUsed), NonDfsUsed: count(s.NonDFSUsed), Mount: proto.String(s.Mount),
				Storage: &hdfspb.DatanodeStorageProto{
					StorageUuid: proto.String(s.ID), State: state.Enum(), StorageType: storageTypeProto(s.Type).Enum(),
				},
			})
		}
		answer.DatanodeStorageReports = append(answer.DatanodeStorageReports, report)
	}
	return answer, nil
}

// getSlowDatanodeReport lists none, to everybody: peers are not timed against one another.
func (n *NameNode) getSlowDatanodeReport(context.Context, *rpc.Call, *hdfspb.GetSlowDatanodeReportRequestProto) (*hdfspb.GetSlowDatanodeReportResponseProto, error) {
	return &hdfspb.GetSlowDatanodeReportResponseProto{}, nil
}

// openFilesPage is how many rows one call of listOpenFiles gives.
const openFilesPage = 1000

// listOpenFiles pages through the open files by inode id. Not done: the files that block a decommission.
func (n *NameNode) listOpenFiles(_ context.Context, c *rpc.Call, req *hdfspb.ListOpenFilesRequestProto) (*hdfspb.ListOpenFilesResponseProto, error) {
	if err := n.superuserOnly(c, "listOpenFiles"); err != nil {
		return nil, err
	}
	files, more := n.ns.OpenFiles(dfs.INodeID(req.GetId()), openFilesPage)
	answer := &hdfspb.ListOpenFilesResponseProto{HasMore: proto.Bool(more), Types: req.GetTypes()}
	below := strings.TrimSuffix(req.GetPath(), "/")
	for _, f := range files {
		if !strings.HasPrefix(f.Path, below) {
			continue
		}
		answer.Entries = append(answer.Entries, &hdfspb.OpenFilesBatchResponseProto{
			Id: proto.Int64(int64(f.ID)), Path: proto.String(f.Path), ClientName: proto.String(f.Holder), ClientMachine: proto.String(f.Machine),
		})
	}
	return answer, nil
}

// listCorruptFileBlocks lists the files below a path that have a block without a good replica, each once. The cookie
// counts the blocks that were looked at; whoever brings one back has seen them all.
func (n *NameNode) listCorruptFileBlocks(_ context.Context, c *rpc.Call, req *hdfspb.ListCorruptFileBlocksRequestProto) (*hdfspb.ListCorruptFileBlocksResponseProto, error) {
	if err := n.superuserOnly(c, "listCorruptFileBlocks"); err != nil {
		return nil, err
	}
	corrupt, seen := &hdfspb.CorruptFileBlocksProto{}, 0
	below := strings.TrimSuffix(req.GetPath(), "/")
	if req.GetCookie() == "" {
		for _, id := range n.blocks.Unreadable() {
			if f, ok := n.ns.BlockFile(id); ok && strings.HasPrefix(f.Path, below) {
				corrupt.Files = append(corrupt.Files, f.Path)
			}
			seen++
		}
	}
	corrupt.Cookie = proto.String(strconv.Itoa(seen))
	return &hdfspb.ListCorruptFileBlocksResponseProto{Corrupt: corrupt}, nil
}
