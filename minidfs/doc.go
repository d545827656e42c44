// Package minidfs runs a whole HDFS inside one Go process: a namenode, any number of datanodes, real HDFS protocols.
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
//     kill, pause and start them. A node's disks, in memory or not, outlive its server.
//
// With MINIDFS_URI set, Start attaches to a real HDFS instead, and the same test runs there; verbs that would break
// something skip the test.
//
// The cluster itself starts no goroutine; its nodes do, and Close ends them all.
package minidfs
