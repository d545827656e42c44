// Package client is an HDFS client for Go. It speaks Hadoop's own protocols, needs no Java, and works unchanged against
// minidfs and against a real Hadoop.
//
// The nouns: a Client speaks to one file system as one user; a Reader and a Writer are open files; a FileInfo, which is an
// fs.FileInfo, describes a file or directory; a RemoteError, found with errors.As, is what a namenode answered. FS and
// Afero show the file system as an io/fs.FS and an afero.Fs.
//
// # Contexts
//
// The context of a call bounds that call. The context of Open, Create and Append bounds the whole life of the Reader or
// Writer: a Writer whose context ends before Close aborts the file.
//
// # On the wire
//
// Calls go to the active namenode over Hadoop RPC, and follow it: a standby's answer, a broken connection or a long
// silence sends a call to the next namenode under the same call id, so that it is carried out once. Data go to and come
// from datanodes by DataTransferProtocol: a Writer sends packets down a pipeline of datanodes and keeps them until they
// are acked, a Reader verifies each chunk and goes to the next replica when one fails.
//
// Each file that is written has a lease holder of its own. A file whose Close failed is no longer renewed, while the other
// files of the client are.
//
// # Goroutines
//
//   - One per open Writer sends its packets (streamer.run); Close, Abort or the end of its context stop it.
//   - One per connected pipeline reads acks (pipeline.readAcks); it ends with the connection, and the streamer waits for it.
//   - One per Client renews leases while files are open (leases.renewAll); the last Close or Abort ends it.
//   - A call that is silent for long has one (hedge.run), and one more for each other namenode where it is repeated; the call
//     waits for them.
//   - One per namenode asks for its state while calls look for the active one (probe.run); the last of them waits for it.
//   - The connections to namenodes have their own (package rpc); Client.Close ends them.
//
// Readers start none. Idle connections to datanodes are closed by a timer.
package client
