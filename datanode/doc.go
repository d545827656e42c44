// Package datanode is an HDFS datanode: it keeps replicas on its volumes, serves them over DataTransferProtocol, and does
// what its namenodes want.
//
// Its nouns:
//
//   - a [DataNode] is the server: two ports, some volumes, and one actor for each namenode;
//   - a peer is a connection of the data protocol, to or from this datanode;
//   - a write is one block being received, and passed on; a sender sends one;
//   - a [TransferHook] sees operations, packets and acks, and can fail, hold, drop or alter them.
//
// # The path of a packet
//
// A packet is read into one buffer, written to the next node from there, verified at the last node, and written to
// the disk from the same memory. Its ack follows when it is stored here and acked further down: the last node acks at
// once, the others have a goroutine for it. The last packet's ack comes after the replica is finalized and the
// incremental report of it is on its way.
//
// The connection to the next node outlives the block: it is kept for a moment, and the next block for that node goes over
// it. Where its other end has closed it meanwhile (HDFS's own datanodes do), a new one is dialled.
//
// # Goroutines
//
//	accept    one, takes connections of the data protocol
//	serve     one for each such connection
//	relay     one for each write with a node after this one: acks
//	actor     three for each namenode: beat (registration, heartbeats), report (block reports, messages), command
//	others    one for each copy and block recovery, while it lasts
//
// internal/rpc has its own for the IPC port, internal/volume for deletions. Close and Kill cut all connections and wait for
// all of them.
package datanode
