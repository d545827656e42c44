package minidfs

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"
)

// label is the name under which every goroutine of a cluster carries the cluster's id, as profiles show it. Goroutines
// inherit it, so that those a cluster leaves behind can be told from everybody else's.
const label = "minidfs"

// labelled runs f, and whatever goroutines it starts, under the cluster's label.
func labelled(ctx context.Context, id string, f func()) {
	pprof.Do(ctx, pprof.Labels(label, id), func(context.Context) { f() })
}

// leftovers are the stacks of a cluster's goroutines that still run, after some patience: a goroutine that has done its
// last work may need a moment to end.
func leftovers(id string) string {
	for wait := 50 * time.Microsecond; ; wait *= 2 {
		stacks := labelledStacks(id)
		if stacks == "" || wait > time.Second {
			return stacks
		}
		time.Sleep(wait)
	}
}

func labelledStacks(id string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	mark := fmt.Sprintf("%q:%q", label, id)
	var found []string
	for _, group := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(group, mark) {
			found = append(found, group)
		}
	}
	return strings.Join(found, "\n\n")
}

// randomSeed draws a seed that is not 0 and short enough to type.
func randomSeed() uint64 {
	var b [8]byte
	crand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])>>20 | 1
}
