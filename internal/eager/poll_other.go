//go:build !linux

package eager

import (
	"runtime"
	"syscall"
)

const possible = false

func tryRead(uintptr, []byte) (int, error) { return 0, syscall.EAGAIN }

func yield() { runtime.Gosched() }
