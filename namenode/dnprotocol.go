package namenode

import (
	"context"
	"errors"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"google.golang.org/protobuf/proto"
)

// datanodeMethods is DatanodeProtocol.
func (n *NameNode) datanodeMethods() []rpc.Method {
	return []rpc.Method{
		rpc.Handle("versionRequest", n.versionRequest).Quick(),
		rpc.Handle("registerDatanode", n.registerDatanode).Quick(),
		rpc.Handle("sendHeartbeat", n.sendHeartbeat).Quick(),
		rpc.Handle("blockReport", n.blockReport),
		rpc.Handle("blockReceivedAndDeleted", n.blockReceivedAndDeleted).Quick(),
		rpc.Handle("cacheReport", n.cacheReport).Quick(),
		rpc.Handle("errorReport", n.errorReport).Quick(),
		rpc.Handle("reportBadBlocks", n.datanodeReportBadBlocks).Quick(),
		rpc.Handle("commitBlockSynchronization", n.commitBlockSynchronization),
	}
}

// What datanodes are told about the software: datanodes refuse namenodes that are too old.
const (
	softwareVersion = "3.4.1"
	layoutVersion   = -66 // of Hadoop 3.4 namenodes
	buildVersion    = "minidfs"
	blocksBuffers   = 1 // capability: block reports may come as byte buffers
)

func (n *NameNode) storageInfo(layout int32) *hdfspb.StorageInfoProto {
	return &hdfspb.StorageInfoProto{
		LayoutVersion: proto.Uint32(uint32(layout)),
		NamespceID:    proto.Uint32(uint32(n.identity.NamespaceID)),
		ClusterID:     proto.String(n.identity.ClusterID),
		CTime:         proto.Uint64(uint64(n.identity.CTime)),
	}
}

// versionRequest says which file system this is.
func (n *NameNode) versionRequest(context.Context, *rpc.Call, *hdfspb.VersionRequestProto) (*hdfspb.VersionResponseProto, error) {
	return &hdfspb.VersionResponseProto{Info: &hdfspb.NamespaceInfoProto{
		BuildVersion:    proto.String(buildVersion),
		Unused:          proto.Uint32(0),
		BlockPoolID:     proto.String(n.identity.BlockPoolID),
		StorageInfo:     n.storageInfo(layoutVersion),
		SoftwareVersion: proto.String(softwareVersion),
		Capabilities:    proto.Uint64(blocksBuffers),
		State:           n.heartbeatState().Enum(),
	}}, nil
}

// heartbeatState is what datanodes are told of this namenode: it is active for them from the moment that its block manager
// sends commands.
func (n *NameNode) heartbeatState() hdfspb.NNHAStatusHeartbeatProto_State {
	if _, active := n.blocks.ActiveSince(); active {
		return hdfspb.NNHAStatusHeartbeatProto_ACTIVE
	}
	return hdfspb.NNHAStatusHeartbeatProto_STANDBY
}

// registration is who sent a datanode's call. The address is the peer's, as HDFS has it, not what the datanode thinks.
func registration(c *rpc.Call, r *hdfspb.DatanodeRegistrationProto) blocks.Registration {
	id := datanodeFromWire(r.GetDatanodeID())
	id.IP = c.Remote
	return blocks.Registration{DatanodeID: id, SoftwareVersion: r.GetSoftwareVersion()}
}

// registerDatanode takes a datanode in, unless it belongs to another file system.
func (n *NameNode) registerDatanode(_ context.Context, c *rpc.Call, req *hdfspb.RegisterDatanodeRequestProto) (*hdfspb.RegisterDatanodeResponseProto, error) {
	r := req.GetRegistration()
	info := r.GetStorageInfo()
	if info.GetClusterID() != n.identity.ClusterID || int32(info.GetNamespceID()) != n.identity.NamespaceID {
		return nil, dfs.Errorf(dfs.ClassUnregisteredNode,
			"Datanode %s belongs to cluster %s, namespace %d; this namenode serves cluster %s, namespace %d. Give the datanode an empty directory.",
			datanodeFromWire(r.GetDatanodeID()), info.GetClusterID(), int32(info.GetNamespceID()), n.identity.ClusterID, n.identity.NamespaceID)
	}
	reg, err := n.blocks.Register(registration(c, r), time.Now())
	if err != nil {
		return nil, err
	}
	return &hdfspb.RegisterDatanodeResponseProto{Registration: &hdfspb.DatanodeRegistrationProto{
		DatanodeID:  datanodeProto(reg.DatanodeID),
		StorageInfo: n.storageInfo(int32(info.GetLayoutVersion())),
		Keys: &hdfspb.ExportedBlockKeysProto{
			IsBlockTokenEnabled: proto.Bool(false), KeyUpdateInterval: proto.Uint64(0), TokenLifeTime: proto.Uint64(0),
			CurrentKey: &hdfspb.BlockKeyProto{KeyId: proto.Uint32(0), ExpiryDate: proto.Uint64(0)},
		},
		SoftwareVersion: proto.String(softwareVersion),
	}}, nil
}

func storageFromWire(s *hdfspb.DatanodeStorageProto) blocks.Storage {
	return blocks.Storage{
		ID: s.GetStorageUuid(), Type: dfs.StorageType(s.GetStorageType()),
		ReadOnly: s.GetState() == hdfspb.DatanodeStorageProto_READ_ONLY_SHARED,
	}
}

// sendHeartbeat keeps a datanode alive; the answer carries this namenode's state and what the datanode is to do.
func (n *NameNode) sendHeartbeat(_ context.Context, c *rpc.Call, req *hdfspb.HeartbeatRequestProto) (*hdfspb.HeartbeatResponseProto, error) {
	h := blocks.Heartbeat{
		Reports:         make([]blocks.StorageReport, 0, len(req.GetReports())),
		XmitsInProgress: int(req.GetXmitsInProgress()),
		XceiverCount:    int(req.GetXceiverCount()),
		FailedVolumes:   int(req.GetFailedVolumes()),
		CacheCapacity:   int64(req.GetCacheCapacity()),
		CacheUsed:       int64(req.GetCacheUsed()),
		WantReportLease: req.GetRequestFullBlockReportLease(),
	}
	if s := req.GetVolumeFailureSummary(); s != nil {
		h.VolumeFailures = blocks.VolumeFailures{
			Locations: s.GetFailedStorageLocations(), Last: time.UnixMilli(int64(s.GetLastVolumeFailureDate())),
			CapacityLost: int64(s.GetEstimatedCapacityLostTotal()),
		}
	}
	for _, r := range req.GetReports() {
		storage := storageFromWire(r.GetStorage())
		if storage.ID == "" {
			storage.ID = r.GetStorageUuid()
		}
		h.Reports = append(h.Reports, blocks.StorageReport{
			Storage: storage, Failed: r.GetFailed(), Capacity: int64(r.GetCapacity()), DFSUsed: int64(r.GetDfsUsed()),
			NonDFSUsed: int64(r.GetNonDfsUsed()), Remaining: int64(r.GetRemaining()), BlockPoolUsed: int64(r.GetBlockPoolUsed()),
			Mount: r.GetMount(),
		})
	}
	commands, lease, err := n.blocks.Heartbeat(registration(c, req.GetRegistration()), h, time.Now())
	if err != nil {
		return nil, err
	}
	answer := &hdfspb.HeartbeatResponseProto{
		HaStatus: &hdfspb.NNHAStatusHeartbeatProto{
			State: n.heartbeatState().Enum(), Txid: proto.Uint64(n.ns.TxID()),
		},
		FullBlockReportLeaseId: proto.Uint64(lease),
	}
	for _, command := range commands {
		answer.Cmds = append(answer.Cmds, n.commandProto(command))
	}
	return answer, nil
}

func (n *NameNode) commandProto(command blocks.Command) *hdfspb.DatanodeCommandProto {
	switch command := command.(type) {
	case blocks.RegisterCommand:
		return &hdfspb.DatanodeCommandProto{
			CmdType: hdfspb.DatanodeCommandProto_RegisterCommand.Enum(), RegisterCmd: &hdfspb.RegisterCommandProto{},
		}
	case blocks.InvalidateCommand:
		cmd := &hdfspb.BlockCommandProto{
			Action: hdfspb.BlockCommandProto_INVALIDATE.Enum(), BlockPoolId: proto.String(n.identity.BlockPoolID),
		}
		for _, b := range command.Blocks {
			cmd.Blocks = append(cmd.Blocks, blockProto(b))
		}
		return &hdfspb.DatanodeCommandProto{CmdType: hdfspb.DatanodeCommandProto_BlockCommand.Enum(), BlkCmd: cmd}
	case blocks.RecoverCommand:
		cmd := &hdfspb.BlockRecoveryCommandProto{}
		for _, r := range command.Blocks {
			cmd.Blocks = append(cmd.Blocks, n.recoveringBlock(r))
		}
		return &hdfspb.DatanodeCommandProto{CmdType: hdfspb.DatanodeCommandProto_BlockRecoveryCommand.Enum(), RecoveryCmd: cmd}
	}
	return &hdfspb.DatanodeCommandProto{CmdType: hdfspb.DatanodeCommandProto_NullDatanodeCommand.Enum()}
}

// blockReport takes in all replicas of one or more storages.
func (n *NameNode) blockReport(_ context.Context, c *rpc.Call, req *hdfspb.BlockReportRequestProto) (*hdfspb.BlockReportResponseProto, error) {
	if err := n.checkPool(req.GetBlockPoolId()); err != nil {
		return nil, err
	}
	from := registration(c, req.GetRegistration())
	report := blocks.ReportContext{
		ID: req.GetContext().GetId(), Total: int(req.GetContext().GetTotalRpcs()), Cur: int(req.GetContext().GetCurRpc()),
		LeaseID: req.GetContext().GetLeaseId(),
	}
	for _, s := range req.GetReports() {
		replicas, err := reportedReplicas(s)
		if err != nil {
			return nil, dfs.Errorf(dfs.ClassIO, "block report of %s, storage %s: %v", from.DatanodeID, s.GetStorage().GetStorageUuid(), err)
		}
		if err := n.blocks.FullReport(from, storageFromWire(s.GetStorage()), replicas, report, time.Now()); err != nil {
			return nil, n.datanodeError(err)
		}
	}
	return &hdfspb.BlockReportResponseProto{}, nil
}

// blockReceivedAndDeleted takes in what has changed since the last report.
func (n *NameNode) blockReceivedAndDeleted(_ context.Context, c *rpc.Call, req *hdfspb.BlockReceivedAndDeletedRequestProto) (*hdfspb.BlockReceivedAndDeletedResponseProto, error) {
	if err := n.checkPool(req.GetBlockPoolId()); err != nil {
		return nil, err
	}
	from := registration(c, req.GetRegistration())
	for _, s := range req.GetBlocks() {
		storage := storageFromWire(s.GetStorage())
		if storage.ID == "" {
			storage.ID = s.GetStorageUuid()
		}
		events := make([]blocks.Received, 0, len(s.GetBlocks()))
		for _, b := range s.GetBlocks() {
			events = append(events, blocks.Received{
				Block: plainBlock(b.GetBlock()), Status: blocks.ReceivedStatus(b.GetStatus()), DeleteHint: b.GetDeleteHint(),
			})
		}
		if err := n.blocks.IncrementalReport(from, storage, events, time.Now()); err != nil {
			return nil, n.datanodeError(err)
		}
	}
	return &hdfspb.BlockReceivedAndDeletedResponseProto{}, nil
}

func (n *NameNode) cacheReport(context.Context, *rpc.Call, *hdfspb.CacheReportRequestProto) (*hdfspb.CacheReportResponseProto, error) {
	return &hdfspb.CacheReportResponseProto{}, nil
}

// errorReport takes in a datanode's trouble; after a fatal disk error it counts as dead.
func (n *NameNode) errorReport(_ context.Context, c *rpc.Call, req *hdfspb.ErrorReportRequestProto) (*hdfspb.ErrorReportResponseProto, error) {
	err := n.blocks.ErrorReport(registration(c, req.GetRegistartion()), blocks.ErrorCode(req.GetErrorCode()), req.GetMsg())
	if err != nil {
		return nil, n.datanodeError(err)
	}
	return &hdfspb.ErrorReportResponseProto{}, nil
}

func (n *NameNode) datanodeReportBadBlocks(_ context.Context, _ *rpc.Call, req *hdfspb.DatanodeReportBadBlocksRequestProto) (*hdfspb.DatanodeReportBadBlocksResponseProto, error) {
	n.markBad(req.GetBlocks())
	return &hdfspb.DatanodeReportBadBlocksResponseProto{}, nil
}

func (n *NameNode) checkPool(pool string) error {
	if pool != n.identity.BlockPoolID {
		return dfs.Errorf(dfs.ClassIO, "block pool %q is not of this file system, which has %s", pool, n.identity.BlockPoolID)
	}
	return nil
}

// datanodeError chooses the class: a datanode that is not registered hears it from its next heartbeat.
func (n *NameNode) datanodeError(err error) error {
	var unknown *blocks.NotRegisteredError
	if errors.As(err, &unknown) {
		return dfs.Errorf(dfs.ClassIO, "%v", err)
	}
	return err
}
