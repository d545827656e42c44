// Package osfs is the operating system's file system for servers that open and rename files all the time: package os asks
// the system up to six more times for each file, whether it could be polled for one, which no file on a disk can.
package osfs
