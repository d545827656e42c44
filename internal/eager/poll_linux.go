package eager

import (
	"runtime"
	"syscall"
)

const possible = true

// tryRead reads what is there; EAGAIN where nothing is.
func tryRead(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

// yield lets other goroutines run, then other threads of the machine.
func yield() {
	runtime.Gosched()
	_, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) // it cannot fail
}
