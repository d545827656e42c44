package namespace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// How the transcript spells ids, blocks and answers.

func (r *replay) id(s string) dfs.INodeID {
	path, ok := strings.CutPrefix(s, "id:")
	if !ok {
		v, err := strconv.ParseInt(s, 10, 64)
		require.NoError(r.t, err)
		return dfs.INodeID(v)
	}
	if st := r.stat(path); st != nil {
		r.ids[path] = st.ID
	}
	return r.ids[path]
}

// block reads null, #k or #k/len (a block answered before), ?id:stamp:len (any block).
func (r *replay) block(s string) *dfs.Block {
	if s == "null" {
		return nil
	}
	if f, ok := strings.CutPrefix(s, "?"); ok {
		var b dfs.Block
		_, err := fmt.Sscanf(f, "%d:%d:%d", &b.ID, &b.GenStamp, &b.Len)
		require.NoError(r.t, err)
		b.ID += 1 << 30
		return &b
	}
	k, l, sized := strings.Cut(s[1:], "/")
	i, err := strconv.Atoi(k)
	require.NoError(r.t, err)
	b := r.blocks[i-1]
	if sized {
		b.Len, err = strconv.ParseInt(l, 10, 64)
		require.NoError(r.t, err)
	}
	return &b
}

func (r *replay) keep(b *FileBlock, nowhere bool) string {
	if b != nil {
		r.blocks = append(r.blocks, b.Block)
	}
	return showBlock(b, nowhere)
}

// showBlock leaves the place out where HDFS does not tell it.
func showBlock(b *FileBlock, nowhere bool) string {
	if b == nil {
		return "null"
	}
	at := b.Offset
	if nowhere {
		at = -1
	}
	return fmt.Sprintf("%s/%d@%d", b.Block.String(), b.Len, at)
}

func showStatus(s *Status) string {
	switch {
	case s == nil:
		return "absent"
	case s.Type == TypeDir:
		out := fmt.Sprintf("dir %d %o %s:%s kids=%d policy=%d", s.ID, s.Perm, s.Owner, s.Group, s.Children, s.StoragePolicy)
		if s.Snapshottable {
			out += " snapshottable"
		}
		return out
	}
	return fmt.Sprintf("file %d %o %s:%s len=%d repl=%d bs=%d policy=%d", s.ID, s.Perm, s.Owner, s.Group, s.Length, s.Replication, s.BlockSize, s.StoragePolicy)
}

func createFlags(s string) dfs.CreateFlag {
	var f dfs.CreateFlag
	for _, x := range strings.Split(s, "|") {
		f |= map[string]dfs.CreateFlag{"CREATE": dfs.CreateNew, "OVERWRITE": dfs.CreateOverwrite, "APPEND": dfs.CreateAppend, "LAZY_PERSIST": dfs.CreateLazyPersist}[x]
	}
	return f
}

func parseXAttr(s string) XAttr {
	name, value, has := strings.Cut(s, "=")
	space, name, _ := strings.Cut(name, ".")
	x := XAttr{Namespace: map[string]dfs.XAttrNamespace{"USER": dfs.XAttrUser, "TRUSTED": dfs.XAttrTrusted, "SECURITY": dfs.XAttrSecurity, "SYSTEM": dfs.XAttrSystem, "RAW": dfs.XAttrRaw}[space], Name: name}
	if has {
		x.Value = []byte(value)
	}
	return x
}

func showXAttrs(list []XAttr) string {
	out := []string{}
	for _, x := range list {
		s := strings.ToUpper(x.Namespace.String()) + "." + x.Name
		if x.Value != nil {
			s += "=" + string(x.Value)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return "[" + strings.Join(out, ", ") + "]"
}
