package namespace

import (
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// toAdminister resolves the directory of a call that only superusers may make.
func (p *planner) toAdminister(path string) (*inode, string, error) {
	if !p.super {
		return nil, "", p.superuserNeeded()
	}
	r, err := p.toWrite(path, p.buf[:0])
	if err != nil {
		return nil, "", err
	}
	in, err := needDir(&r)
	return in, r.path, err
}

func needDir(r *resolved) (*inode, error) {
	switch in := r.last(); {
	case in == nil:
		return nil, notFound("Directory does not exist: %s", r.path)
	case !in.isDir():
		return nil, dfs.Errorf(dfs.ClassPathIsNotDirectory, "`%s': Is not a directory", r.path)
	default:
		return in, nil
	}
}

// toSnapshots resolves the snapshottable directory of a call that its owner may make.
func (p *planner) toSnapshots(path string) (*inode, string, error) {
	r, err := p.toOwn(path)
	if err != nil {
		return nil, "", err
	}
	in, err := needSnapshottable(&r)
	return in, r.path, err
}

func needSnapshottable(r *resolved) (*inode, error) {
	in, err := needDir(r)
	if err == nil && in.snaps() == nil {
		err = snapshotError("Directory is not a snapshottable directory: %s", r.path)
	}
	return in, err
}

func snapshotError(format string, args ...any) error {
	return dfs.Errorf(dfs.ClassSnapshot, format, args...)
}

// setSnaps makes the step that gives a directory another list of snapshots. more does the rest of it.
func (p *planner) setSnaps(in *inode, snaps *snapshottable, more func(d *directory)) {
	n := p.n
	p.wide(func() {
		d := n.thaw(in).dir
		before := 0
		if d.features != nil && d.features.snaps != nil {
			before = len(d.features.snaps.list)
		}
		d.features = d.features.with(func(f *features) { f.snaps = snaps })
		if snaps == nil {
			delete(n.snapDirs, in.id)
		} else {
			n.snapDirs[in.id] = struct{}{}
			n.counts.Snapshots += int64(len(snaps.list) - before)
		}
		if more != nil {
			more(d)
		}
	})
}

func (a *AllowSnapshot) plan(p *planner) error {
	in, path, err := p.toAdminister(a.Path)
	if err != nil {
		return err
	}
	if in.snaps() == nil {
		if err := p.checkNested(in, path); err != nil {
			return err
		}
	}
	if p.begin(1) || in.snaps() != nil {
		return nil
	}
	p.setSnaps(in, &snapshottable{}, nil)
	return nil
}

// checkNested refuses a snapshottable directory above or below another.
func (p *planner) checkNested(in *inode, path string) error {
	if p.locked {
		p.n.lock.readIndex()
		defer p.n.lock.unreadIndex()
	}
	for _, id := range p.n.sortedSnapDirs() {
		d := p.n.inodes.get(id)
		switch {
		case p.n.below(in, d):
			return snapshotError("Nested snapshottable directories not allowed: path=%s, the ancestor %s is already a snapshottable directory.", path, p.n.path(d))
		case p.n.below(d, in):
			return snapshotError("Nested snapshottable directories not allowed: path=%s, the subdirectory %s is already a snapshottable directory.", path, p.n.path(d))
		}
	}
	return nil
}

func (n *Namespace) sortedSnapDirs() []dfs.INodeID {
	ids := make([]dfs.INodeID, 0, len(n.snapDirs))
	for id := range n.snapDirs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (a *DisallowSnapshot) plan(p *planner) error {
	in, path, err := p.toAdminister(a.Path)
	if err != nil {
		return err
	}
	t := in.snaps()
	if t != nil && len(t.list) > 0 {
		return snapshotError("The directory %s has snapshot(s). Please redo the operation after removing all the snapshots.", path)
	}
	if p.begin(1) || t == nil {
		return nil
	}
	p.setSnaps(in, nil, nil)
	return nil
}

// checkSnapshotName refuses what cannot be the name of a snapshot.
func (p *planner) checkSnapshotName(path, name string) error {
	switch {
	case strings.Contains(name, "/"):
		return illegal("Snapshot name cannot contain \"/\"")
	case name == dotSnapshot:
		return illegal("\"%s\" is a reserved name.", name)
	}
	return p.checkLimits(nil, path, name)
}

func (a *CreateSnapshot) plan(p *planner) error {
	r, err := p.toOwn(a.Path)
	if err != nil {
		return err
	}
	if a.Name == dotSnapshot || a.Name == "." || a.Name == ".." || a.Name == "" || strings.ContainsAny(a.Name, "/:") {
		return dfs.Errorf(dfs.ClassInvalidPath, "Invalid path name Invalid snapshot name: %s", a.Name)
	}
	if err := p.checkSnapshotName(r.path, a.Name); err != nil {
		return err
	}
	in, err := needSnapshottable(&r)
	if err != nil {
		return err
	}
	t := in.snaps()
	if int64(len(t.list)) >= p.params.MaxSnapshots {
		return snapshotError("Failed to add snapshot: there are already %d snapshot(s) and the max snapshot limit is %d", len(t.list), p.params.MaxSnapshots)
	}
	i, exists := t.search(a.Name)
	if exists {
		return snapshotError("Failed to add snapshot: there is already a snapshot with the same name \"%s\".", a.Name)
	}
	p.res.Path = join(join(r.path, dotSnapshot), a.Name)
	if p.begin(1) {
		return nil
	}
	n, now, id, name := p.n, p.now, p.c.snapshot, strings.Clone(a.Name)
	p.c.snapshot++
	p.c.snapshots++
	p.wide(func() {
		// The directory as it is now becomes the snapshot's root; the next epoch's copy of it gets the new list.
		d := n.thaw(in)
		d.dir.mtime = now
		n.epoch++
		s := &snapshot{id: id, name: name, root: d, mtime: now}
		c := n.thaw(d).dir
		d.dir.features = d.dir.features.with(func(f *features) { f.snaps = nil })
		list := slices.Insert(slices.Clone(t.list), i, s)
		c.features = c.features.with(func(f *features) { f.snaps = &snapshottable{list} })
		n.counts.Snapshots++
	})
	return nil
}

func (a *RenameSnapshot) plan(p *planner) error {
	r, err := p.toOwn(a.Path)
	if err != nil {
		return err
	}
	if err := p.checkSnapshotName(r.path, a.New); err != nil {
		return err
	}
	in, err := needSnapshottable(&r)
	if err != nil {
		return err
	}
	t := in.snaps()
	i, exists := t.search(a.Old)
	if !exists {
		return snapshotError("The snapshot %s does not exist for directory %s", a.Old, r.path)
	}
	if a.New == a.Old {
		p.begin(1)
		return nil
	}
	if t.find(a.New) != nil {
		return snapshotError("The snapshot %s already exists for directory %s", a.New, r.path)
	}
	if p.begin(1) {
		return nil
	}
	s := *t.list[i]
	s.name = strings.Clone(a.New)
	next := &snapshottable{slices.Delete(slices.Clone(t.list), i, i+1)}
	at, _ := next.search(s.name)
	next.list = slices.Insert(next.list, at, &s)
	p.setSnaps(in, next, nil)
	return nil
}

func (a *DeleteSnapshot) plan(p *planner) error {
	in, path, err := p.toSnapshots(a.Path)
	if err != nil {
		return err
	}
	t := in.snaps()
	i, exists := t.search(a.Name)
	if !exists {
		return snapshotError("Cannot delete snapshot %s from path %s: the snapshot does not exist.", a.Name, path)
	}
	if p.begin(1) {
		return nil
	}
	n, now, id := p.n, p.now, t.list[i].id
	p.c.snapshots--
	p.setSnaps(in, &snapshottable{slices.Delete(slices.Clone(t.list), i, i+1)}, func(d *directory) {
		d.mtime = now
		n.freeSnapshot(id)
	})
	return nil
}

// freeSnapshot lets go of the blocks that a snapshot held.
func (n *Namespace) freeSnapshot(id int) {
	for _, b := range n.keptBy[id] {
		k, _ := n.kept.Get(b)
		holders := slices.DeleteFunc(slices.Clone(k.holders), func(s int) bool { return s == id })
		if len(holders) > 0 {
			n.kept.Set(b, keptBlock{BlockInfo: k.BlockInfo, holders: holders})
			continue
		}
		n.kept.Delete(b)
		n.observer.RemoveBlock(b)
	}
	delete(n.keptBy, id)
}
