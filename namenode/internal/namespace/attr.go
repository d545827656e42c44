package namespace

import (
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// changeAttrs makes the step of an op that changes what files and directories have in common.
func (p *planner) changeAttrs(in *inode, change func(*attrs)) {
	if in.isDir() {
		n := p.n
		p.wide(func() { change(&n.thaw(in).dir.attrs) })
		return
	}
	next := *in.file()
	change(&next.attrs)
	p.content(in, &next)
}

// toOwn resolves a path whose inode only its owner may change.
func (p *planner) toOwn(path string) (resolved, error) {
	r, err := p.toWrite(path, p.buf[:0])
	if err != nil {
		return r, err
	}
	if r.last() == nil {
		return r, notFound("Directory/File does not exist %s", r.path)
	}
	return r, p.check(&r, need{owner: true})
}

func (a *SetPermission) plan(p *planner) error {
	r, err := p.toOwn(a.Path)
	if err != nil {
		return err
	}
	perm := a.Perm & dfs.PermMask
	if r.last().attrs().perm == perm || p.begin(1) {
		return nil
	}
	p.changeAttrs(r.last(), func(x *attrs) { x.perm = perm })
	return nil
}

func (a *SetOwner) plan(p *planner) error {
	r, err := p.toOwn(a.Path)
	if err != nil {
		return err
	}
	if !p.super {
		if a.Owner != "" && a.Owner != p.caller.User {
			return dfs.Errorf(dfs.ClassAccessControl, "User %s is not a super user (non-super user cannot change owner).", p.caller.User)
		}
		if a.Group != "" && !slices.Contains(p.caller.Groups, a.Group) {
			return dfs.Errorf(dfs.ClassAccessControl, "User %s does not belong to %s", p.caller.User, a.Group)
		}
	}
	was := r.last().attrs()
	names := p.n.names
	if (a.Owner == "" || a.Owner == names.name(was.owner)) && (a.Group == "" || a.Group == names.name(was.group)) || p.begin(1) {
		return nil
	}
	p.changeAttrs(r.last(), func(x *attrs) {
		if a.Owner != "" {
			x.owner = names.number(a.Owner)
		}
		if a.Group != "" {
			x.group = names.number(a.Group)
		}
	})
	return nil
}

func (a *SetTimes) plan(p *planner) error {
	r, err := p.toWrite(a.Path, p.buf[:0])
	if err != nil {
		return err
	}
	if err := p.check(&r, need{target: dfs.AccessWrite}); err != nil {
		return err
	}
	in := r.last()
	if in == nil {
		return notFound("File/Directory %s does not exist.", r.path)
	}
	if a.MTime == -1 && a.ATime == -1 || p.begin(1) {
		return nil
	}
	if in.isDir() {
		n := p.n
		p.wide(func() {
			d := n.thaw(in).dir
			if a.MTime != -1 {
				d.mtime = a.MTime
			}
			if a.ATime != -1 {
				d.features = d.features.with(func(f *features) { f.atime = a.ATime })
			}
		})
		return nil
	}
	next := *in.file()
	if a.MTime != -1 {
		next.mtime = a.MTime
	}
	if a.ATime != -1 {
		next.atime = a.ATime
	}
	p.content(in, &next)
	return nil
}

func (a *TouchAccess) plan(p *planner) error {
	in := p.byID(a.FileID)
	if in == nil || in.isDir() || in.file().atime >= a.ATime || p.begin(1) {
		return nil
	}
	next := *in.file()
	next.atime = a.ATime
	p.content(in, &next)
	return nil
}

func (a *SetReplication) plan(p *planner) error {
	if err := p.checkReplication(a.Path, a.Replication, "", ""); err != nil {
		return err
	}
	r, err := p.toWrite(a.Path, p.buf[:0])
	if err != nil {
		return err
	}
	if err := p.check(&r, need{target: dfs.AccessWrite}); err != nil {
		return err
	}
	in := r.last()
	if in == nil || in.isDir() {
		return nil
	}
	p.res.Bool = true
	if p.begin(1) {
		return nil
	}
	next := *in.file()
	next.replication = a.Replication
	p.content(in, &next)
	return nil
}

func (a *SetStoragePolicy) plan(p *planner) error {
	r, err := p.toWrite(a.Path, p.buf[:0])
	if err != nil {
		return err
	}
	if err := p.check(&r, need{target: dfs.AccessWrite}); err != nil {
		return err
	}
	in := r.last()
	switch {
	case in == nil:
		return notFound("File/Directory does not exist: %s", r.path)
	case !in.isDir() && a.Policy == policyLazyPersist:
		return illegal("Policy BlockStoragePolicy{LAZY_PERSIST:15, storageTypes=[RAM_DISK, DISK], creationFallbacks=[DISK], replicationFallbacks=[DISK]} cannot be set after file creation.")
	case !in.isDir() && in.attrs().policy == policyLazyPersist:
		return illegal("Existing policy LAZY_PERSIST cannot be changed after file creation.")
	}
	if p.begin(1) {
		return nil
	}
	p.changeAttrs(in, func(x *attrs) { x.policy = a.Policy })
	return nil
}
