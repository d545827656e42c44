// Package hdfspb holds the messages of the HDFS wire as Go types: one .proto file a group of protocols, compiled by
// the program in gen.
//
// Names, field numbers and types are HDFS's (Hadoop 3.4); the proto package ("minidfs") and the file paths
// ("minidfs/...") are our own, because Go keeps one table of both for a whole program and panics when two packages
// claim the same entry: a test binary may link another HDFS client beside minidfs. The wire never carries either.
//
// Protobuf stops at the handlers: the packages below them speak package dfs.
package hdfspb

//go:generate go -C gen run .
