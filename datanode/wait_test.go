package datanode

import (
	"runtime"
	"testing"
	"time"
)

// until spins until ok; for what real connections do in their own time.
func until(t testing.TB, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("never happened")
		}
	}
}
