package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Audit compares what is known of replicas with the files on the volumes, and the bytes in use with both. It changes
// nothing. Replicas that somebody works on are left out; when something changes meanwhile Audit looks again, until ctx
// ends. What it returns is a bug of ours, or damage.
func (s *Set) Audit(ctx context.Context) error {
	for {
		before, ok := s.books()
		if !ok {
			return nil
		}
		var errs []error
		for _, v := range before.volumes {
			errs = append(errs, v.audit(before.replicas))
		}
		err := errors.Join(errs...)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if after, _ := s.books(); before.same(after) {
			return err
		}
	}
}

// books is what is known of replicas at a moment.
type books struct {
	volumes  []*Volume
	replicas map[dfs.BlockID]entry
	used     map[*Volume]int64
}

// entry is a copy of what the audit needs to know of a replica.
type entry struct {
	vol          *Volume
	state        dfs.ReplicaState
	gs           dfs.GenStamp
	len, metaLen int64
	moved        int
	busy         bool // somebody works on it
}

// books copies what is known; false: there is nothing to compare.
func (s *Set) books() (books, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usableLocked() != nil {
		return books{}, false
	}
	b := books{replicas: make(map[dfs.BlockID]entry, len(s.replicas)), used: make(map[*Volume]int64)}
	for _, v := range s.volumes {
		if !v.Failed() {
			b.volumes = append(b.volumes, v)
			b.used[v] = v.Used()
		}
	}
	for id, r := range s.replicas {
		b.replicas[id] = entry{
			vol: r.vol, state: r.place(), gs: r.gs, len: r.len, metaLen: r.metaLen, moved: r.moved,
			busy: r.doomed || r.busy != nil || r.writer != nil,
		}
	}
	return b, true
}

func (b books) same(o books) bool {
	if len(b.replicas) != len(o.replicas) || len(b.volumes) != len(o.volumes) {
		return false
	}
	for id, e := range b.replicas {
		if o.replicas[id] != e {
			return false
		}
	}
	for v, used := range b.used {
		if o.used[v] != used {
			return false
		}
	}
	return true
}

// audit compares the replicas of one volume with its files.
func (v *Volume) audit(replicas map[dfs.BlockID]entry) error {
	files, err := v.files()
	if err != nil {
		return fmt.Errorf("volume: %s: %w", v.cfg.Dir, err)
	}
	var errs []error
	fail := func(format string, args ...any) {
		if len(errs) < 20 {
			errs = append(errs, fmt.Errorf("volume: "+format, args...))
		}
	}
	var sum int64
	quiet := true
	for id, e := range replicas {
		if e.vol != v {
			continue
		}
		sum += e.len + e.metaLen
		quiet = quiet && !e.busy
		at := v.layout.files(id, e.gs, e.state)
		for path, want := range map[string]int64{at.data: e.len, at.meta: e.metaLen} {
			have, ok := files[path]
			delete(files, path)
			switch {
			case e.busy || path == at.meta && e.metaLen == 0:
			case !ok:
				fail("%s is missing, of a replica that is %s with %d bytes", path, e.state, e.len)
			case have < want || have > want && e.state == dfs.ReplicaFinalized:
				fail("%s has %d bytes, should have %d: the replica is %s", path, have, want, e.state)
			}
		}
	}
	for path := range files {
		id, _, _, ok := parseName(filepath.Base(path))
		if e, known := replicas[id]; ok && !(known && e.busy) {
			fail("%s belongs to no replica", path)
		}
	}
	if used := v.Used(); quiet && used != sum {
		fail("%s: %d bytes are counted as used, the replicas have %d", v.cfg.Dir, used, sum)
	}
	return errors.Join(errs...)
}

// files gives the sizes of all files in the replicas' directories.
func (v *Volume) files() (map[string]int64, error) {
	sizes := map[string]int64{}
	add := func(dir string) error {
		infos, err := afero.ReadDir(v.cfg.FS, dir)
		for _, i := range infos {
			if !i.IsDir() {
				sizes[filepath.Join(dir, i.Name())] = i.Size()
			}
		}
		return err
	}
	err := errors.Join(add(v.layout.rbw), add(v.layout.tmp), v.eachDir(v.layout.finalized, func(dir string) error {
		return v.eachDir(dir, add)
	}))
	return sizes, err
}
