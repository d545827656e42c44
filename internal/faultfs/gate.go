package faultfs

import (
	"fmt"
	"math"
	"sync/atomic"
	"syscall"
)

// ErrFrozen is what operations on a frozen FS and on handles from before a power loss fail with.
var ErrFrozen = fmt.Errorf("disk cut off from its node: %w", syscall.EIO)

// gate is the time between two freezes, to which a handle belongs. Operations pass it; once shut it stays shut.
type gate struct {
	passing atomic.Int64 // operations under way; far below zero when shut
	open    atomic.Int64 // handles
	shut    chan struct{}
	empty   chan struct{} // takes a token when the last operation of a shut gate ends
}

func newGate() *gate {
	return &gate{shut: make(chan struct{}), empty: make(chan struct{}, 1)}
}

// enter lets an operation through unless the gate is shut. leave must follow.
func (g *gate) enter() bool {
	if g.passing.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.passing.Add(-1) == math.MinInt64 {
		select {
		case g.empty <- struct{}{}:
		default:
		}
	}
}

// close shuts the gate and waits until the operations that had passed are done. It is called once.
func (g *gate) close() {
	close(g.shut)
	if g.passing.Add(math.MinInt64) != math.MinInt64 {
		<-g.empty
	}
}

func (g *gate) isShut() bool { return g.passing.Load() < 0 }
