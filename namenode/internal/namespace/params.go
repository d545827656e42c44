package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// Params are the settings that the meaning of an op depends on. They are state: only a SetParams op changes them.
type Params struct {
	Permissions      bool   // off: everybody may do everything, as with dfs.permissions.enabled=false
	Superuser        string // the namenode's own user
	Supergroup       string // its members are superusers too
	Pool             string // block pool id, for the block names in messages
	MaxNameLen       int    // bytes in a path component; 0: no limit
	MaxPathLen       int    // characters in a path
	MaxDepth         int    // components in a path
	MaxDirItems      int    // children of one directory
	MaxBlocksPerFile int
	MinBlockSize     int64
	MaxXAttrs        int // on one inode, those of the user and trusted namespaces
	MaxXAttrSize     int // bytes of name and value
	MinReplication   int16
	MaxReplication   int16
	MaxSnapshots     int   // of one directory
	RetryTTL         int64 // milliseconds of op time that an answer stays in the retry cache
	RetryMax         int   // answers in the retry cache
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
