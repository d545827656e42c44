// Package editlog makes a deterministic state machine durable: a Journal orders its ops, writes them to a log, applies
// them and answers. Local keeps the log and images of the state in one directory of any afero file system. Raft keeps
// them together with others (a Group), each member in its Stores; this package alone knows hashicorp/raft.
//
// Nouns: an Op is one edit. A batch is the ops that wait together; it is written as one record and synced once. A
// segment is a file of records. An image is a file with the whole state. A checkpoint writes an image and removes the
// segments that it makes superfluous.
//
// # Layout of the directory
//
//	in_use.lock                     locked by the process that has the journal open; names it
//	current/VERSION                 text, key=value: format, Identity, checksum
//	current/edits_<first>-<last>    a closed segment; first and last are transaction ids
//	current/edits_inprogress_<first>
//	current/seen_txid               text: the <first> of the newest segment, checksum
//	current/fsimage_<txid>          the state after txid
//	current/*.tmp                   not finished: removed at the next start
//
// Ops are numbered from 1 (seq) besides: an op may take no transaction id, or several. All integers are big-endian,
// all checksums CRC-32C.
//
//	segment   magic "MDFSEDIT", u32 version, u32 checksum of Identity, u64 seq of the first op, u64 txid before it,
//	          u32 checksum; then records; at last, once closed, the end mark: a record without ops
//	record    u32 length of body, u32 checksum of body, u64 seq of the first op, u64 durable, u32 ops, u32 checksum
//	          of these, of the segment's checksum and of the record's offset; then the body
//	body      each op, preceded by its length as uvarint
//	image     magic "MDFSIMAG", u32 version, u32 checksum of Identity, u64 seq of the last op, u64 txid, u32 checksum;
//	          then chunks: u32 length, u32 checksum that goes on from the one before, bytes; an empty chunk ends it
//
// # What a crash leaves, and what is damage
//
// durable is the offset up to which the segment had been synced when the record was written. So a reader can tell
// the two apart: bytes in the last segment that are no record, with no later record that was written when they were
// durable already, are the trace of a crash. They were not acknowledged by a mode that syncs first; they are cut off with
// a log line. Anything else, in a closed segment or before, is a *CorruptError.
//
// A segment is created with its header and directory entry durable; it is closed by the end mark, a sync and a rename.
// An image is written under another name, synced and renamed, after the log up to there was synced. Files are
// removed last. So each step of a checkpoint leaves a directory that loads. A start syncs the names and the last segment
// before it builds on them: a process that was killed may not have.
//
// A segment that is gone altogether leaves no trace, so seen_txid names the newest one. It is written once that is durable,
// before an edit goes into it: what it names was not kept from beginning by a crash, and a segment that it does not name
// yet has no edits. A start wants that segment, closed or not, or a later one, with its header; else it is
// refused with a *CorruptError. A seen_txid that is damaged stops the start as VERSION does: it came by a rename, so no
// crash leaves half of it, and the disk that has changed it may have lost what it tells of. One that is missing does
// not: the directory is an earlier version's, or somebody wants to start with the edits that are there. It is made anew.
//
// # A group
//
// Stores hold a log of entries, images, and values by name, each value followed by its checksum: raft's votes and term, the
// Identity, the member's id. They are in memory, or in a folder:
//
//	raft.db                         raft-boltdb's file; a checksum is the last extension of each entry
//	snapshots/<term>-<index>-<ms>   an image, as raft's FileSnapshotStore keeps it; the newest two
//
// An entry of raft's log is one batch. All integers are big-endian.
//
//	entry     u32 version, u32 checksum of what follows, u64 term, u64 number, u32 ops, u32 checksum of Identity; then the
//	          body of a record
//	image     that of a directory, with the index of the last entry as seq
//
// The term is that in which the entry's writer led, the number counts its entries: by the two it knows its own ops again and
// need not decode them. An entry that got into the log in another term is void, on every member: its ops were decided upon in a
// reign that was over. A committed entry that cannot be decoded, and a store that fails, end the member: it is cut off before raft
// could say a word about what it did not do, and Err, Append and Close tell why.
//
// Members talk on one port. A connection begins with what it is for ('R' raft, 'P' probe, 'W' wish to lead), u32 checksum of Identity and the id
// of the member that is wanted, after its length as a byte: whoever has come to that address since is not taken for it. On a
// connection for probes a question is a u64 never used before; the answer is this number, u64 current term, u64 last index. A
// wish is the id of who has it, after its length as a byte; the answer is a byte, 1 where the leader hands over. The
// read fence (Fence) is a majority of answers with the leader's own term to a question put after the read came.
//
// # Goroutines
//
// OpenLocal starts two: the committer, which writes the log and calls the state machine, and one that makes overdue
// checkpoints. Close and Kill end both before they return. Where nobody waits, a caller does the committer's work for its
// own op (TryAppend); the turn token is with the one who does it. Segments are closed, and snapshots taken, by the committer
// alone.
//
// OpenRaft starts raft's own, and one each that makes entries, judges what became of them, makes the rounds of the fence, makes
// overdue checkpoints, and accepts connections; one for each accepted connection, and one for each other member that is
// probed. Close and Kill end all of them before they return. A member that has failed ends them by itself.
package editlog
