// Package dfs is the vocabulary that every part of minidfs shares: blocks and generation stamps, storages and
// replica states, permissions and flags, paths, and the errors of HDFS by their Java class names.
//
// It imports the standard library only, starts no goroutine and holds no state.
package dfs
