// Package minidfs runs a whole HDFS inside one Go process: one namenode or several, any number of datanodes, real
// HDFS protocols.
//
//	func TestReport(t *testing.T) {
//		c := minidfs.Start(t)                                   // 1 namenode, 3 datanodes, in memory, ready
//		fs := c.Client("alice")                                 // a *client.Client
//		err := fs.WriteFile(t.Context(), c.Path("f"), []byte("x"))
//		...
//	}
//
// The nouns:
//
//   - A Cluster is the whole, made by Start (for tests: stopped, checked for consistency and for leaks with the test) or
//     New (for programs).
//   - An Option shapes it; Conf takes HDFS's own configuration keys.
//   - A NameNode and a DataNode are handles of its nodes, by stable names (nn1, dn1, dn2...), with the verbs that stop,
//     kill, pause and start them. A node's disks, in memory or not, and its ports outlive its server.
//   - A Fault, put in force by Inject, is what happens to some calls or data operations; Net has faults of the network.
//
// Check says whether the parts of a cluster agree: Start calls it when the test ends. For gives one test its part of a
// cluster that several share.
//
// With MINIDFS_URI set, Start attaches to a real HDFS instead, and the same test runs there; verbs that would break
// something skip the test.
//
// # On the disk
//
//	DIR/minidfs-cluster   says whose folder this is, and in which format
//	DIR/nn1               the journal and the images of a namenode; of one of several its part of the shared log, in raft
//	DIR/dn1/data1         the first volume of a datanode
//
// # Goroutines
//
// The nodes start theirs, Close ends them all. All carry the pprof label minidfs=ID, by which leaks are told from what
// others do. Verbs that act on several nodes start one for each and wait for it.
package minidfs
