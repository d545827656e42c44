package rpc

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCut leaves a connection alone that is newer than the reason to cut it, and ends an older one with its calls; the
// next call dials.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlock()
		p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
		began := time.Now()
		time.Sleep(time.Second)
		failed := make(chan error, 1)
		go func() { failed <- p.Call(t.Context(), "block", blockRequest(), nil) }()
		synctest.Wait()
		p.Client.Cut(began)
		synctest.Wait()
		require.Empty(t, failed)
		p.Client.Cut(time.Now())
		requireConnError(t, <-failed, "block", true, errCut)
		_, err := p.stat(t.Context(), "/f")
		require.NoError(t, err)
	})
}
