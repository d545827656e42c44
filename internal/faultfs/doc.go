// Package faultfs is the disks of a cluster and their breakage. Everything is an afero.Fs.
//
// The nouns:
//
//   - Disk is a disk in memory. Files lie in extents of 64 KiB that are reused, so that a block is written at the speed
//     of memory; small files take small buffers, and a file that is discarded takes none.
//   - FS wraps any file system: rules fail, delay, hold, tear or falsify its operations, it can be full, read-only or
//     frozen, and real directories behind it can lose power.
//   - Rule and Fault: which operations (Op, Kind) meet what, and a rule in force.
//   - Space is a capacity in bytes, of one disk or of several. It is a number: 20 TB cost nothing.
//
// # Behaviour
//
// Both behave as a POSIX file system does through package os, with the same errors: *fs.PathError around the kernel's
// number, *os.LinkError from Rename. Unlike afero.MemMapFs, Create wants its directory to exist, Remove refuses a full
// one, handles with O_APPEND do not overwrite one another, a handle keeps its name through a rename, reads and writes
// of one file may be concurrent, and Sync means something. A Disk has no links, owners, access times or umask, and
// nothing enforces permissions.
//
// # Power loss
//
// Names: creations, removals and renames are entries of a journal that becomes durable in order, as in ext4. Sync of a
// file makes durable all up to the entry that gave it its name, Sync of a directory all up to the last change in it. A
// loss undoes entries from the end, up to there at most. A file that was made and removed without ever being synced is
// forgotten at once, and old entries become durable when there are very many.
//
// Bytes: Sync makes a file's length and bytes durable. A loss keeps what was written since, drops it, keeps random
// sectors of 512 bytes up to a random length, or keeps the length and the first sectors while the rest is as it was, or
// zero. A synced byte that was not written to again is never lost. Only overwritten synced bytes are kept twice, until
// the next Sync.
//
// The package starts no goroutine. Nothing waits with a lock held: what a rule holds waits on channels and timers, also
// in testing/synctest.
package faultfs
