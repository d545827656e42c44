package minidfs

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/minidfs/go-minidfs/internal/memnet"
)

// label is the name under which every goroutine of a cluster carries the cluster's id, as profiles show it. Goroutines
// inherit it, so that those a cluster leaves behind can be told from everybody else's.
const label = "minidfs"

// labelled runs f, and whatever goroutines it starts, under the cluster's label.
func labelled(ctx context.Context, id string, f func()) {
	pprof.Do(ctx, pprof.Labels(label, id), func(context.Context) { f() })
}

// leaks finds what the nodes, now stopped, hold on to: listeners, and files of their disks.
func (c *core) leaks(names []*NameNode, data []*DataNode) []string {
	var found []string
	nodes := make([]*node, 0, len(names)+len(data))
	for _, n := range names {
		nodes = append(nodes, n.node)
	}
	for _, d := range data {
		nodes = append(nodes, d.node)
	}
	for _, n := range nodes {
		for i, disk := range n.disks {
			if open := disk.Counts().OpenFiles; open > 0 {
				found = append(found, fmt.Sprintf("%d open files of %s on its disk %d", open, n.id, i+1))
			}
		}
		if listeners, _ := c.net.Open(n.id); listeners > 0 {
			found = append(found, fmt.Sprintf("%d listeners of %s", listeners, n.id))
		}
	}
	return found
}

// remains finds what is left of a closed cluster, after some patience with what is about to end: connections, whoever
// opened them through Dial, goroutines, temporary folders.
func (c *core) remains() []string {
	var found []string
	settled := eventually(func() bool { _, conns := c.net.Open(memnet.Any); return conns == 0 })
	if !settled {
		for _, conn := range c.net.Conns() {
			found = append(found, "connection "+conn)
		}
	}
	var stacks string
	if !eventually(func() bool { stacks = labelledStacks(c.id); return stacks == "" }) {
		found = append(found, "goroutines:\n"+stacks)
	}
	folders := []string{c.confDir}
	if c.dirs != nil && c.dirs.temporary {
		folders = append(folders, c.dirs.root)
	}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			found = append(found, "folder "+folder)
		}
	}
	return found
}

// eventually reports whether something comes true within a moment: a goroutine that has done its last work may need one
// to end.
func eventually(done func() bool) bool {
	for wait := 50 * time.Microsecond; ; wait *= 2 {
		if done() {
			return true
		}
		if wait > time.Second/2 {
			return false
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
