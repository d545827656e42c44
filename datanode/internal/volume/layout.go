package volume

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// The names of HDFS's layout.
const (
	currentDir   = "current"
	finalizedDir = "finalized"
	rbwDir       = "rbw"
	tmpDir       = "tmp"
	versionFile  = "VERSION"
	blockPrefix  = "blk_"
	metaSuffix   = ".meta"
	poolPrefix   = "BP-"
)

// layout gives the paths of one pool on one volume.
type layout struct {
	root      string // the volume's directory
	pool      string // root/current/BP-...
	finalized string
	rbw       string
	tmp       string
}

func newLayout(root, pool string) layout {
	p := filepath.Join(root, currentDir, pool)
	return layout{
		root:      root,
		pool:      p,
		finalized: filepath.Join(p, currentDir, finalizedDir),
		rbw:       filepath.Join(p, currentDir, rbwDir),
		tmp:       filepath.Join(p, tmpDir),
	}
}

// subdir is the directory under finalized where a block belongs.
func subdir(id dfs.BlockID) string {
	return "subdir" + strconv.Itoa(int(id>>16)&0x1f) + string(filepath.Separator) + "subdir" + strconv.Itoa(int(id>>8)&0x1f)
}

// dir is where the files of a replica in that state lie; RUR has none of its own.
func (l layout) dir(id dfs.BlockID, s dfs.ReplicaState) string {
	switch s {
	case dfs.ReplicaFinalized:
		return l.finalized + string(filepath.Separator) + subdir(id)
	case dfs.ReplicaTemporary:
		return l.tmp
	}
	return l.rbw
}

func dataName(id dfs.BlockID) string { return blockPrefix + strconv.FormatInt(int64(id), 10) }

func metaName(id dfs.BlockID, gs dfs.GenStamp) string {
	return dataName(id) + "_" + strconv.FormatInt(int64(gs), 10) + metaSuffix
}

// files are the two files of a replica.
type files struct{ data, meta string }

func (l layout) files(id dfs.BlockID, gs dfs.GenStamp, s dfs.ReplicaState) files {
	dir := l.dir(id, s) + string(filepath.Separator)
	return files{dir + dataName(id), dir + metaName(id, gs)}
}

// parseName tells what a file in a replica directory is: the data of a block, or its checksums under a generation stamp.
func parseName(name string) (id dfs.BlockID, gs dfs.GenStamp, meta, ok bool) {
	rest, ok := strings.CutPrefix(name, blockPrefix)
	if !ok {
		return 0, 0, false, false
	}
	rest, meta = strings.CutSuffix(rest, metaSuffix)
	if meta {
		i := strings.LastIndexByte(rest, '_')
		if i < 0 {
			return 0, 0, false, false
		}
		g, err := strconv.ParseInt(rest[i+1:], 10, 64)
		if err != nil {
			return 0, 0, false, false
		}
		gs, rest = dfs.GenStamp(g), rest[:i]
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	return dfs.BlockID(n), gs, meta, err == nil
}
