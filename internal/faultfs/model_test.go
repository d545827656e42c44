package faultfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// newRand returns a source whose seed the test prints.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// errClass reduces an error to what a caller can ask of it.
func errClass(err error) string {
	if err == nil {
		return "ok"
	}
	if strings.HasSuffix(err.Error(), "use of closed file") { // what os.File.Readdir says
		return fs.ErrClosed.Error()
	}
	var errno syscall.Errno
	for _, e := range []error{io.EOF, fs.ErrClosed, errNegative, errAppend} {
		if errors.Is(err, e) || strings.HasSuffix(err.Error(), e.Error()) {
			return e.Error()
		}
	}
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// script runs random operations on one file system and writes down all that a caller could see.
type script struct {
	fs    afero.Fs
	root  string
	rng   *rand.Rand
	files []afero.File
	log   []string
}

func (s *script) say(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

func (s *script) path() string {
	p := s.root
	for range 1 + s.rng.IntN(3) {
		p = filepath.Join(p, string(rune('a'+s.rng.IntN(3))))
	}
	return p
}

func (s *script) rel(p string) string { return strings.TrimPrefix(p, s.root) }

func (s *script) data() []byte {
	n := 1 + s.rng.IntN(300) // package os never asks the kernel about an empty write
	if s.rng.IntN(8) == 0 {
		n = 1 + s.rng.IntN(200_000)
	}
	return bytes.Repeat([]byte{byte(1 + s.rng.IntN(255))}, n)
}

func (s *script) offset() int64 {
	if s.rng.IntN(6) == 0 {
		return s.rng.Int64N(300_000)
	}
	return s.rng.Int64N(1000) - 5
}

var openFlags = []int{
	os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_EXCL,
	os.O_RDWR | os.O_TRUNC, os.O_RDWR | os.O_APPEND | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
	os.O_RDONLY | os.O_CREATE,
}

// step does one operation.
func (s *script) step() {
	op := s.rng.IntN(26)
	p, q := s.path(), s.path()
	switch op {
	case 0, 1:
		s.say("mkdir %s: %s", s.rel(p), errClass(s.fs.Mkdir(p, 0o755)))
	case 2, 3:
		s.say("mkdirall %s: %s", s.rel(p), errClass(s.fs.MkdirAll(p, 0o755)))
	case 4, 5:
		s.say("remove %s: %s", s.rel(p), errClass(s.fs.Remove(p)))
	case 6:
		s.say("removeall %s: %s", s.rel(p), errClass(s.fs.RemoveAll(p)))
	case 7, 8:
		s.say("rename %s %s: %s", s.rel(p), s.rel(q), errClass(s.fs.Rename(p, q)))
	case 9:
		info, err := s.fs.Stat(p)
		s.say("stat %s: %s %s", s.rel(p), describe(info), errClass(err))
	case 10:
		s.say("chmod %s: %s", s.rel(p), errClass(s.fs.Chmod(p, 0o700)))
		at := time.Unix(1e9, 0)
		s.say("chtimes %s: %s", s.rel(p), errClass(s.fs.Chtimes(p, at, at)))
	case 11, 12, 13:
		flag := openFlags[s.rng.IntN(len(openFlags))]
		f, err := s.fs.OpenFile(p, flag, 0o644)
		s.say("open %s %x: %s", s.rel(p), flag, errClass(err))
		if err == nil {
			s.files = append(s.files, f)
		}
	default:
		if len(s.files) > 0 {
			s.handle(s.rng.IntN(len(s.files)))
		}
	}
}

// handle does one operation on an open file.
func (s *script) handle(i int) {
	f, off := s.files[i], s.offset()
	op := s.rng.IntN(14)
	switch op {
	case 0, 1:
		n, err := f.Write(s.data())
		s.say("%d write: %d %s", i, n, errClass(err))
	case 2, 3:
		n, err := f.WriteAt(s.data(), off)
		s.say("%d writeat %d: %d %s", i, off, n, errClass(err))
	case 4:
		b := make([]byte, 1+s.rng.IntN(1000))
		if s.isDir(f) { // a kernel has several answers
			return
		}
		n, err := f.Read(b)
		s.say("%d read: %x %s", i, b[:n], errClass(err))
	case 5, 6:
		b := make([]byte, 1+s.rng.IntN(1000))
		n, err := f.ReadAt(b, off)
		s.say("%d readat %d: %x %s", i, off, b[:n], errClass(err))
	case 7:
		whence := s.rng.IntN(3)
		if s.isDir(f) { // where a directory ends is the file system's secret
			off, whence = 0, 0
		}
		n, err := f.Seek(off, whence)
		s.say("%d seek %d: %d %s", i, off, n, errClass(err))
	case 8:
		s.say("%d truncate %d: %s", i, off, errClass(f.Truncate(off)))
	case 9:
		s.say("%d sync: %s", i, errClass(f.Sync()))
	case 10:
		info, err := f.Stat()
		s.say("%d stat: %s %s", i, describe(info), errClass(err))
	case 11:
		if _, err := f.Seek(0, io.SeekStart); err != nil { // the kernel's own buffering is not compared
			return
		}
		names, err := f.Readdirnames(-1)
		sort.Strings(names)
		s.say("%d readdirnames: %v %s", i, names, errClass(err))
	case 12:
		n, err := f.WriteString("text")
		s.say("%d writestring: %d %s", i, n, errClass(err))
	case 13:
		s.say("%d close: %s", i, errClass(f.Close()))
		if s.rng.IntN(3) > 0 { // otherwise it is used again
			s.files = append(s.files[:i:i], s.files[i+1:]...)
		}
	}
}

func (s *script) isDir(f afero.File) bool {
	info, err := f.Stat()
	return err == nil && info.IsDir()
}

func describe(info fs.FileInfo) string {
	if info == nil {
		return "nil"
	}
	if info.IsDir() {
		return info.Name() + " dir"
	}
	return fmt.Sprintf("%s %d", info.Name(), info.Size())
}

// dump lists a tree with its bytes.
func dump(t testing.TB, fsys afero.Fs, root string) []string {
	var all []string
	require.NoError(t, afero.Walk(fsys, root, func(p string, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(p, root)
		if !info.IsDir() {
			b, err := afero.ReadFile(fsys, p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", info.Size(), b)
		} else {
			line += "/"
		}
		all = append(all, line)
		return nil
	}))
	return all
}

// sameAsOS runs random operations on fsys and on the operating system's file system, and compares all answers.
// It returns where it worked.
func sameAsOS(t *testing.T, rng *rand.Rand, ops int, fsys afero.Fs) (root string) {
	seed := rng.Uint64()
	run := func(fsys afero.Fs) *script {
		root := t.TempDir()
		require.NoError(t, fsys.MkdirAll(root, 0o755))
		return &script{fs: fsys, root: root, rng: rand.New(rand.NewPCG(seed, 2))}
	}
	want, got := run(afero.NewOsFs()), run(fsys)
	var before []string
	for range ops {
		want.step()
		got.step()
		for i, line := range want.log {
			if line != got.log[i] {
				t.Fatalf("operating system: %s\n%s: %s\nbefore:\n%s", line, fsys.Name(), got.log[i], strings.Join(before, "\n"))
			}
		}
		before = append(before[max(0, len(before)-20):], want.log...)
		want.log, got.log = nil, nil
	}
	require.Equal(t, dump(t, want.fs, want.root), dump(t, fsys, got.root))
	for i := range want.files {
		want.files[i].Close()
		got.files[i].Close()
	}
	return got.root
}

// fileSystems are the file systems that must behave alike.
var fileSystems = map[string]func() afero.Fs{
	"disk":         func() afero.Fs { return NewDisk(Options{}) },
	"wrapped disk": func() afero.Fs { return Wrap(NewDisk(Options{})) },
	"wrapped os":   func() afero.Fs { return Wrap(afero.NewOsFs()) },
	"wrapped os, with books": func() afero.Fs {
		return Wrap(afero.NewOsFs(), WithPowerLoss(), WithSpace(NewSpace(0)))
	},
}

func TestSameAsOS(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the model is a POSIX file system")
	}
	for name, make := range fileSystems {
		t.Run(name, func(t *testing.T) {
			rng := newRand(t, 0)
			for range 8 {
				fsys := make()
				root := sameAsOS(t, rng, 400, fsys)
				require.Zero(t, fsys.(interface{ Counts() Counts }).Counts().OpenFiles)
				if d, ok := fsys.(*Disk); ok {
					require.NoError(t, d.RemoveAll("/"))
					require.Zero(t, d.Space().Used())
				}
				if s, ok := fsys.(*FS); ok && s.space != nil {
					require.NoError(t, s.RemoveAll(root))
					require.Zero(t, s.space.Used())
					require.NoError(t, s.Close())
				}
			}
		})
	}
}
