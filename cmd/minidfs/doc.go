// Command minidfs runs a whole HDFS in one process, and talks to any HDFS.
//
//	minidfs serve [flags] [-- CMD ARGS]   an HDFS until SIGTERM, or for as long as CMD runs
//	minidfs fs -uri URI COMMAND ARGS      a small shell
//
// It is a thin layer over packages minidfs and client; `minidfs help` and --help at every level say more.
package main
