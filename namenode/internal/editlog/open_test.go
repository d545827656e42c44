package editlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

func TestOptionsAreChecked(t *testing.T) {
	fs := newDisk()
	for name, o := range map[string]struct {
		o   LocalOptions
		err string
	}{
		"no FS":    {LocalOptions{Dir: "/nn"}, "editlog: LocalOptions.FS is nil; give afero.NewOsFs() or an in-memory file system"},
		"no Dir":   {LocalOptions{FS: fs}, "editlog: LocalOptions.Dir is empty; give the directory of the journal"},
		"sync":     {LocalOptions{FS: fs, Dir: "/nn", Sync: 9}, "editlog: LocalOptions.Sync is SyncMode(9); give one of the four sync modes"},
		"negative": {LocalOptions{FS: fs, Dir: "/nn", MaxBatch: -1}, "editlog: LocalOptions: negative SyncInterval, MaxBatch, SegmentBytes or RetainImages; leave it zero for the default"},
		"identity": {LocalOptions{FS: fs, Dir: "/nn", Identity: Identity{ClusterID: "a\nb"}}, `editlog: identity "a\nb": give at most 1024 bytes in one line without blanks around`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenLocal(t.Context(), newMachine(), o.o)
			require.EqualError(t, err, o.err)
		})
	}
}

// One live journal a directory, in this process too; the lock goes with the journal.
func TestDirectoryLock(t *testing.T) {
	o := options(afero.NewOsFs())
	o.Dir = t.TempDir()
	j := openLocal(t, newMachine(), o)
	_, err := OpenLocal(t.Context(), newMachine(), o)
	require.EqualError(t, err, fmt.Sprintf("editlog: %s is in use by process %d; stop it or give another directory", o.Dir, os.Getpid()))
	_, err = j.Append(t.Context(), addOp{"a", 1})
	require.NoError(t, err)
	j.Kill()
	j = openLocal(t, newMachine(), o)
	require.NoError(t, j.Close())
	j = openLocal(t, newMachine(), o)
	require.NoError(t, j.Close())
}

// A failed OpenLocal leaves the directory unlocked.
func TestLockAfterRefusal(t *testing.T) {
	o := options(afero.NewOsFs())
	o.Dir = t.TempDir()
	j := openLocal(t, newMachine(), o)
	_, err := j.Append(t.Context(), addOp{"a", 1})
	require.NoError(t, err)
	j.Kill()
	path := filepath.Join(o.Dir, currentDir, versionName)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, '#'), 0o644))
	for range 2 {
		_, err = OpenLocal(t.Context(), newMachine(), o)
		require.ErrorContains(t, err, "VERSION: its checksum does not match its content")
	}
	require.NoError(t, os.WriteFile(path, text, 0o644))
	require.NoError(t, openLocal(t, newMachine(), o).Close())
}

func TestForeignDirectory(t *testing.T) {
	fs := newDisk()
	write(t, fs, "/nn/precious.txt", "data")
	_, err := OpenLocal(t.Context(), newMachine(), options(fs))
	require.EqualError(t, err, "editlog: /nn is not a journal's directory: it holds precious.txt, but no current/VERSION; give an empty directory")
	fs = newDisk()
	write(t, fs, "/nn/current/fsimage_0000000000000000001", "data")
	_, err = OpenLocal(t.Context(), newMachine(), options(fs))
	require.EqualError(t, err, "editlog: /nn is not a journal's directory: it holds fsimage_0000000000000000001, but no current/VERSION; give an empty directory")
}

func write(t *testing.T, fs afero.Fs, path, text string) {
	require.NoError(t, fs.MkdirAll(filepath.Dir(path), 0o755))
	f, err := fs.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	_, err = io.WriteString(writerOnly{f}, text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

type writerOnly struct{ io.Writer }

func TestVersionFile(t *testing.T) {
	const good = `software=minidfs
storageType=NAME_NODE
layoutVersion=1
namespaceID=7
clusterID=CID-1
blockpoolID=BP-1
cTime=1
checksum=89cebada
`
	for name, v := range map[string]struct{ text, err string }{
		"ours": {good, ""},
		"empty": {"",
			"it was not made by minidfs; give another directory"},
		"Hadoop's": {"#Tue Dec 01 05:00:00 UTC 2026\nnamespaceID=1\nclusterID=CID\ncTime=0\nstorageType=NAME_NODE\nblockpoolID=BP\nlayoutVersion=-66\n",
			"it was not made by minidfs; give another directory"},
		"newer": {"software=minidfs\nlayoutVersion=2\n",
			`its layout version is "2", this program knows 1; use the program that wrote it`},
		"no properties": {"hello\n", `line 1 is "hello", not key=value`},
		"no number": {"software=minidfs\nlayoutVersion=1\nnamespaceID=x\n",
			`namespaceID is "x", no number`},
		"changed": {strings.Replace(good, "CID-1", "CID-2", 1),
			"its checksum does not match its content; restore the directory from a copy"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := newDisk()
			write(t, fs, "/nn/current/VERSION", v.text)
			j, err := OpenLocal(t.Context(), newMachine(), options(fs))
			if v.err != "" {
				require.EqualError(t, err, "editlog: cannot use /nn/current/VERSION: "+v.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, testIdentity, j.Identity())
			require.NoError(t, j.Close())
		})
	}
}

// An old directory keeps its identity, whatever the options say.
func TestIdentityStays(t *testing.T) {
	fs := newDisk()
	require.NoError(t, openLocal(t, newMachine(), options(fs)).Close())
	o := options(fs)
	o.Identity = Identity{ClusterID: "other"}
	j := openLocal(t, newMachine(), o)
	require.Equal(t, testIdentity, j.Identity())
	require.NoError(t, j.Close())
}

func TestOpenIsCancelled(t *testing.T) {
	fs, ops := grown(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := OpenLocal(ctx, newMachine(), options(fs))
	require.Equal(t, context.Canceled, err)
	n, err := tryOpen(t, fs, ops, nil)
	require.NoError(t, err)
	require.Equal(t, len(ops), n)
}

// A state machine that cannot read what it once wrote stops the start: nothing is passed over.
func TestStateMachineRefuses(t *testing.T) {
	fs, _ := grown(t)
	_, err := OpenLocal(t.Context(), &forgetful{newMachine()}, options(fs))
	require.EqualError(t, err, "editlog: cannot restore /nn/current/"+fs.list(imagePrefix)[1]+
		", whose checksums are right: unknown version; use the program that wrote it")

	fs = newDisk()
	j := openLocal(t, newMachine(), options(fs))
	_, err = appendOps(t.Context(), j, []addOp{{"a", 1}, {"b", 1}})
	require.NoError(t, err)
	require.NoError(t, j.Close())
	_, err = OpenLocal(t.Context(), &forgetful{newMachine()}, options(fs))
	require.EqualError(t, err, "editlog: /nn/current/edits_0000000000000000001-0000000000000000002 is corrupt at offset 71, op 2, after txid 1: "+
		"op 2 cannot be decoded: unknown key; restore the directory from a copy")
}

type forgetful struct{ *machine }

func (forgetful) Restore(io.Reader) error { return errors.New("unknown version") }

func (f forgetful) Decode(b []byte) (Op, error) {
	if string(b[1:]) == "b" {
		return nil, errors.New("unknown key")
	}
	return f.machine.Decode(b)
}
