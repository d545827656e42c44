package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// Params are the settings that the meaning of an op depends on. They are state: only a SetParams op changes them.
type Params struct {
	Permissions      bool   // off: everybody may do everything, as with dfs.permissions.enabled=false
	Superuser        string // the namenode's own user
	Supergroup       string // its members are superusers too
	Pool             string // block pool id, for the block names in messages
	MaxNameLen       int64  // bytes in a path component; 0: no limit
	MaxPathLen       int64  // characters in a path
	MaxDepth         int64  // components in a path
	MaxDirItems      int64  // children of one directory
	MaxBlocksPerFile int64
	MinBlockSize     int64
	MaxXAttrs        int64 // on one inode, those that users can see
	MaxXAttrSize     int64 // bytes of name and value
	MaxSnapshots     int64 // of one directory
	RetryTTL         int64 // milliseconds of op time that an answer stays in the retry cache
	RetryMax         int64 // answers in the retry cache
	MinReplication   int16
	MaxReplication   int16
}

// numbers lists the numeric settings in the order of the codecs: append only.
func (p *Params) numbers() []*int64 {
	return []*int64{
		&p.MaxNameLen, &p.MaxPathLen, &p.MaxDepth, &p.MaxDirItems, &p.MaxBlocksPerFile, &p.MinBlockSize,
		&p.MaxXAttrs, &p.MaxXAttrSize, &p.MaxSnapshots, &p.RetryTTL, &p.RetryMax,
	}
}

// DefaultParams are HDFS's defaults. Superuser and Pool are empty.
func DefaultParams() Params {
	return Params{
		Permissions:      true,
		Supergroup:       "supergroup",
		MaxNameLen:       255,
		MaxPathLen:       8000,
		MaxDepth:         1000,
		MaxDirItems:      1 << 20,
		MaxBlocksPerFile: 10000,
		MinBlockSize:     1 << 20,
		MaxXAttrs:        32,
		MaxXAttrSize:     16384,
		MinReplication:   1,
		MaxReplication:   512,
		MaxSnapshots:     1 << 16,
		RetryTTL:         600_000,
		RetryMax:         65536,
	}
}

// superuser reports whether c may do everything. The zero Caller is the namenode itself.
func (p *Params) superuser(c *dfs.Caller) bool {
	if !p.Permissions || c.User == "" || c.User == p.Superuser {
		return true
	}
	for _, g := range c.Groups {
		if g == p.Supergroup {
			return true
		}
	}
	return false
}

func (a *SetParams) plan(p *planner) error {
	if a.Params == *p.params || p.begin(0) {
		return nil
	}
	n, next := p.n, a.Params
	p.wide(func() {
		n.params.Store(&next)
		// The root of a new file system belongs to the superuser.
		if d := n.root.dir; d.owner == 0 {
			root := n.thaw(n.root).dir
			root.owner, root.group = n.names.number(next.Superuser), n.names.number(next.Supergroup)
		}
	})
	return nil
}

func (a *StartSegment) plan(p *planner) error {
	if !p.begin(1) {
		p.c.term = a.Term
	}
	return nil
}

// Superuser reports whether no permission check applies to c.
func (n *Namespace) Superuser(c dfs.Caller) bool { return n.params.Load().superuser(&c) }
