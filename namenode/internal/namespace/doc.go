// Package namespace is the file system's tree as a pure deterministic state machine: inodes, blocks of files, leases,
// snapshots, extended attributes, counters, parameters and the retry cache.
//
// Its nouns:
//
//   - Op: one change that somebody asks for, with everything that it depends on (who, when, what). It has a compact
//     binary form for the journal.
//   - Namespace: the state. Apply, called by one goroutine in log order, is the only thing that changes it; every
//     namenode that applies the same ops has the same state and gives the same Results.
//   - Image: a frozen view of the state, taken in constant time and written while Apply goes on.
//   - Observer: hears of blocks as they appear, change and vanish, in log order.
//
// The tree is persistent. Directories keep their children in B-trees that are copied in constant time; an inode that
// was made in an earlier epoch than the present one is copied, with its ancestors, before it is changed. A snapshot,
// of HDFS's kind or the Image's, therefore is a pointer and a new epoch. Inodes name their parent by id; id -> inode
// and block -> file are indexes of the present state, rebuilt when an image is restored.
//
// An op is first planned (every check made, ids, stamps and transaction ids handed out) and then executed, which cannot
// fail. Check plans without executing. Under partitioned locks a batch is cut into waves of changes to different
// names, whose execution may run in parallel; an op that reaches further is executed alone.
//
// The package reads no clock, draws no random number, does no I/O of its own, and leaves no goroutine behind: those of
// a wave end before Apply returns.
package namespace
