package namenode

import (
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// refusedMethods are the calls of ClientProtocol that a file system with the feature switched off refuses. Clients
// fall back or say so; nothing hangs.
func refusedMethods() []rpc.Method {
	var methods []rpc.Method
	refuse := func(class dfs.Class, message string, names ...string) {
		for _, name := range names {
			methods = append(methods, rpc.Refuse(name, dfs.Errorf(class, "%s", message)))
		}
	}
	refuse(dfs.ClassUnsupported, "Symlinks not supported", "createSymlink", "getLinkTarget")
	refuse(dfs.ClassUnsupportedAction, "Encryption zones are not supported by this file system.",
		"createEncryptionZone", "reencryptEncryptionZone")
	refuse(dfs.ClassUnsupportedAction, "Erasure coding is not supported by this file system.",
		"setErasureCodingPolicy", "unsetErasureCodingPolicy", "addErasureCodingPolicies", "removeErasureCodingPolicy",
		"enableErasureCodingPolicy", "disableErasureCodingPolicy")
	refuse(dfs.ClassUnsupportedAction, "Centralized caching is not supported by this file system.",
		"addCacheDirective", "modifyCacheDirective", "removeCacheDirective",
		"addCachePool", "modifyCachePool", "removeCachePool")
	refuse(dfs.ClassUnsupportedAction, "The storage policy satisfier is not supported by this file system.",
		"satisfyStoragePolicy")
	for _, name := range []string{"getBatchedListing", "getSnapshotDiffReportListing", "renewDelegationToken",
		"cancelDelegationToken", "getCurrentEditLogTxid", "getEditsFromTxid"} {
		refuse(dfs.ClassNoSuchMethod, "Unknown method "+name+" called on "+clientProtocol+" protocol.", name)
	}
	return methods
}
