package editlog

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// missing gives the name of the segment that err says is missing.
func missing(t *testing.T, err error) string {
	t.Helper()
	var corrupt *CorruptError
	require.ErrorAs(t, err, &corrupt)
	name := filepath.Base(corrupt.File)
	require.EqualError(t, err, fmt.Sprintf("editlog: /nn/current/%s is corrupt at offset 0, after txid %d: "+
		"it is missing, also as a closed segment, but seen_txid says that it was begun; restore the directory from a copy", name, corrupt.TxID))
	require.Equal(t, inProgressName(corrupt.TxID+1), name)
	return name
}

// A journal that was killed or closed does not start without its last segment, and changes nothing meanwhile.
func TestLastSegmentIsLost(t *testing.T) {
	ops := someOps(20)
	for name, test := range map[string]struct {
		checkpoint int // before this op
		end        func(j *Local) error
		lost       string // prefix
		missing    uint64 // txid
	}{
		"killed":                    {-1, func(j *Local) error { j.Kill(); return nil }, inProgressPrefix, 1},
		"killed after a checkpoint": {10, func(j *Local) error { j.Kill(); return nil }, inProgressPrefix, 6},
		"closed":                    {-1, (*Local).Close, editsPrefix, 1},
		"closed after a checkpoint": {10, (*Local).Close, editsPrefix, 6},
	} {
		t.Run(name, func(t *testing.T) {
			fs := newDisk()
			j := openLocal(t, newMachine(), options(fs))
			for i, op := range ops {
				if i == test.checkpoint {
					require.NoError(t, j.Checkpoint(t.Context()))
				}
				_, err := j.Append(t.Context(), op)
				require.NoError(t, err)
			}
			require.NoError(t, test.end(j))
			fs = fs.reboot()
			fs.lose(fs.list(test.lost)...)
			before := fs.list("")
			for range 2 {
				_, err := tryOpen(t, fs, ops, nil)
				require.Equal(t, inProgressName(test.missing), missing(t, err))
				require.Equal(t, before, fs.list(""))
			}
		})
	}
}

// A segment that was begun, but not noted, has no edits: it may be without a header.
func TestSegmentIsNotBegun(t *testing.T) {
	fs := newDisk()
	ops := someOps(20)
	j := openLocal(t, newMachine(), options(fs))
	_, err := appendOps(t.Context(), j, ops)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	write(t, fs, filepath.Join("/nn/current", inProgressName(j.Stats().TxID+1)), "MDFS")
	n, err := tryOpen(t, fs, ops, nil)
	require.NoError(t, err)
	require.Equal(t, len(ops), n)
}

// A directory without seen_txid is one of an earlier version: it opens, and has the file from then on.
func TestDirectoryWithoutSeen(t *testing.T) {
	fs, ops := grown(t)
	fs = fs.reboot()
	noted := fs.file(seenName).data
	fs.lose(seenName)
	for range 2 {
		n, err := tryOpen(t, fs, ops, nil)
		require.NoError(t, err)
		require.Equal(t, len(ops), n)
		require.Equal(t, noted, fs.file(seenName).data)
	}
	fs.lose(fs.list(inProgressPrefix)...)
	_, err := tryOpen(t, fs, ops, nil)
	missing(t, err)
}

// An earlier version does not know of seen_txid and removes the segment that it names. Those that follow will do.
func TestSeenIsOlderThanTheImage(t *testing.T) {
	fs, ops := grown(t)
	fs = fs.reboot()
	fs.file(seenName).data = formatSeen(1)
	n, err := tryOpen(t, fs, ops, nil)
	require.NoError(t, err)
	require.Equal(t, len(ops), n)
	require.Equal(t, formatSeen(31), fs.file(seenName).data)
}
