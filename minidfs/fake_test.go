package minidfs

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// fakeT is a test that fails without failing the real one.
type fakeT struct {
	mu       sync.Mutex
	cleanups []func()
	errors   []string
	logs     []string
	skipped  string
}

func (t *fakeT) Helper() {}

func (t *fakeT) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.logs = append(t.logs, fmt.Sprintf(format, args...))
}

func (t *fakeT) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *fakeT) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *fakeT) Skipf(format string, args ...any) {
	t.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (t *fakeT) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.errors) > 0
}

func (t *fakeT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// run runs a test body, which may end early, and then its cleanups.
func (t *fakeT) run(body func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(t.cleanups) - 1; i >= 0; i-- {
				t.cleanups[i]()
			}
		}()
		body()
	}()
	<-done
}

func (t *fakeT) text() string { return strings.Join(t.errors, "\n") }
