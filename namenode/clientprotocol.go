package namenode

import "github.com/minidfs/go-minidfs/internal/rpc"

// The Java interfaces that a namenode serves.
const (
	clientProtocol   = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	datanodeProtocol = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
	haProtocol       = "org.apache.hadoop.ha.HAServiceProtocol"
	groupsProtocol   = "org.apache.hadoop.tools.GetUserMappingsProtocol"
)

func (n *NameNode) protocols() []rpc.Protocol {
	return []rpc.Protocol{
		{Name: clientProtocol, Version: 1, Methods: n.clientMethods()},
		{Name: datanodeProtocol, Version: 1, Methods: n.datanodeMethods()},
		{Name: haProtocol, Version: 1, Methods: n.haMethods()},
		{Name: groupsProtocol, Version: 1, Methods: []rpc.Method{rpc.Handle("getGroupsForUser", n.getGroupsForUser).Quick()}},
	}
}

// ClientMethods names every method of ClientProtocol that a namenode answers or refuses.
func ClientMethods() []string {
	var names []string
	for _, m := range new(NameNode).clientMethods() {
		names = append(names, m.Name)
	}
	return names
}

// Methods names every method that a namenode answers or refuses, of all its protocols.
func Methods() []string {
	var names []string
	for _, p := range new(NameNode).protocols() {
		for _, m := range p.Methods {
			names = append(names, m.Name)
		}
	}
	return names
}

// clientMethods is ClientProtocol: every method of Hadoop 3.4, answered or refused. Quick methods never wait, or give
// the reading of their connection away before they do.
func (n *NameNode) clientMethods() []rpc.Method {
	methods := []rpc.Method{
		// status.go, listing.go, locations.go, summary.go
		rpc.Handle("getFileInfo", n.getFileInfo).Quick(),
		rpc.Handle("getFileLinkInfo", n.getFileLinkInfo).Quick(),
		rpc.Handle("getLocatedFileInfo", n.getLocatedFileInfo).Quick(),
		rpc.Handle("isFileClosed", n.isFileClosed).Quick(),
		rpc.Handle("getPreferredBlockSize", n.getPreferredBlockSize).Quick(),
		rpc.Handle("getEnclosingRoot", n.getEnclosingRoot).Quick(),
		rpc.Handle("getListing", n.getListing).Quick(),
		rpc.Handle("getBlockLocations", n.getBlockLocations).Quick(),
		rpc.Handle("getContentSummary", n.getContentSummary).Quick(),
		rpc.Handle("getQuotaUsage", n.getQuotaUsage).Quick(),

		// create.go, write.go, pipeline.go, lease.go
		rpc.Handle("create", n.create).Quick(),
		rpc.Handle("append", n.append).Quick(),
		rpc.Handle("addBlock", n.addBlock).Quick(),
		rpc.Handle("abandonBlock", n.abandonBlock).Quick(),
		rpc.Handle("complete", n.complete).Quick(),
		rpc.Handle("fsync", n.fsync).Quick(),
		rpc.Handle("getAdditionalDatanode", n.getAdditionalDatanode).Quick(),
		rpc.Handle("updateBlockForPipeline", n.updateBlockForPipeline).Quick(),
		rpc.Handle("updatePipeline", n.updatePipeline).Quick(),
		rpc.Handle("reportBadBlocks", n.reportBadBlocks).Quick(),
		rpc.Handle("renewLease", n.renewLease).Quick(),
		rpc.Handle("recoverLease", n.recoverLease).Quick(),

		// tree.go
		rpc.Handle("mkdirs", n.mkdirs).Quick(),
		rpc.Handle("delete", n.delete).Quick(),
		rpc.Handle("rename", n.rename).Quick(),
		rpc.Handle("rename2", n.rename2).Quick(),
		rpc.Handle("concat", n.concat).Quick(),
		rpc.Handle("truncate", n.truncate).Quick(),

		// attributes.go
		rpc.Handle("setPermission", n.setPermission).Quick(),
		rpc.Handle("setOwner", n.setOwner).Quick(),
		rpc.Handle("setTimes", n.setTimes).Quick(),
		rpc.Handle("setReplication", n.setReplication).Quick(),
		rpc.Handle("checkAccess", n.checkAccess).Quick(),
		rpc.Handle("getAclStatus", n.getAclStatus).Quick(),
		rpc.Handle("setXAttr", n.setXAttr).Quick(),
		rpc.Handle("removeXAttr", n.removeXAttr).Quick(),
		rpc.Handle("getXAttrs", n.getXAttrs).Quick(),
		rpc.Handle("listXAttrs", n.listXAttrs).Quick(),

		// policy.go
		rpc.Handle("setStoragePolicy", n.setStoragePolicy).Quick(),
		rpc.Handle("unsetStoragePolicy", n.unsetStoragePolicy).Quick(),
		rpc.Handle("getStoragePolicy", n.getStoragePolicy).Quick(),
		rpc.Handle("getStoragePolicies", n.getStoragePolicies).Quick(),

		// snapshot.go
		rpc.Handle("allowSnapshot", n.allowSnapshot).Quick(),
		rpc.Handle("disallowSnapshot", n.disallowSnapshot).Quick(),
		rpc.Handle("createSnapshot", n.createSnapshot).Quick(),
		rpc.Handle("renameSnapshot", n.renameSnapshot).Quick(),
		rpc.Handle("deleteSnapshot", n.deleteSnapshot).Quick(),
		rpc.Handle("getSnapshottableDirListing", n.getSnapshottableDirListing).Quick(),
		rpc.Handle("getSnapshotListing", n.getSnapshotListing).Quick(),
		rpc.Handle("getSnapshotDiffReport", n.getSnapshotDiffReport).Quick(),

		// params.go, stats.go
		rpc.Handle("getServerDefaults", n.getServerDefaults).Quick(),
		rpc.Handle("getFsStats", n.getFsStats).Quick(),
		rpc.Handle("getFsReplicatedBlockStats", n.getFsReplicatedBlockStats).Quick(),
		rpc.Handle("getFsECBlockGroupStats", n.getFsECBlockGroupStats).Quick(),
		rpc.Handle("getDatanodeReport", n.getDatanodeReport).Quick(),
		rpc.Handle("getDatanodeStorageReport", n.getDatanodeStorageReport).Quick(),
		rpc.Handle("getSlowDatanodeReport", n.getSlowDatanodeReport).Quick(),
		rpc.Handle("listOpenFiles", n.listOpenFiles).Quick(),
		rpc.Handle("listCorruptFileBlocks", n.listCorruptFileBlocks).Quick(),

		// admin.go
		rpc.Handle("setSafeMode", n.setSafeMode).Quick(),
		rpc.Handle("saveNamespace", n.saveNamespace),
		rpc.Handle("rollEdits", n.rollEdits),
		rpc.Handle("restoreFailedStorage", n.restoreFailedStorage).Quick(),
		rpc.Handle("refreshNodes", n.refreshNodes).Quick(),
		rpc.Handle("metaSave", n.metaSave).Quick(),
		rpc.Handle("finalizeUpgrade", n.finalizeUpgrade).Quick(),
		rpc.Handle("upgradeStatus", n.upgradeStatus).Quick(),
		rpc.Handle("rollingUpgrade", n.rollingUpgrade).Quick(),
		rpc.Handle("setBalancerBandwidth", n.setBalancerBandwidth).Quick(),
		rpc.Handle("getHAServiceState", n.getHAServiceState).Quick(),
		rpc.Handle("msync", n.msync).Quick(),
	}
	methods = append(methods, n.emptyMethods()...)
	methods = append(methods, n.offMethods()...)
	return append(methods, refusedMethods()...)
}
