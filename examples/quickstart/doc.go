// Command quickstart starts an HDFS in this process, copies files into it, reads them back, and shows where their
// blocks lie.
//
//	go run ./examples/quickstart [FILE...]
//
// Without files it makes up one of 64 MB.
package main
