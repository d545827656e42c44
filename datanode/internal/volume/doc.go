// Package volume keeps a datanode's replicas on its disks, in HDFS's layout.
//
// Its nouns:
//
//   - a [Volume] is one directory on an afero.Fs: a storage with an id, a type, a capacity;
//   - a [Set] is the replicas on all volumes of a datanode;
//   - a [Writer] appends to one replica, a [Reader] sees one as it was at one moment.
//
// # On the disk
//
//	DIR/current/VERSION                                   whose the directory is
//	DIR/current/BP-x/current/VERSION                      which file system it belongs to
//	DIR/current/BP-x/current/finalized/subdirN/subdirM    replicas that are complete; N, M are bits 16-20, 8-12 of the id
//	DIR/current/BP-x/current/rbw                          replicas being written
//	DIR/current/BP-x/tmp                                  copies being made
//
// A replica is a block file blk_ID and a checksum file blk_ID_STAMP.meta: version 1 (int16), checksum type (int8), bytes
// per chunk (int32), then a big-endian CRC for each chunk.
//
// Everything is written in an order that leaves, wherever it stops, a replica from which the acknowledged bytes can be
// read: data before its checksums, shortened checksums before shortened data, and a replica between the directories is
// found in rbw. At the next start a replica in rbw is cut to the longest prefix that its checksums confirm.
//
// # Who may do what
//
// Set.mu guards what is known of replicas and is never held across I/O. Files are changed by who has claimed the
// replica: one at a time, others wait. A claim stops the replica's writer first. Readers claim nothing: they open
// the files, then look whether the replica changed meanwhile.
//
// # Goroutines
//
// One for each volume while replicas wait to be deleted. Set.Close waits for it.
package volume
