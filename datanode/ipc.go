package datanode

import (
	"context"
	"fmt"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	clientDatanodeProtocol = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
	interDatanodeProtocol  = "org.apache.hadoop.hdfs.server.protocol.InterDatanodeProtocol"
	reconfiguration        = "org.apache.hadoop.hdfs.protocol.ReconfigurationProtocol"
)

// protocols is what the datanode answers on its IPC port.
func (d *DataNode) protocols() []rpc.Protocol {
	refuse := func(name string) rpc.Method {
		return rpc.Refuse(name, dfs.Errorf(dfs.ClassUnsupported, "%s is not supported by this datanode", name))
	}
	return []rpc.Protocol{
		{Name: clientDatanodeProtocol, Version: 1, Methods: []rpc.Method{
			rpc.Handle("getReplicaVisibleLength", d.getReplicaVisibleLength),
			rpc.Handle("getDatanodeInfo", d.getDatanodeInfo),
			rpc.Handle("getVolumeReport", d.getVolumeReport),
			rpc.Handle("triggerBlockReport", d.triggerBlockReport),
			rpc.Handle("getBalancerBandwidth", d.getBalancerBandwidth),
			rpc.Handle("evictWriters", d.evictWriters),
			rpc.Handle("shutdownDatanode", d.shutdownDatanode),
			refuse("refreshNamenodes"),
			refuse("deleteBlockPool"),
			refuse("getBlockLocalPathInfo"),
			refuse("getDiskBalancerSetting"),
			refuse("submitDiskBalancerPlan"),
			refuse("cancelDiskBalancerPlan"),
			refuse("queryDiskBalancerPlan"),
		}},
		{Name: interDatanodeProtocol, Version: 1, Methods: []rpc.Method{
			rpc.Handle("initReplicaRecovery", d.initReplicaRecovery),
			rpc.Handle("updateReplicaUnderRecovery", d.updateReplicaUnderRecovery),
		}},
		{Name: reconfiguration, Version: 1, Methods: []rpc.Method{
			refuse("getReconfigurationStatus"),
			refuse("startReconfiguration"),
			refuse("listReconfigurableProperties"),
		}},
	}
}

// inPool checks that a block is of the file system that this datanode serves.
func (d *DataNode) inPool(p *hdfspb.ExtendedBlockProto) (dfs.Block, error) {
	b := blockOf(p)
	if pool, ok := d.set.Pool(); !ok || pool.ID != b.Pool {
		return b.Block, dfs.Errorf(dfs.ClassReplicaNotFound, "Replica not found for %s", b)
	}
	return b.Block, nil
}

func (d *DataNode) getReplicaVisibleLength(_ context.Context, _ *rpc.Call, req *hdfspb.GetReplicaVisibleLengthRequestProto) (*hdfspb.GetReplicaVisibleLengthResponseProto, error) {
	b, err := d.inPool(req.GetBlock())
	if err != nil {
		return nil, err
	}
	n, err := d.set.VisibleLength(b)
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetReplicaVisibleLengthResponseProto{Length: ptr(uint64(n))}, nil
}

func (d *DataNode) getDatanodeInfo(context.Context, *rpc.Call, *hdfspb.GetDatanodeInfoRequestProto) (*hdfspb.GetDatanodeInfoResponseProto, error) {
	return &hdfspb.GetDatanodeInfoResponseProto{LocalInfo: &hdfspb.DatanodeLocalInfoProto{
		SoftwareVersion: ptr(softwareVersion), ConfigVersion: ptr("core-" + softwareVersion), Uptime: ptr(uint64(time.Since(d.began) / time.Second)),
	}}, nil
}

func (d *DataNode) getVolumeReport(context.Context, *rpc.Call, *hdfspb.GetVolumeReportRequestProto) (*hdfspb.GetVolumeReportResponseProto, error) {
	r := &hdfspb.GetVolumeReportResponseProto{}
	for _, v := range d.set.Volumes() {
		_, room := v.Space()
		r.VolumeInfo = append(r.VolumeInfo, &hdfspb.DatanodeVolumeInfoProto{
			Path: ptr(v.Dir()), StorageType: hdfspb.StorageTypeProto(v.Type()).Enum(), UsedSpace: ptr(uint64(v.Used())), FreeSpace: ptr(uint64(room)),
			ReservedSpace: ptr(uint64(0)), ReservedSpaceForReplicas: ptr(uint64(v.Reserved())), NumBlocks: ptr(uint64(d.set.Count(v))),
		})
	}
	return r, nil
}

func (d *DataNode) triggerBlockReport(ctx context.Context, _ *rpc.Call, req *hdfspb.TriggerBlockReportRequestProto) (*hdfspb.TriggerBlockReportResponseProto, error) {
	found := false
	for _, a := range d.actors {
		if addr := req.GetNnAddress(); addr != "" && addr != a.addr {
			continue
		}
		found = true
		if req.GetIncremental() {
			a.flush()
		} else {
			d.goDo(func() { a.nudge(true) })
		}
	}
	if !found {
		return nil, dfs.Errorf(dfs.ClassIO, "this datanode does not serve the namenode %s", req.GetNnAddress())
	}
	return &hdfspb.TriggerBlockReportResponseProto{}, nil
}

func (d *DataNode) getBalancerBandwidth(context.Context, *rpc.Call, *hdfspb.GetBalancerBandwidthRequestProto) (*hdfspb.GetBalancerBandwidthResponseProto, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &hdfspb.GetBalancerBandwidthResponseProto{Bandwidth: ptr(uint64(d.bandwidth))}, nil
}

// evictWriters cuts off the clients that write here; they go on with other datanodes.
func (d *DataNode) evictWriters(context.Context, *rpc.Call, *hdfspb.EvictWritersRequestProto) (*hdfspb.EvictWritersResponseProto, error) {
	d.set.StopWriters()
	return &hdfspb.EvictWritersResponseProto{}, nil
}

// shutdownDatanode answers, then ends the service.
func (d *DataNode) shutdownDatanode(context.Context, *rpc.Call, *hdfspb.ShutdownDatanodeRequestProto) (*hdfspb.ShutdownDatanodeResponseProto, error) {
	d.goDo(func() {
		if !d.wait(100 * time.Millisecond) { // the answer goes out first
			return
		}
		d.log.Info("datanode: shut down by an administrator")
		if err := d.sever(); err != nil {
			d.log.Debug("datanode: closing connections", "err", err)
		}
	})
	return &hdfspb.ShutdownDatanodeResponseProto{}, nil
}

func (d *DataNode) initReplicaRecovery(ctx context.Context, _ *rpc.Call, req *hdfspb.InitReplicaRecoveryRequestProto) (*hdfspb.InitReplicaRecoveryResponseProto, error) {
	b, err := d.inPool(req.GetBlock().GetBlock().GetB())
	if err != nil {
		return nil, err
	}
	info, found, err := d.set.InitRecovery(ctx, b, dfs.GenStamp(req.GetBlock().GetNewGenStamp()))
	if err != nil {
		return nil, err
	}
	if !found {
		return &hdfspb.InitReplicaRecoveryResponseProto{ReplicaFound: ptr(false)}, nil
	}
	return &hdfspb.InitReplicaRecoveryResponseProto{
		ReplicaFound: ptr(true), State: replicaStateProto(info.Original), Block: plainProto(info.Block),
	}, nil
}

func (d *DataNode) updateReplicaUnderRecovery(ctx context.Context, _ *rpc.Call, req *hdfspb.UpdateReplicaUnderRecoveryRequestProto) (*hdfspb.UpdateReplicaUnderRecoveryResponseProto, error) {
	b, err := d.inPool(req.GetBlock())
	if err != nil {
		return nil, err
	}
	storage, err := d.updateReplica(ctx, b, dfs.GenStamp(req.GetRecoveryId()), int64(req.GetNewLength()), dfs.BlockID(req.GetNewBlockId()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	return &hdfspb.UpdateReplicaUnderRecoveryResponseProto{StorageUuid: &storage}, nil
}

// updateReplica ends the recovery of the replica here; all namenodes hear of it, the standby ones included.
func (d *DataNode) updateReplica(ctx context.Context, b dfs.Block, id dfs.GenStamp, n int64, copyTo dfs.BlockID) (string, error) {
	info, err := d.set.UpdateRecovery(ctx, b, id, n, copyTo)
	if err != nil {
		return "", err
	}
	d.received(info.Storage, info.Block, "")
	return info.Storage, nil
}
