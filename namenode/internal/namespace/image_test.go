package namespace

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// storied makes a namespace with a bit of everything in it.
func storied(t testing.TB, seed uint64, length int) mirror {
	m := newMirror(Partitioned)
	m.Apply([]*Op{{Args: &SetParams{testParams()}}})
	s := newScribe(seed, m.Namespace)
	for range length {
		m.Apply([]*Op{s.next()})
	}
	return m
}

func imageOf(t testing.TB, n *Namespace) []byte {
	var b bytes.Buffer
	size, err := n.Snapshot().WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), size)
	return b.Bytes()
}

func TestImageIsFrozen(t *testing.T) {
	m := newMirror(Partitioned)
	m.Apply([]*Op{{Args: &SetParams{testParams()}}})
	s := newScribe(5, m.Namespace)
	for range 10 {
		for range 100 {
			m.Apply([]*Op{s.next()})
		}
		want := imageOf(t, m.Namespace)
		img, digest := m.Snapshot(), m.Digest()
		for range 100 {
			m.Apply([]*Op{s.next()})
		}
		var b bytes.Buffer
		_, err := img.WriteTo(&b)
		require.NoError(t, err)
		require.Equal(t, len(want), b.Len())
		back := newMirror(Global)
		require.NoError(t, back.Restore(iotest.HalfReader(&b)))
		require.Equal(t, digest, back.Digest())
		require.Equal(t, img.TxID(), back.TxID())
		verifyMirror(t, back)
	}
	require.NotZero(t, m.counters.snapshots, "the history should leave snapshots")
}

// TestImageSharing writes what snapshots share once.
func TestImageSharing(t *testing.T) {
	e := newEnv(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		e.write(root, "/s/"+name, 10)
	}
	e.must(root, &AllowSnapshot{"/s"})
	plain := len(imageOf(t, e.Namespace))
	for _, name := range []string{"1", "2", "3", "4"} {
		e.must(root, &CreateSnapshot{"/s", name})
	}
	more := len(imageOf(t, e.Namespace)) - plain
	require.Less(t, more, 4*100, "four snapshots of an unchanged directory")
	require.NoError(t, e.Restore(bytes.NewReader(imageOf(t, e.Namespace))))
	s := e.root.dir.child("s")
	for _, snap := range s.snaps().list {
		require.Same(t, s.dir.child("a"), snap.root.dir.child("a"))
	}
	e.must(root, &SetPermission{"/s/a", 0o600})
	st, err := e.Status(root, "/s/.snapshot/1/a", true)
	require.NoError(t, err)
	require.Equal(t, dfs.Perm(0o644), st.Perm)
	e.verify()
}

func TestImageDamage(t *testing.T) {
	m := storied(t, 3, 150)
	good := imageOf(t, m.Namespace)
	victim := storied(t, 4, 50)
	digest := victim.Digest()
	r := rand.New(rand.NewPCG(1, 1))
	refused := func(b []byte, what string, at int) {
		err := victim.Restore(bytes.NewReader(b))
		var bad *ImageError
		require.True(t, errors.As(err, &bad), "%s at %d: %v", what, at, err)
		require.LessOrEqual(t, bad.Offset, int64(at), "%s at %d: %v", what, at, err)
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= byte(1 + r.IntN(255))
		refused(b, "flip", i)
		refused(good[:i], "cut", i)
	}
	refused(append(bytes.Clone(good), 0), "byte behind", len(good))
	require.Equal(t, digest, victim.Digest(), "a refused image leaves the state alone")
	require.NoError(t, victim.Restore(bytes.NewReader(good)))
	require.Equal(t, m.Digest(), victim.Digest())
}

func TestImageErrors(t *testing.T) {
	good := imageOf(t, newEnv(t).Namespace)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":   {nil, "bad image: head, frame at offset 0: the image ends too early"},
		"foreign": {[]byte("HDFSIMG1 and so on"), "bad image: head, frame at offset 0: this is no image of a namespace"},
		"version": {append([]byte(imageMagic), 7), "bad image: head, frame at offset 0: version 7, this program knows version 1"},
		"short":   {good[:len(good)-1], "bad image: end, frame at offset"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, newEnv(t).Restore(bytes.NewReader(c.b)), c.want)
		})
	}
	broken := errors.New("disk on fire")
	require.ErrorIs(t, newEnv(t).Restore(iotest.ErrReader(broken)), broken)
	_, err := newEnv(t).Snapshot().WriteTo(failingWriter{broken})
	require.ErrorIs(t, err, broken)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// FuzzRestore gives payloads of frames whose checksums are right. What is accepted must be a state that holds together.
func FuzzRestore(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(imageOf(f, storied(f, seed, 100).Namespace))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := New(Options{})
		if n.Restore(bytes.NewReader(fixChecksums(b))) != nil {
			return
		}
		n.Digest()
		n.List(root, "/", "", 100, true)
		n.ContentSummary(root, "/")
		var again bytes.Buffer
		_, err := n.Snapshot().WriteTo(&again)
		require.NoError(t, err)
		back := New(Options{})
		require.NoError(t, back.Restore(&again))
		require.Equal(t, n.Digest(), back.Digest())
	})
}

// fixChecksums makes the checksums of frames right, so that fuzzing gets behind them.
func fixChecksums(b []byte) []byte {
	b = bytes.Clone(b)
	for at := len(imageMagic) + 1; at+frameHead <= len(b); {
		size := int(b[at+4])<<24 | int(b[at+5])<<16 | int(b[at+6])<<8 | int(b[at+7])
		if at+frameHead+size > len(b) {
			break
		}
		crc := frameCRC(b[at:at+8], b[at+frameHead:at+frameHead+size])
		b[at+8], b[at+9], b[at+10], b[at+11] = byte(crc>>24), byte(crc>>16), byte(crc>>8), byte(crc)
		at += frameHead + size
	}
	return b
}
