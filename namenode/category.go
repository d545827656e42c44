package namenode

import (
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// category is what HDFS asks of a call before it lets it in: a standby answers the unchecked ones alone.
type category string

const (
	unchecked category = "UNCHECKED"
	read      category = "READ"
	write     category = "WRITE"
	journal   category = "JOURNAL"
)

// methodName is a method of one of the protocols.
type methodName struct{ protocol, method string }

// categories is Hadoop 3.4.1's category of every method of ClientProtocol, and of the two calls of datanodes that are
// for the active alone. Of setSafeMode and rollingUpgrade the request decides, see categoryOf.
func categories() map[methodName]category {
	all := map[methodName]category{
		{datanodeProtocol, "reportBadBlocks"}:            write,
		{datanodeProtocol, "commitBlockSynchronization"}: write,
	}
	for category, names := range clientCategories() {
		for _, name := range names {
			all[methodName{clientProtocol, name}] = category
		}
	}
	return all
}

func clientCategories() map[category][]string {
	return map[category][]string{
		read: {
			"getFileInfo", "getFileLinkInfo", "getLocatedFileInfo", "isFileClosed", "getPreferredBlockSize", "getEnclosingRoot",
			"getListing", "getBatchedListing", "getBlockLocations", "getContentSummary", "getQuotaUsage", "getLinkTarget",
			"checkAccess", "getAclStatus", "getXAttrs", "listXAttrs", "getStoragePolicy", "getStoragePolicies",
			"getSnapshottableDirListing", "getSnapshotListing", "getSnapshotDiffReport", "getSnapshotDiffReportListing",
			"getServerDefaults", "getFsStats", "getFsReplicatedBlockStats", "getFsECBlockGroupStats",
			"listOpenFiles", "listCorruptFileBlocks", "metaSave", "getCurrentEditLogTxid", "getEditsFromTxid",
			"getEZForPath", "listEncryptionZones", "listReencryptionStatus", "listCacheDirectives", "listCachePools",
			"getErasureCodingPolicies", "getErasureCodingPolicy", "getErasureCodingCodecs",
		},
		write: {
			"create", "append", "addBlock", "abandonBlock", "complete", "fsync", "getAdditionalDatanode",
			"updateBlockForPipeline", "updatePipeline", "reportBadBlocks", "renewLease", "recoverLease",
			"mkdirs", "delete", "rename", "rename2", "concat", "truncate", "createSymlink",
			"setPermission", "setOwner", "setTimes", "setReplication", "setQuota", "setXAttr", "removeXAttr",
			"modifyAclEntries", "removeAclEntries", "removeDefaultAcl", "removeAcl", "setAcl",
			"setStoragePolicy", "unsetStoragePolicy", "satisfyStoragePolicy",
			"allowSnapshot", "disallowSnapshot", "createSnapshot", "renameSnapshot", "deleteSnapshot",
			"msync", "rollingUpgrade", "setBalancerBandwidth",
			"getDelegationToken", "renewDelegationToken", "cancelDelegationToken",
			"createEncryptionZone", "reencryptEncryptionZone",
			"setErasureCodingPolicy", "unsetErasureCodingPolicy", "addErasureCodingPolicies", "removeErasureCodingPolicy",
			"enableErasureCodingPolicy", "disableErasureCodingPolicy",
			"addCacheDirective", "modifyCacheDirective", "removeCacheDirective",
			"addCachePool", "modifyCachePool", "removeCachePool",
		},
		journal: {"rollEdits"},
		unchecked: {
			"getDatanodeReport", "getDatanodeStorageReport", "getSlowDatanodeReport", "setSafeMode", "saveNamespace",
			"restoreFailedStorage", "refreshNodes", "finalizeUpgrade", "upgradeStatus", "getHAServiceState",
			"getDataEncryptionKey", "getECTopologyResultForPolicies",
		},
	}
}

// categoryOf gives the category of a call.
func (n *NameNode) categoryOf(c *rpc.Call) category {
	switch req := c.Request.(type) {
	case *hdfspb.SetSafeModeRequestProto:
		switch {
		case !req.GetChecked():
			return unchecked
		case req.GetAction() == hdfspb.SafeModeActionProto_SAFEMODE_GET:
			return read
		}
		return write
	case *hdfspb.RollingUpgradeRequestProto:
		if req.GetAction() == hdfspb.RollingUpgradeActionProto_QUERY {
			return read
		}
	}
	if category, ok := n.categories[methodName{c.Protocol, c.Method}]; ok {
		return category
	}
	return unchecked
}
