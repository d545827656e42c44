// Package faultfs is the disks of a cluster, and their breakage: everything is an afero.Fs.
//
// The nouns:
//
//   - Disk is a disk in memory. Files lie in extents of 64 KiB that are reused, so that a block is written at the speed
//     of memory; small files take small buffers. It behaves as a POSIX file system behaves through package os.
//   - Space is a capacity in bytes, of one disk or of several.
//
// The package starts no goroutine.
package faultfs
