package main

import (
	"bytes"
	"errors"
	"os/signal"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStopSlow waits for as long as it takes to stop, and says that it does.
func TestStopSlow(t *testing.T) {
	signal.Reset() // what package signal makes at the first use must not be the bubble's
	failure := errors.New("the folder stays")
	for _, test := range []struct {
		name  string
		takes time.Duration
		err   error
		says  string
	}{
		{"soon", stopTimeout / 2, nil, ""},
		{"late", time.Hour, nil, "minidfs: serve: still stopping"},
		{"late, and it fails", time.Hour, failure, "minidfs: serve: still stopping"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var errs bytes.Buffer
				began := time.Now()
				err := stop(func() error { time.Sleep(test.takes); return test.err }, stdio{err: &errs})
				require.Equal(t, test.err, err)
				require.Equal(t, test.takes, time.Since(began))
				if test.says == "" {
					require.Empty(t, errs.String())
				} else {
					require.Contains(t, errs.String(), test.says)
				}
			})
		})
	}
}
