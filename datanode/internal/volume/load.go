package volume

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// found is the files of one block in one directory.
type found struct {
	dir      string
	data     bool
	len      int64
	metas    []dfs.GenStamp
	metaLens []int64
}

// load finds the volume's replicas and adds them to all. What was being copied is removed; what was being written is
// cut to the length that its checksums confirm and becomes RWR; a replica caught between two directories counts as
// being written.
func (v *Volume) load(all map[dfs.BlockID]*replica, log *slog.Logger) error {
	if err := v.clearTmp(); err != nil {
		return err
	}
	open := make(map[dfs.BlockID]*found)
	if err := v.scan(v.layout.rbw, open); err != nil {
		return err
	}
	done := make(map[dfs.BlockID]*found)
	if err := v.scanFinalized(done); err != nil {
		return err
	}
	for id, f := range open {
		if err := v.loadOpen(id, f, done[id], all, log); err != nil {
			return err
		}
	}
	for id, f := range done {
		if err := v.loadFinalized(id, f, all, log); err != nil {
			return err
		}
	}
	return nil
}

func (v *Volume) clearTmp() error {
	infos, err := afero.ReadDir(v.cfg.FS, v.layout.tmp)
	for _, i := range infos {
		if err := v.cfg.FS.RemoveAll(filepath.Join(v.layout.tmp, i.Name())); err != nil {
			return err
		}
	}
	return err
}

// scan collects the replica files of one directory.
func (v *Volume) scan(dir string, into map[dfs.BlockID]*found) error {
	infos, err := afero.ReadDir(v.cfg.FS, dir)
	if err != nil {
		return err
	}
	for _, i := range infos {
		id, gs, meta, ok := parseName(i.Name())
		if !ok || i.IsDir() {
			continue
		}
		f := into[id]
		if f == nil {
			f = &found{dir: dir}
			into[id] = f
		}
		switch {
		case meta && f.dir == dir:
			f.metas = append(f.metas, gs)
			f.metaLens = append(f.metaLens, i.Size())
		case !meta && (f.dir == dir || !f.data):
			f.data, f.len = true, i.Size()
		}
	}
	return nil
}

// scanFinalized walks the two levels under finalized.
func (v *Volume) scanFinalized(into map[dfs.BlockID]*found) error {
	return v.eachDir(v.layout.finalized, func(dir string) error {
		return v.eachDir(dir, func(dir string) error {
			v.made[dir] = true
			return v.scan(dir, into)
		})
	})
}

func (v *Volume) eachDir(dir string, f func(string) error) error {
	infos, err := afero.ReadDir(v.cfg.FS, dir)
	if err != nil {
		return err
	}
	for _, i := range infos {
		if i.IsDir() {
			if err := f(filepath.Join(dir, i.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest keeps the checksum file with the greatest stamp and removes others.
func (v *Volume) newest(id dfs.BlockID, f *found) (gs dfs.GenStamp, metaLen int64, err error) {
	best := -1
	for i, g := range f.metas {
		if best < 0 || g > f.metas[best] {
			best = i
		}
	}
	for i, g := range f.metas {
		if i != best {
			err = errors.Join(err, v.cfg.FS.Remove(filepath.Join(f.dir, metaName(id, g))))
		}
	}
	if best < 0 {
		return 0, 0, err
	}
	return f.metas[best], f.metaLens[best], err
}

// loadFinalized adds a replica from under finalized. One without checksums is kept under stamp 0, which no file asks
// for: its namenode decides.
func (v *Volume) loadFinalized(id dfs.BlockID, f *found, all map[dfs.BlockID]*replica, log *slog.Logger) error {
	if !f.data { // checksums of a copy that never arrived, or of a replica that is in rbw again
		for _, gs := range f.metas {
			if err := v.cfg.FS.Remove(filepath.Join(f.dir, metaName(id, gs))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	gs, metaLen, err := v.newest(id, f)
	if err != nil {
		return err
	}
	r := &replica{id: id, vol: v, gs: gs, state: dfs.ReplicaFinalized, len: f.len, acked: f.len, metaLen: metaLen}
	if want := v.layout.dir(id, r.state); f.dir != want {
		if err := v.rehome(r, f.dir, want, metaLen > 0); err != nil {
			return err
		}
	}
	return v.insert(r, all, log)
}

// rehome moves a replica to the directory where it belongs.
func (v *Volume) rehome(r *replica, from, to string, meta bool) error {
	if err := v.mkdirs(to); err != nil {
		return err
	}
	if meta {
		name := metaName(r.id, r.gs)
		if err := v.cfg.FS.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	name := dataName(r.id)
	return v.cfg.FS.Rename(filepath.Join(from, name), filepath.Join(to, name))
}

// loadOpen adds a replica from rbw. Its checksum file may have stayed in, or already gone to, the finalized directory:
// the data file moves last on its way there and first on its way back.
func (v *Volume) loadOpen(id dfs.BlockID, f, done *found, all map[dfs.BlockID]*replica, log *slog.Logger) error {
	if f.data && len(f.metas) == 0 && done != nil && !done.data && len(done.metas) > 0 {
		gs, n, err := v.newest(id, done)
		if err != nil {
			return err
		}
		name := metaName(id, gs)
		if err := v.cfg.FS.Rename(filepath.Join(done.dir, name), filepath.Join(f.dir, name)); err != nil {
			return err
		}
		f.metas, f.metaLens = []dfs.GenStamp{gs}, []int64{n}
	}
	gs, metaLen, err := v.newest(id, f)
	if err != nil {
		return err
	}
	r := &replica{id: id, vol: v, gs: gs, state: dfs.ReplicaRWR, len: f.len, metaLen: metaLen}
	if !f.data || metaLen == 0 {
		log.Warn("volume: removing half of a replica", "replica", r, "dir", f.dir)
		return v.removeFiles(r)
	}
	if err := v.verify(r); err != nil {
		return err
	}
	if r.len < f.len {
		log.Info("volume: cut a replica to what its checksums confirm", "replica", r, "was", f.len)
	}
	return v.insert(r, all, log)
}

// insert adds r to all. Of two replicas of a block the newer one stays, then the longer one.
func (v *Volume) insert(r *replica, all map[dfs.BlockID]*replica, log *slog.Logger) error {
	r.safe = r.len
	v.used.Add(r.len + r.metaLen)
	old := all[r.id]
	if old == nil {
		all[r.id] = r
		return nil
	}
	keep, drop := old, r
	if r.gs > old.gs || r.gs == old.gs && (r.state < old.state || r.state == old.state && r.len > old.len) {
		keep, drop = r, old
	}
	log.Warn("volume: two replicas of a block, removing the worse one", "keep", keep, "in", keep.vol.cfg.Dir, "remove", drop, "from", drop.vol.cfg.Dir)
	all[r.id] = keep
	drop.vol.used.Add(-drop.len - drop.metaLen)
	return drop.vol.removeFiles(drop)
}

// verify sets r.len to what the checksums confirm and cuts both files to that. A checksum file that makes no sense
// leaves nothing.
func (v *Volume) verify(r *replica) error {
	f := r.files()
	data, err := v.cfg.FS.OpenFile(f.data, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer data.Close()
	meta, err := v.cfg.FS.OpenFile(f.meta, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer meta.Close()
	h := make([]byte, headerLen)
	n, err := readFull(meta, h, 0)
	if err != nil {
		return err
	}
	c, err := parseHeader(h[:n])
	if err != nil {
		r.len = 0
		c = Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
		if _, err := meta.WriteAt(c.appendHeader(nil), 0); err != nil {
			return err
		}
	} else if err := v.measure(r, c, data, meta); err != nil {
		return err
	}
	r.check = c
	if err := data.Truncate(r.len); err != nil {
		return err
	}
	r.metaLen = c.metaLen(r.len)
	return meta.Truncate(r.metaLen)
}

// measure finds how far data and checksums agree, and mends a torn sum there.
func (v *Volume) measure(r *replica, c Checksum, data io.ReaderAt, meta afero.File) error {
	size := c.Type.Size()
	if size == 0 {
		return nil
	}
	limit := r.len
	if n := (r.metaLen - headerLen) / int64(size) * int64(c.BytesPerChunk); limit > n {
		limit = n
	}
	if v.cfg.Null {
		r.len = limit - int64(c.partial(limit))
		return nil
	}
	step := max(1, (1<<20)/c.BytesPerChunk) // chunks at a time
	buf := make([]byte, step*c.BytesPerChunk)
	sums := make([]byte, step*size)
	r.len = 0
	for r.len < limit {
		n := int(min(int64(len(buf)), limit-r.len))
		got, err := readFull(data, buf[:n], r.len)
		if err != nil {
			return err
		}
		m, err := readFull(meta, sums[:int(c.chunks(int64(n)))*size], c.metaOffset(r.len))
		if err != nil {
			return err
		}
		good, sum := c.prefix(buf[:got], sums[:m])
		r.len += int64(good)
		r.sum = sum
		if good < n {
			if r.len%int64(c.BytesPerChunk) > 0 {
				return nil
			}
			return v.mend(r, c, buf[good:got], sums[good/c.BytesPerChunk*size:m], meta)
		}
	}
	return nil
}

// mend takes the chunk that follows r.len in as well, where a power loss has torn its sum, and writes the right one.
func (v *Volume) mend(r *replica, c Checksum, chunk, stored []byte, meta io.WriterAt) error {
	n := c.mended(r.len, chunk, stored)
	if n == 0 {
		return nil
	}
	sums, sum := c.extend(nil, 0, 0, chunk[:n])
	_, err := meta.WriteAt(sums, c.metaOffset(r.len))
	r.len, r.sum = r.len+int64(n), sum
	return err
}

// readFull reads until p is full or the file ends.
func readFull(f io.ReaderAt, p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		m, err := f.ReadAt(p[n:], off+int64(n))
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, fmt.Errorf("volume: read at %d gave no bytes: %w", off+int64(n), io.ErrNoProgress)
		}
	}
	return n, nil
}

// removeFiles removes the files of r; those that are not there are no error.
func (v *Volume) removeFiles(r *replica) error {
	f := r.files()
	var err error
	for _, name := range []string{f.data, f.meta} {
		if e := v.cfg.FS.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
