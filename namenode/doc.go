// Package namenode is the NameNode of a minidfs cluster: an RPC server that speaks HDFS's ClientProtocol,
// DatanodeProtocol and HAServiceProtocol over three parts of its own.
//
//   - namespace: the tree of files and directories, their leases and snapshots, as a deterministic state machine whose
//     only mutator is Apply(ops).
//   - editlog: the journal that orders the ops, makes them durable and feeds them to the state machine.
//   - blocks: soft state: which datanode holds which replica, who is alive, where new replicas go.
//
// A call that changes the namespace becomes an op; the op is refused at once when it cannot succeed, else journaled,
// applied, and only then answered. Everything that rests on soft state (targets, safe mode, minimal replication, the
// age of a lease) is decided here, before the op is journaled, and travels in it as a fact.
//
// One file holds one family of calls; the table of ClientProtocol's methods is in clientprotocol.go, those that are
// refused, and with what, in refused.go. Quotas and ACLs are refused in off.go, after the checks that come first.
//
// Where several namenodes share a journal (editlog.Group), one of them at a time is active. role.go makes a namenode what
// its group says; gate.go lets calls in on the active one alone and holds back what was only read until the others have
// confirmed it; category.go has Hadoop's category of each call. Datanodes report to all, so that a standby knows the
// replicas when it takes over.
//
// Goroutines: the RPC server's (ended by its Close), the journal's, one monitor that ticks leases and liveness
// (monitor.go), and, in a group, one that follows the leadership (role.go); Close and Kill end them all before they return.
package namenode
