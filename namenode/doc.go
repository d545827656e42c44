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
// Goroutines: the RPC server's (ended by its Close), the journal's, and one monitor that ticks leases, liveness and
// checkpoints (monitor.go); Close and Kill end them all before they return.
package namenode
