package editlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// grown is a disk with two images, closed segments around them and a segment in progress, killed; and all its ops.
func grown(t *testing.T) (*disk, []addOp) {
	fs := newDisk()
	o := options(fs)
	o.SegmentBytes = 200
	ops := someOps(40)
	j := openLocal(t, newMachine(), o)
	for i, op := range ops {
		_, err := j.Append(t.Context(), op)
		require.NoError(t, err)
		if i == 14 || i == 27 {
			require.NoError(t, j.Checkpoint(t.Context()))
		}
	}
	j.Kill()
	return fs, ops
}

// names are those of the files in current, with the prefix.
func (d *disk) list(prefix string) []string {
	var names []string
	for path := range d.names {
		if name := filepath.Base(path); strings.HasPrefix(name, prefix) && name != lockName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// lose removes files in current as if they had never been.
func (d *disk) lose(names ...string) {
	for _, name := range names {
		delete(d.names, filepath.Join("/nn", currentDir, name))
	}
}

func (d *disk) file(name string) *node { return d.names[filepath.Join("/nn", currentDir, name)] }

// records gives the offsets of the records in a segment.
func records(t *testing.T, data []byte) []int64 {
	h, err := parseSegmentHeader(data)
	require.NoError(t, err)
	var offsets []int64
	_, err = scan(data, h, func(_ record, offset int64) error {
		offsets = append(offsets, offset)
		return nil
	})
	require.NoError(t, err)
	return offsets
}

// tryOpen opens what is on the disk and gives the number of ops in the state.
func tryOpen(t *testing.T, fs *disk, ops []addOp, log *bytes.Buffer) (int, error) {
	m := newMachine()
	o := options(fs)
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	j, err := OpenLocal(t.Context(), m, o)
	if err != nil {
		return 0, err
	}
	j.Kill()
	n, ok := model(ops)[m.digest]
	require.True(t, ok, "the state is none of the sequence")
	return n, nil
}

func TestDirectoryOfDamageTests(t *testing.T) {
	fs, _ := grown(t)
	require.Len(t, fs.list(imagePrefix), 2)
	require.Len(t, fs.list(inProgressPrefix), 1)
	require.Len(t, fs.list(editsPrefix), 6)
	require.Len(t, records(t, fs.file(fs.list(inProgressPrefix)[0]).data), 2)
}

// Each byte of each file is changed in turn. Either the journal says where the damage is, or the state is the right
// one; only the last record may be taken for a torn one.
func TestFlipEveryByte(t *testing.T) {
	fs, ops := grown(t)
	for _, name := range fs.list("") {
		size := len(fs.file(name).data)
		for at := range size {
			for _, mask := range []byte{0x01, 0xff} {
				what := fmt.Sprintf("%s, byte %d xor %02x", name, at, mask)
				after := fs.reboot()
				after.file(name).data[at] ^= mask
				n, err := tryOpen(t, after, ops, nil)
				var corrupt *CorruptError
				switch {
				case name == versionName, name == seenName:
					require.ErrorContains(t, err, "editlog: cannot use /nn/current/"+name, what)
				case errors.As(err, &corrupt):
					require.Equal(t, filepath.Join("/nn/current", name), corrupt.File, what)
					require.LessOrEqual(t, corrupt.Offset, int64(at), what)
					require.Less(t, int64(at)-corrupt.Offset, int64(80), what)
					require.NotContains(t, name, imagePrefix, what)
				case err == nil && n < len(ops):
					require.Contains(t, name, inProgressPrefix, what)
					offsets := records(t, fs.file(name).data)
					require.GreaterOrEqual(t, int64(at), offsets[len(offsets)-1], what)
					require.Equal(t, len(ops)-1, n, what)
				default:
					require.NoError(t, err, what)
				}
			}
		}
	}
}

// Each file ends early, or is gone.
func TestCutEveryFile(t *testing.T) {
	fs, ops := grown(t)
	for _, name := range fs.list("") {
		for size := range len(fs.file(name).data) {
			what := fmt.Sprintf("%s, %d bytes left", name, size)
			after := fs.reboot()
			after.file(name).data = after.file(name).data[:size]
			n, err := tryOpen(t, after, ops, nil)
			switch {
			case strings.HasPrefix(name, imagePrefix):
				require.NoError(t, err, what)
				require.Equal(t, len(ops), n, what)
			case strings.HasPrefix(name, inProgressPrefix) && size < segmentHeaderLen:
				require.EqualError(t, err, "editlog: /nn/current/"+name+" is corrupt at offset 0, after txid 30: "+
					"segment header is cut short; restore the directory from a copy", what)
			case strings.HasPrefix(name, inProgressPrefix):
				require.NoError(t, err, what)
				require.GreaterOrEqual(t, n, len(ops)-2, what)
			case err == nil: // a segment that only the older image needs
				require.Equal(t, len(ops), n, what)
				require.GreaterOrEqual(t, size, segmentHeaderLen, what)
			default:
				require.ErrorContains(t, err, name, what)
			}
		}
	}
	for _, name := range fs.list("") {
		after := fs.reboot()
		after.lose(name)
		n, err := tryOpen(t, after, ops, nil)
		if err == nil {
			require.Equal(t, len(ops), n, name)
			require.NotContains(t, name, inProgressPrefix)
		}
	}
}

// Where both images are damaged and the first segments are gone, the journal says so.
func TestAllImagesDamaged(t *testing.T) {
	fs, ops := grown(t)
	after := fs.reboot()
	for _, name := range fs.list(imagePrefix) {
		after.file(name).data[imageHeaderLen+9]++
	}
	_, err := tryOpen(t, after, ops, nil)
	require.ErrorContains(t, err, "the first edits here are those from op 16, the ones before are missing")
	require.ErrorContains(t, err, fs.list(imagePrefix)[0]+" is corrupt at offset 36, after txid 12: checksum of the chunk does not match")
	require.ErrorContains(t, err, fs.list(imagePrefix)[1]+" is corrupt at offset 36")
}

// A damaged newest image costs a longer replay, and the next checkpoint removes it.
func TestFallsBackToTheOlderImage(t *testing.T) {
	fs, ops := grown(t)
	newest := fs.list(imagePrefix)[1]
	fs = fs.reboot()
	fs.file(newest).data[imageHeaderLen]++
	m := newMachine()
	j := openLocal(t, m, options(fs))
	require.Equal(t, digestOf(ops), m.digest)
	require.NoError(t, j.Checkpoint(t.Context()))
	require.NotContains(t, fs.list(imagePrefix), newest)
	require.Len(t, fs.list(imagePrefix), 2)
	require.NoError(t, j.Close())
}

func TestTailThatIsCut(t *testing.T) {
	fs, ops := grown(t)
	name := fs.list(inProgressPrefix)[0]
	whole := fs.file(name).data
	last := records(t, whole)[1]
	for what, change := range map[string]struct {
		to  func(data []byte) []byte
		ops int
		log string
	}{
		"zeros behind": {func(d []byte) []byte { return append(d, make([]byte, 500)...) }, len(ops),
			fmt.Sprintf("offset=%d bytes=500", len(whole))},
		"noise behind": {func(d []byte) []byte { return append(d, bytes.Repeat([]byte{3, 200, 1}, 99)...) }, len(ops),
			fmt.Sprintf("offset=%d bytes=297", len(whole))},
		"last record zero": {func(d []byte) []byte { clear(d[last:]); return d }, len(ops) - 1,
			fmt.Sprintf("offset=%d bytes=%d", last, len(whole)-int(last))},
		"last record short": {func(d []byte) []byte { return d[:len(d)-1] }, len(ops) - 1, "record is cut short"},
	} {
		t.Run(what, func(t *testing.T) {
			after := fs.reboot()
			after.file(name).data = change.to(slices.Clone(whole))
			var log bytes.Buffer
			n, err := tryOpen(t, after, ops, &log)
			require.NoError(t, err)
			require.Equal(t, change.ops, n)
			require.Equal(t, 1, strings.Count(log.String(), "torn tail"), log.String())
			require.Contains(t, log.String(), change.log)

			log.Reset()
			n, err = tryOpen(t, after, ops, &log)
			require.NoError(t, err)
			require.Equal(t, change.ops, n)
			require.NotContains(t, log.String(), "torn tail")
		})
	}
}

// A record that was durable and is damaged is corruption; one that was not is torn, though whole ones follow.
func TestDamageBeforeTheEnd(t *testing.T) {
	for _, sync := range []SyncMode{SyncGroup, SyncPerOp, SyncAsync, SyncNone} {
		t.Run(sync.String(), func(t *testing.T) {
			fs := newDisk()
			o := options(fs)
			o.Sync = sync
			ops := []addOp{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}
			j := openLocal(t, newMachine(), o)
			_, err := appendOps(t.Context(), j, ops)
			require.NoError(t, err)
			j.Kill()
			file := fs.file(inProgressName(1))
			second := records(t, file.data)[1]
			file.data[second+recordHeaderLen+1]++

			var log bytes.Buffer
			n, err := tryOpen(t, fs.reboot(), ops, &log)
			if sync == SyncGroup || sync == SyncPerOp {
				require.EqualError(t, err, fmt.Sprintf("editlog: /nn/current/edits_inprogress_0000000000000000001 is corrupt at offset %d, "+
					"op 2, after txid 1: checksum of the record does not match; restore the directory from a copy", second))
				return
			}
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Contains(t, log.String(), "torn tail")
		})
	}
}

// What was cut off must not come back, though a new record of the same length leads right up to it.
func TestCutTailStaysAway(t *testing.T) {
	fs := newDisk()
	o := options(fs)
	o.Sync = SyncAsync
	j := openLocal(t, newMachine(), o)
	_, err := appendOps(t.Context(), j, []addOp{{"a", 1}, {"b", 1}, {"c", 1}})
	require.NoError(t, err)
	j.Kill()
	file := fs.file(inProgressName(1))
	file.data[records(t, file.data)[1]]++

	ops := []addOp{{"a", 1}, {"x", 1}}
	j = openLocal(t, newMachine(), o)
	_, err = j.Append(t.Context(), ops[1])
	require.NoError(t, err)
	j.Kill()
	n, err := tryOpen(t, fs, ops, nil)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// Files of another directory are refused, as is a state machine that does not replay to what it was.
func TestForeignFiles(t *testing.T) {
	fs, ops := grown(t)
	other := newDisk()
	o := options(other)
	o.Identity.NamespaceID++
	j := openLocal(t, newMachine(), o)
	_, err := appendOps(t.Context(), j, ops[:10])
	require.NoError(t, err)
	require.NoError(t, j.Close())

	after := other.reboot()
	name := other.list(editsPrefix)[0]
	after.names[filepath.Join("/nn/current", versionName)] = fs.file(versionName)
	_, err = tryOpen(t, after, ops, nil)
	require.EqualError(t, err, "editlog: /nn/current/"+name+" is corrupt at offset 0, op 1, after txid 0: "+
		"it comes from another directory, see VERSION; restore the directory from a copy")

	m := newMachine()
	m.txid = 3
	_, err = OpenLocal(t.Context(), m, options(other.reboot()))
	require.EqualError(t, err, "editlog: /nn/current/"+name+" is corrupt at offset 0, op 1, after txid 3: "+
		"it begins after txid 0, the replay of what stands before gave another state; restore the directory from a copy")
}
