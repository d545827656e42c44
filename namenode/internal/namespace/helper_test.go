package namespace

import (
	"iter"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

var (
	root  = dfs.Caller{User: "root", Groups: []string{"supergroup"}, Host: "127.0.0.1"}
	alice = dfs.Caller{User: "alice", Groups: []string{"users"}, Host: "127.0.0.1"}
	bob   = dfs.Caller{User: "bob", Groups: []string{"users"}, Host: "127.0.0.1"}
)

// ears is an observer that keeps what it hears.
type ears struct{ blocks map[dfs.BlockID]BlockInfo }

func (e *ears) PutBlock(b BlockInfo)       { e.blocks[b.ID] = b }
func (e *ears) RemoveBlock(id dfs.BlockID) { delete(e.blocks, id) }

func (e *ears) Reset(all iter.Seq[BlockInfo]) {
	e.blocks = map[dfs.BlockID]BlockInfo{}
	for b := range all {
		e.blocks[b.ID] = b
	}
}

// env is a namespace with a clock and short ways to use it.
type env struct {
	*Namespace
	t    *testing.T
	ears *ears
	now  int64
}

func testParams() Params {
	p := DefaultParams()
	p.Superuser, p.Pool, p.MinBlockSize = "root", "BP-1", 0
	return p
}

func newEnv(t *testing.T) *env { return newEnvMode(t, Partitioned) }

func newEnvMode(t *testing.T, mode LockMode) *env {
	e := &env{t: t, ears: &ears{blocks: map[dfs.BlockID]BlockInfo{}}, now: 1000}
	e.Namespace = New(Options{Mode: mode, Observer: e.ears})
	require.NoError(t, e.do(dfs.Caller{}, &SetParams{Params: testParams()}).Err)
	return e
}

// do applies one op.
func (e *env) do(c dfs.Caller, a Args) Result {
	e.now++
	op := &Op{Time: e.now, Caller: c, CallID: -1, Args: a}
	dry, final := e.Check(op)
	res := e.Apply([]*Op{op})[0]
	if final {
		require.Equal(e.t, dry.Err, res.Err, "Check and Apply disagree about %s %+v", op.Kind(), a)
		require.Equal(e.t, dry.Bool, res.Bool)
	} else {
		require.NoError(e.t, res.Err, "Check let %s %+v through", op.Kind(), a)
	}
	return res
}

// must applies one op that has to succeed.
func (e *env) must(c dfs.Caller, a Args) Result {
	e.t.Helper()
	r := e.do(c, a)
	require.NoError(e.t, r.Err)
	return r
}

func (e *env) mkdir(c dfs.Caller, path string) {
	e.t.Helper()
	e.must(c, &Mkdirs{Path: path, Perm: 0o755, CreateParent: true})
}

// open creates a file and gives its id.
func (e *env) open(c dfs.Caller, path string) dfs.INodeID {
	e.t.Helper()
	return e.must(c, &Create{Path: path, Perm: 0o644, Holder: c.User, Flags: dfs.CreateNew, CreateParent: true, Replication: 3, BlockSize: 100}).Status.ID
}

// write makes a closed file with blocks of the given lengths.
func (e *env) write(c dfs.Caller, path string, lengths ...int64) []dfs.Block {
	e.t.Helper()
	id := e.open(c, path)
	blocks := e.fill(c, path, id, nil, lengths...)
	var last *dfs.Block
	if len(blocks) > 0 {
		last = &blocks[len(blocks)-1]
	}
	require.True(e.t, e.must(c, &Complete{Path: path, FileID: id, Holder: c.User, Last: last}).Bool)
	return blocks
}

// fill adds blocks to an open file.
func (e *env) fill(c dfs.Caller, path string, id dfs.INodeID, prev *dfs.Block, lengths ...int64) []dfs.Block {
	e.t.Helper()
	var blocks []dfs.Block
	for _, l := range lengths {
		b := e.must(c, &AddBlock{Path: path, FileID: id, Holder: c.User, Previous: prev}).Block.Block
		b.Len = l
		blocks = append(blocks, b)
		prev = &b
	}
	return blocks
}

// fails applies one op that has to be refused.
func (e *env) fails(c dfs.Caller, a Args, class dfs.Class, message string) {
	e.t.Helper()
	r := e.do(c, a)
	require.Error(e.t, r.Err)
	require.Equal(e.t, dfs.RemoteError{Class: class, Message: message}, *dfs.AsRemote(r.Err))
}

func (e *env) stat(path string) *Status {
	e.t.Helper()
	st, err := e.Status(root, path, true)
	require.NoError(e.t, err)
	return st
}

func (e *env) list(path string) []string {
	e.t.Helper()
	l, err := e.List(root, path, "", 0, false)
	require.NoError(e.t, err)
	require.NotNil(e.t, l, path)
	names := []string{}
	for _, s := range l.Entries {
		names = append(names, s.Name)
	}
	return names
}

// verify checks what must hold in every state.
func (e *env) verify() {
	e.t.Helper()
	verify(e.t, e.Namespace)
	if e.ears != nil {
		require.Equal(e.t, maps.Collect(known(e.Namespace)), e.ears.blocks, "the observer heard something else")
	}
}

// known gives all blocks of the state.
func known(n *Namespace) iter.Seq2[dfs.BlockID, BlockInfo] {
	return func(yield func(dfs.BlockID, BlockInfo) bool) {
		for id := range n.blocks.all() {
			b, _ := n.block(id)
			yield(id, b)
		}
		n.kept.Scan(func(id dfs.BlockID, k keptBlock) bool { return yield(id, k.BlockInfo) })
	}
}

// verify checks what must hold in every state, and that nothing new hangs below something old.
func verify(t *testing.T, n *Namespace) {
	t.Helper()
	require.NoError(t, n.Verify(nil))
	verifyKept(t, n)
	for _, in := range n.inodes.all() {
		require.LessOrEqual(t, in.epoch, n.epoch)
		if in.isDir() {
			in.dir.each(func(c *inode) bool {
				require.LessOrEqual(t, c.epoch, in.epoch)
				return true
			})
		}
	}
}

// verifyKept compares the blocks that are kept for snapshots with what a walk of every snapshot finds.
func verifyKept(t *testing.T, n *Namespace) {
	t.Helper()
	want := map[dfs.BlockID]map[int]bool{}
	var walk func(in *inode, snap int)
	walk = func(in *inode, snap int) {
		if in.isDir() {
			in.dir.each(func(c *inode) bool { walk(c, snap); return true })
			return
		}
		f := in.file()
		if now := n.inodes.get(in.id); f.open() && now != nil {
			require.True(t, now.file().open(), "snapshot %d waits for inode %d to be closed, which it is", snap, in.id)
			return // it follows the present file, and so has no block of its own
		}
		for i := range f.count() {
			b := f.block(i)
			if n.blocks.get(b.ID) != 0 {
				continue
			}
			if _, kept := n.kept.Get(b.ID); !kept && (f.state(i) != dfs.BlockComplete || b.Len == 0) {
				continue // it was lost without a byte, while it was open
			}
			if want[b.ID] == nil {
				want[b.ID] = map[int]bool{}
			}
			want[b.ID][snap] = true
		}
	}
	for id := range n.snapDirs {
		for _, s := range n.inodes.get(id).snaps().list {
			walk(s.root, s.id)
		}
	}
	got := map[dfs.BlockID]map[int]bool{}
	n.kept.Scan(func(id dfs.BlockID, k keptBlock) bool {
		got[id] = map[int]bool{}
		for _, s := range k.holders {
			got[id][s] = true
		}
		return true
	})
	require.Equal(t, want, got)
}
