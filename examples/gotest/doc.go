// Package gotest shows how a program that keeps reports in HDFS is tested: with minidfs's own client, and with
// github.com/colinmarc/hdfs/v2. See the test files.
package gotest
