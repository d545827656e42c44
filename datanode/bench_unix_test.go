//go:build unix

package datanode

import (
	"syscall"
	"time"
)

// processorTime is what the process has used, which says more than the clock on a busy machine.
func processorTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
