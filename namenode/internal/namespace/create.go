package namespace

import (
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// policyLazyPersist is the storage policy of files created with CreateLazyPersist.
const policyLazyPersist = 15

func (a *Create) plan(p *planner) error {
	if err := p.params.checkPathLength(a.Path, "create"); err != nil {
		return err
	}
	if !validName(a.Path) || strings.HasPrefix(a.Path, "/"+dotReserved) && !isRaw(a.Path) && !strings.HasPrefix(a.Path, inodesPath) {
		return dfs.Errorf(dfs.ClassInvalidPath, "Invalid path name %s", a.Path)
	}
	if err := a.checkNumbers(p); err != nil {
		return err
	}
	r, err := p.toCreate(a.Path, p.buf[:0])
	if err != nil {
		return err
	}
	if err := p.check(&r, need{ancestor: dfs.AccessWrite}); err != nil {
		return err
	}
	last := r.last()
	switch {
	case last == nil:
		if !a.CreateParent {
			if err := p.checkParent(&r); err != nil {
				return err
			}
		}
		if !a.Flags.Has(dfs.CreateNew) {
			return notFound("Can't overwrite non-existent %s", a.Path)
		}
		if err := p.checkNew(&r); err != nil {
			return err
		}
	case last.isDir():
		return dfs.Errorf(dfs.ClassFileAlreadyExists, "%s already exists as a directory", r.path)
	case !a.Flags.Has(dfs.CreateOverwrite):
		if err := p.checkNotOpen("CREATE_FILE", &r, a.Holder); err != nil {
			return err
		}
		return dfs.Errorf(dfs.ClassFileAlreadyExists, "%s for client %s already exists", r.path, p.caller.Host)
	default:
		if err := p.check(&r, need{target: dfs.AccessWrite}); err != nil {
			return err
		}
	}
	if p.begin(max(1, r.depth+1-len(r.nodes))) {
		return nil
	}
	a.build(p, &r, last)
	return nil
}

// build makes the step: a new file, which takes the place of old when that is not nil.
func (a *Create) build(p *planner, r *resolved, old *inode) {
	dir := r.nodes[len(r.nodes)-1]
	if old != nil {
		dir = r.parent()
	}
	f := &file{
		attrs: attrs{
			owner:  p.n.names.number(p.owner()),
			group:  dir.attrs().group,
			perm:   a.Perm & dfs.PermMask,
			policy: a.StoragePolicy,
		},
		replication: a.Replication,
		mtime:       p.now,
		atime:       p.now,
		blockSize:   max(a.BlockSize, 1),
		writer:      &writer{holder: a.Holder, host: p.caller.Host},
	}
	if a.Flags.Has(dfs.CreateLazyPersist) {
		f.policy = policyLazyPersist
	}
	above := attrs{owner: f.owner, group: f.group, perm: dir.attrs().perm | ownerBits}
	make := func(parent dfs.INodeID, name string) *inode {
		return newFile(p.nextINode(), parent, name, p.n.epoch, f)
	}
	var in *inode
	if old != nil {
		in = make(dir.id, old.name)
		p.step.kind, p.step.dir, p.step.node, p.step.old = stepLink, dir, in, old
		p.ending(old)
	} else {
		p.link(r, above, func(parent dfs.INodeID, name string) *inode {
			in = make(parent, name)
			return in
		})
	}
	p.res.Status = p.status(in, "", inherited(f.policy, policyOf(r.nodes)))
}

func (a *Create) checkNumbers(p *planner) error {
	if a.BlockSize < p.params.MinBlockSize {
		return ioError("Specified block size %d is less than configured minimum value dfs.namenode.fs-limits.min-block-size=%d", a.BlockSize, p.params.MinBlockSize)
	}
	return p.checkReplication(a.Path, a.Replication, ", clientName=", p.caller.Host)
}

// checkReplication refuses a number of replicas outside the configured bounds. The message ends with what and who.
func (p *planner) checkReplication(path string, r int16, what, who string) error {
	switch {
	case r > p.params.MaxReplication:
		return ioError("Requested replication factor of %d exceeds maximum of %d for %s%s%s", r, p.params.MaxReplication, path, what, who)
	case r < p.params.MinReplication:
		return ioError("Requested replication factor of %d is less than the required minimum of %d for %s%s%s", r, p.params.MinReplication, path, what, who)
	}
	return nil
}
