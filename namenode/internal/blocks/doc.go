// Package blocks is what a namenode knows about the outside: which datanodes are alive, which replica of which block
// lies on which of their storages, and where the next block should go. All of it is soft state. Nothing is written to a
// disk; after a restart the datanodes report again. Active and standby namenodes keep it alike, so that a new active
// knows the replicas at once.
//
// The nouns:
//   - Manager holds everything behind one lock.
//   - A block is what the namespace says about a block (PutBlock, RemoveBlock, Reset), and its replicas.
//   - A replica is what a datanode last said about its copy: state, generation stamp, length. Whether it is live,
//     still building or corrupt follows from the two together and is never stored. That it is excess, one more than the
//     file asks for and given up, is.
//   - A node is a datanode; a storage is one of its volumes, with the list of the blocks that it holds.
//   - A Target is a storage as callers see it: where to write a block to or read it from.
//
// Reports may come before the edit that they belong to: a replica of a block that is not known yet, or with a newer
// generation stamp than the known one, waits per block until PutBlock catches up. A replica of a block that no file
// holds any more waits in its node's deletions; only an active namenode sends them out.
//
// The package starts no goroutine and reads no clock: time comes with each call, and the namenode calls Tick. Whoever
// has to wait gets a channel.
package blocks
