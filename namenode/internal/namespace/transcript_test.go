package namespace

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// TestTranscript replays calls that a real HDFS was asked (testdata/Transcript.java) and compares every answer, message
// and number of edit records.
func TestTranscript(t *testing.T) {
	for name, mode := range map[string]LockMode{"partitioned": Partitioned, "global": Global} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open("testdata/transcript.txt")
			require.NoError(t, err)
			defer f.Close()
			r := &replay{env: newEnvMode(t, mode), ids: map[string]dfs.INodeID{}, times: map[string]int64{}}
			p := testParams()
			p.MaxDirItems, p.MaxXAttrs, p.MaxBlocksPerFile = 40, 6, 4 // as that HDFS was started
			require.NoError(t, r.do(dfs.Caller{}, &SetParams{p}).Err)
			var ours, theirs renumber
			lines := bufio.NewScanner(f)
			call := ""
			for n := 1; lines.Scan(); n++ {
				line := lines.Text()
				if want, ok := strings.CutPrefix(line, "-> "); ok {
					got := ours.renumber(r.call(call, want))
					if want = theirs.renumber(want); got != want {
						t.Errorf("line %d: %s\n got %s\nwant %s", n, call, got, want)
					}
					r.verify()
				}
				call = line
			}
		})
	}
}

// renumber replaces inode ids by the order in which they appear: HDFS uses some up in calls that it refuses.
type renumber map[string]string

var inodeID = regexp.MustCompile(`(dir |file |\(inode )(\d{5,})`)

func (m *renumber) renumber(s string) string {
	if *m == nil {
		*m = renumber{}
	}
	return inodeID.ReplaceAllStringFunc(s, func(s string) string {
		f := inodeID.FindStringSubmatch(s)
		if (*m)[f[2]] == "" {
			(*m)[f[2]] = fmt.Sprintf("#%d", len(*m))
		}
		return f[1] + (*m)[f[2]]
	})
}

type replay struct {
	*env
	times  map[string]int64
	ids    map[string]dfs.INodeID
	blocks []dfs.Block
}

func (r *replay) call(line, want string) string {
	w := strings.Split(line, " ")
	c := dfs.Caller{User: w[0], Host: "127.0.0.1"}
	if c.User == "root" {
		c.Groups = []string{"supergroup"}
	}
	before := r.TxID()
	out, err := r.run(c, w[1], w[2:], want)
	if err != nil {
		e := dfs.AsRemote(err)
		first, _, _ := strings.Cut(e.Message, "\n")
		out = fmt.Sprintf("! %s: %s", e.Class, first)
	}
	if d := r.TxID() - before; d > 0 {
		out += fmt.Sprintf(" +%d", d)
	}
	return out
}

func (r *replay) run(c dfs.Caller, verb string, a []string, want string) (string, error) {
	num := func(i int) int64 { v, err := strconv.ParseInt(a[i], 10, 64); require.NoError(r.t, err); return v }
	perm := func(i int) dfs.Perm {
		v, err := strconv.ParseUint(a[i], 8, 16)
		require.NoError(r.t, err)
		return dfs.Perm(v)
	}
	yes := func(i int) bool { return a[i] == "true" }
	dash := func(i int) string { return strings.TrimPrefix(a[i], "-") }
	ok := func(args Args) (string, error) { return "ok", r.do(c, args).Err }
	truth := func(args Args) (string, error) { res := r.do(c, args); return strconv.FormatBool(res.Bool), res.Err }
	switch verb {
	case "mkdirs":
		return truth(&Mkdirs{a[0], perm(1), yes(2)})
	case "create":
		res := r.do(c, &Create{Path: a[0], Perm: perm(1), Holder: a[2], Flags: createFlags(a[3]), CreateParent: yes(4), Replication: int16(num(5)), BlockSize: num(6)})
		return showStatus(res.Status), res.Err
	case "append":
		res := r.do(c, &Append{a[0], a[1], strings.Contains(a[2], "NEW_BLOCK")})
		if res.Err != nil {
			return "", res.Err
		}
		return r.keep(res.Block, strings.Contains(a[2], "NEW_BLOCK")) + " " + showStatus(res.Status), nil
	case "addBlock":
		op := &Op{Caller: c, Args: &AddBlock{Path: a[0], Holder: a[1], Previous: r.block(a[2]), FileID: r.id(a[3])}}
		plan, err := r.AddBlockCheck(op)
		res := r.do(c, op.Args)
		require.Equal(r.t, err, res.Err)
		if err != nil {
			return "", err
		}
		if plan.Again != nil {
			require.Equal(r.t, *plan.Again, *res.Block)
		}
		require.Equal(r.t, plan.Offset, res.Block.Offset)
		return r.keep(res.Block, false), nil
	case "abandonBlock":
		return ok(&AbandonBlock{Block: *r.block(a[0]), FileID: r.id(a[1]), Path: a[2], Holder: a[3]})
	case "complete":
		return truth(&Complete{Path: a[0], Holder: a[1], Last: r.block(a[2]), FileID: r.id(a[3]), CommitOnly: want == "false"})
	case "fsync":
		return ok(&Fsync{Path: a[0], FileID: r.id(a[1]), Holder: a[2], LastLen: num(3)})
	case "updateBlockForPipeline":
		res := r.do(c, &BumpGenStamp{Block: *r.block(a[0]), Holder: a[1]})
		if res.Err != nil {
			return "", res.Err
		}
		return r.keep(res.Block, true), nil
	case "updatePipeline":
		return ok(&UpdatePipeline{Holder: a[0], Old: *r.block(a[1]), New: *r.block(a[2])})
	case "delete":
		return truth(&Delete{a[0], yes(1)})
	case "rename":
		return truth(&Rename{a[0], a[1]})
	case "rename2":
		return ok(&Rename2{a[0], a[1], slices.Contains(a[2:], "OVERWRITE"), slices.Contains(a[2:], "TO_TRASH")})
	case "setPermission":
		return ok(&SetPermission{a[0], perm(1)})
	case "setOwner":
		return ok(&SetOwner{a[0], dash(1), dash(2)})
	case "setTimes":
		return ok(&SetTimes{a[0], num(1), num(2)})
	case "setReplication":
		return truth(&SetReplication{a[0], int16(num(1))})
	case "setStoragePolicy":
		return ok(&SetStoragePolicy{a[0], map[string]uint8{"COLD": 2, "HOT": 7, "LAZY_PERSIST": 15}[a[1]]})
	case "unsetStoragePolicy":
		return ok(&SetStoragePolicy{Path: a[0]})
	case "truncate":
		return truth(&Truncate{a[0], num(1), a[2]})
	case "concat":
		return ok(&Concat{a[0], a[1:]})
	case "setXAttr":
		var f dfs.XAttrFlag
		for _, x := range strings.Split(a[2], "|") {
			f |= map[string]dfs.XAttrFlag{"CREATE": dfs.XAttrCreate, "REPLACE": dfs.XAttrReplace}[x]
		}
		return ok(&SetXAttr{a[0], parseXAttr(a[1]), f})
	case "removeXAttr":
		x := parseXAttr(a[1])
		return ok(&RemoveXAttr{a[0], x.Namespace, x.Name})
	case "getXAttrs":
		var names []XAttr
		for _, x := range a[1:] {
			names = append(names, parseXAttr(x))
		}
		list, err := r.XAttrs(c, a[0], names)
		return showXAttrs(list), err
	case "listXAttrs":
		list, err := r.ListXAttrs(c, a[0])
		return showXAttrs(list), err
	case "allowSnapshot":
		return ok(&AllowSnapshot{a[0]})
	case "disallowSnapshot":
		return ok(&DisallowSnapshot{a[0]})
	case "createSnapshot":
		res := r.do(c, &CreateSnapshot{a[0], a[1]})
		return res.Path, res.Err
	case "deleteSnapshot":
		return ok(&DeleteSnapshot{a[0], a[1]})
	case "renameSnapshot":
		return ok(&RenameSnapshot{a[0], a[1], a[2]})
	case "write":
		var lengths []int64
		for left := num(1); left > 0; left -= num(2) {
			lengths = append(lengths, min(left, num(2)))
		}
		id := r.must(c, &Create{Path: a[0], Perm: 0o644, Holder: "writer", Flags: dfs.CreateNew, CreateParent: true, Replication: 1, BlockSize: num(2)}).Status.ID
		var prev *dfs.Block
		for _, l := range lengths {
			b := r.must(c, &AddBlock{Path: a[0], FileID: id, Holder: "writer", Previous: prev}).Block.Block
			b.Len = l
			prev = &b
		}
		return ok(&Complete{Path: a[0], FileID: id, Holder: "writer", Last: prev})
	case "wait":
		f, err := r.FileByPath(a[0])
		if err != nil || f.Holder == "" || f.Blocks[len(f.Blocks)-1].RecoveryID == 0 {
			return "ok", err
		}
		last := f.Blocks[len(f.Blocks)-1]
		sync := &CommitBlockSync{Block: last.Block, NewGenStamp: last.RecoveryID, NewLength: last.Len, CloseFile: true}
		if last.Truncate {
			sync.NewLength = last.TruncateTo
		}
		if last.CopyOf.ID != 0 {
			sync.Block = last.CopyOf
		}
		return ok(sync)
	case "recoverLease":
		f, err := r.OpenForRecovery(c, a[0])
		switch {
		case err != nil:
			return "", err
		case f == nil:
			return "true", nil
		case len(f.Blocks) == 0 || f.Blocks[len(f.Blocks)-1].State == dfs.BlockComplete:
			return truth(&CloseFile{FileID: f.ID})
		}
		return strconv.FormatBool(false), r.do(dfs.Caller{}, &StartRecovery{FileID: f.ID, NewHolder: "HDFS_NameNode"}).Err
	}
	return r.look(c, verb, a)
}

// look runs the verbs that change nothing.
func (r *replay) look(c dfs.Caller, verb string, a []string) (string, error) {
	num := func(i int) int64 { v, err := strconv.ParseInt(a[i], 10, 64); require.NoError(r.t, err); return v }
	switch verb {
	case "stat":
		st, err := r.Status(c, a[0], true)
		return showStatus(st), err
	case "touched":
		st := r.stat(a[0])
		was, asked := r.times[a[0]]
		r.times[a[0]] = st.MTime
		switch {
		case !asked:
			return "first", nil
		case was == st.MTime:
			return "no", nil
		}
		return "yes", nil
	case "list":
		after := ""
		if len(a) > 1 {
			after = a[1]
		}
		l, err := r.List(c, a[0], after, 1000, false)
		if l == nil || err != nil {
			return "absent", err
		}
		names := []string{}
		for _, s := range l.Entries {
			names = append(names, s.Name)
		}
		return fmt.Sprintf("[%s] %d", strings.Join(names, ", "), l.Remaining), nil
	case "summary":
		s, err := r.ContentSummary(c, a[0])
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("len=%d files=%d dirs=%d space=%d snap=%d,%d,%d,%d quota=%d,%d", s.Length, s.Files, s.Directories, s.SpaceConsumed,
			s.SnapshotLength, s.SnapshotFiles, s.SnapshotDirectories, s.SnapshotSpaceConsumed, s.Quota, s.SpaceQuota), nil
	case "checkAccess":
		return "ok", r.CheckAccess(c, a[0], map[string]dfs.Access{"READ": dfs.AccessRead, "WRITE": dfs.AccessWrite, "EXECUTE": dfs.AccessExecute, "ALL": 7}[a[1]])
	case "isFileClosed":
		closed, err := r.IsFileClosed(c, a[0])
		return strconv.FormatBool(closed), err
	case "blockSize":
		size, err := r.PreferredBlockSize(c, a[0])
		return fmt.Sprint(size), err
	case "acl":
		s, err := r.ACLStatus(c, a[0])
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s:%s %t %o", s.Owner, s.Group, s.Sticky, s.Perm), nil
	case "policy":
		p, err := r.StoragePolicy(c, a[0])
		return fmt.Sprint(inherited(p, 7)), err
	case "blocks":
		b, err := r.Blocks(c, a[0], num(1), num(2))
		if err != nil {
			return "", err
		}
		list := []string{}
		for _, k := range b.Blocks {
			list = append(list, showBlock(&k, false))
		}
		return fmt.Sprintf("len=%d open=%t complete=%t last=%s [%s]", b.Length, b.UnderConstruction, b.LastComplete, showBlock(b.Last, false), strings.Join(list, ", ")), nil
	case "snapshotDiff":
		d, err := r.SnapshotDiff(c, a[0], strings.TrimPrefix(a[1], "-"), strings.TrimPrefix(a[2], "-"))
		if err != nil {
			return "", err
		}
		out := fmt.Sprintf("%d:", len(d.Entries))
		for _, e := range d.Entries {
			out += fmt.Sprintf(" %c ./%s", e.Kind, e.Path)
			if e.Kind == DiffRename {
				out += "->./" + e.Target
			}
		}
		return out, nil
	case "snapshottables":
		l, err := r.Snapshottables(c)
		if l == nil || err != nil {
			return "none", err
		}
		list := []string{}
		for _, s := range l {
			list = append(list, fmt.Sprintf("%s %d %d [%s]", join(s.Parent, s.Name), s.Snapshots, s.Quota, showStatus(&s.Status)))
		}
		return "[" + strings.Join(list, ", ") + "]", nil
	case "snapshots":
		l, err := r.SnapshotListing(c, a[0])
		if err != nil {
			return "", err
		}
		list := []string{}
		for _, s := range l {
			list = append(list, fmt.Sprintf("%s %d false [%s]", join(join(s.Parent, dotSnapshot), s.Name), s.SnapshotID, showStatus(&s.Status)))
		}
		return "[" + strings.Join(list, ", ") + "]", nil
	}
	return "", fmt.Errorf("unknown verb %s", verb)
}
