package faultfs

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// kindOf is the kind of operation that rules see for each method. Name reaches no disk.
var kindOf = map[string]Kind{
	"Create": Create, "Open": Open, "OpenFile": Open, "Mkdir": Mkdir, "MkdirAll": Mkdir, "Remove": Remove, "RemoveAll": Remove,
	"Rename": Rename, "Stat": Stat, "Chmod": Attr, "Chown": Attr, "Chtimes": Attr,
	"Close": Close, "Read": Read, "ReadAt": Read, "Seek": Seek, "Write": Write, "WriteAt": Write, "WriteString": Write,
	"Readdir": List, "Readdirnames": List, "Sync": Sync, "Truncate": Truncate,
}

// call calls a method with arguments that would do something, and returns its error.
func call(t *testing.T, v any, method reflect.Method) error {
	var args []reflect.Value
	fn := reflect.ValueOf(v).MethodByName(method.Name)
	for i := range fn.Type().NumIn() {
		arg := reflect.New(fn.Type().In(i)).Elem()
		switch arg.Interface().(type) {
		case string:
			arg.SetString("/dir/file")
		case []byte:
			arg.SetBytes([]byte("bytes"))
		case time.Time:
			arg.Set(reflect.ValueOf(time.Unix(1, 0)))
		case int, int64, fs.FileMode: // the zero value is a fine argument
		default:
			t.Fatalf("%s: no argument of type %v is known to this test", method.Name, arg.Type())
		}
		args = append(args, arg)
	}
	out := fn.Call(args)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

// TestEveryMethodIsIntercepted calls all methods that the interfaces of afero have now.
func TestEveryMethodIsIntercepted(t *testing.T) {
	errInjected := errors.New("injected")
	for _, iface := range []reflect.Type{reflect.TypeFor[afero.Fs](), reflect.TypeFor[afero.File]()} {
		for i := range iface.NumMethod() {
			method := iface.Method(i)
			if method.Name == "Name" {
				continue
			}
			t.Run(iface.Name()+"."+method.Name, func(t *testing.T) {
				kind, ok := kindOf[method.Name]
				require.True(t, ok, "a new method: intercept it in FS or file, and name its kind here")
				disk := NewDisk(Options{})
				require.NoError(t, disk.Mkdir("/dir", 0o755))
				require.NoError(t, afero.WriteFile(disk, "/dir/file", []byte("content"), 0o644))
				s := Wrap(disk)
				target := func() any {
					if iface.Name() == "Fs" {
						return s
					}
					f, err := s.OpenFile("/dir/file", os.O_RDWR, 0)
					require.NoError(t, err)
					return f
				}
				v := target()
				before, counts := dump(t, disk, "/"), disk.Counts()

				var seen []Op
				fault := s.Inject(Rule{Err: errInjected, Match: func(op Op) bool {
					seen = append(seen, op)
					return true
				}})
				err := call(t, v, method)
				require.ErrorIs(t, err, errInjected)
				require.Equal(t, 1, fault.Hits())
				require.Len(t, seen, 1)
				require.Equal(t, kind, seen[0].Kind)
				require.Equal(t, "/dir/file", seen[0].Path)
				require.ErrorContains(t, err, "/dir/file")
				require.Equal(t, counts.Opened, disk.Counts().Opened)
				fault.Remove()
				require.Equal(t, before, dump(t, disk, "/"), "it failed and did it all the same")

				v = target()
				s.Freeze()
				require.ErrorIs(t, call(t, v, method), ErrFrozen)
				require.ErrorIs(t, call(t, v, method), map[bool]error{false: ErrFrozen, true: fs.ErrClosed}[method.Name == "Close"])
				require.Equal(t, before, dump(t, disk, "/"), "it was frozen and did it all the same")
			})
		}
	}
}

func TestRuleCounts(t *testing.T) {
	s := Wrap(NewDisk(Options{}))
	fault := s.Inject(Rule{Kinds: Mkdir, Match: Under("/a"), After: 1, Times: 2, Err: syscall.EIO})
	var got []bool
	for _, p := range []string{"/a", "/b", "/a/1", "/a/2", "/a/3", "/ab"} {
		err := s.Mkdir(p, 0o755)
		got = append(got, err == nil)
		if err != nil {
			require.ErrorIs(t, err, syscall.EIO)
		}
	}
	require.Equal(t, []bool{true, true, false, false, true, true}, got)
	require.Equal(t, 2, fault.Hits())
}

func TestRuleMatchesBase(t *testing.T) {
	s := Wrap(NewDisk(Options{}))
	s.Inject(Rule{Match: Base("*.meta"), Err: syscall.EIO})
	require.NoError(t, afero.WriteFile(s, "/blk_1", nil, 0o644))
	require.ErrorIs(t, afero.WriteFile(s, "/blk_1.meta", nil, 0o644), syscall.EIO)
}

func TestTornWrite(t *testing.T) {
	s := Wrap(NewDisk(Options{}))
	f, err := s.Create("/f")
	require.NoError(t, err)
	s.Inject(Rule{Kinds: Write, After: 1, Times: 1, Err: syscall.EIO, Torn: 3})
	for _, want := range []int{5, 3, 5} {
		n, err := f.Write([]byte("12345"))
		require.Equal(t, want, n)
		if n < 5 {
			require.ErrorIs(t, err, syscall.EIO)
		} else {
			require.NoError(t, err)
		}
	}
	b, err := afero.ReadFile(s, "/f")
	require.NoError(t, err)
	require.Equal(t, "1234512312345", string(b))
}

func TestMangledBytes(t *testing.T) {
	s := Wrap(NewDisk(Options{}))
	require.NoError(t, afero.WriteFile(s, "/f", []byte("abcdef"), 0o644))
	flip := func(op Op, p []byte) {
		if at := 2 - op.Offset; at >= 0 && at < int64(len(p)) {
			p[at] ^= 0x20
		}
	}
	fault := s.Inject(Rule{Kinds: Read, Mangle: flip})
	b, err := afero.ReadFile(s, "/f")
	require.NoError(t, err)
	require.Equal(t, "abCdef", string(b))
	fault.Remove()

	s.Inject(Rule{Kinds: Write, Mangle: flip})
	data := []byte("ghijkl")
	require.NoError(t, afero.WriteFile(s, "/f", data, 0o644))
	require.Equal(t, "ghijkl", string(data), "the caller's bytes are not for us to change")
	b, err = afero.ReadFile(s, "/f")
	require.NoError(t, err)
	require.Equal(t, "ghIjkl", string(b))
}

func TestDelayAndHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Wrap(NewDisk(Options{}))
		s.Inject(Rule{Kinds: Mkdir, Times: 1, Delay: time.Hour})
		start := time.Now()
		require.NoError(t, s.Mkdir("/slow", 0o755))
		require.Equal(t, time.Hour, time.Since(start))

		fault := s.Inject(Rule{Kinds: Mkdir, Hang: true})
		done := make(chan error)
		go func() { done <- s.Mkdir("/held", 0o755) }()
		synctest.Wait()
		_, err := s.Stat("/held")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Equal(t, 1, fault.Hits())
		fault.Release()
		require.NoError(t, <-done)
		require.NoError(t, s.Mkdir("/free", 0o755))
	})
}

// TestFreezeEndsWhatWaits: a killed node writes nothing any more, not even what hung.
func TestFreezeEndsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := NewDisk(Options{})
		s := Wrap(disk)
		f, err := s.Create("/f")
		require.NoError(t, err)
		s.Inject(Rule{Kinds: Write, Hang: true})
		s.Inject(Rule{Kinds: Mkdir, Delay: time.Hour})
		done := make(chan error)
		go func() {
			_, err := f.Write([]byte("late"))
			done <- err
		}()
		go func() { done <- s.Mkdir("/late", 0o755) }()
		synctest.Wait()
		s.Freeze()
		require.ErrorIs(t, <-done, ErrFrozen)
		require.ErrorIs(t, <-done, ErrFrozen)
		require.Equal(t, []string{"/", "f 0 "}, dump(t, disk, "/"))
		require.ErrorIs(t, s.Mkdir("/more", 0o755), ErrFrozen)

		s.Thaw()
		require.ErrorIs(t, f.Sync(), ErrFrozen, "a handle of the last life")
		require.Zero(t, s.Counts().OpenFiles)
		_, err = s.Stat("/f")
		require.NoError(t, err)
	})
}

// slowFS holds one operation inside, where the kernel would.
type slowFS struct {
	afero.Fs
	inside, leave chan struct{}
}

func (s slowFS) Mkdir(name string, perm fs.FileMode) error {
	close(s.inside)
	<-s.leave
	return s.Fs.Mkdir(name, perm)
}

// TestFreezeWaits: when Freeze returns no operation is under way.
func TestFreezeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowFS{NewDisk(Options{}), make(chan struct{}), make(chan struct{})}
		s := Wrap(slow)
		made, frozen := make(chan error, 1), make(chan struct{})
		go func() { made <- s.Mkdir("/d", 0o755) }()
		<-slow.inside
		go func() {
			s.Freeze()
			close(frozen)
		}()
		synctest.Wait()
		select {
		case <-frozen:
			t.Fatal("frozen with an operation under way")
		default:
		}
		close(slow.leave)
		<-frozen
		require.NoError(t, <-made)
	})
}

func TestReadOnly(t *testing.T) {
	s := Wrap(NewDisk(Options{}))
	require.NoError(t, afero.WriteFile(s, "/f", []byte("x"), 0o644))
	s.SetReadOnly(true)
	for name, do := range map[string]func() error{
		"create":   func() error { _, err := s.Create("/g"); return err },
		"open":     func() error { _, err := s.OpenFile("/f", os.O_RDWR, 0); return err },
		"truncate": func() error { _, err := s.OpenFile("/f", os.O_TRUNC, 0); return err },
		"mkdir":    func() error { return s.MkdirAll("/d", 0o755) },
		"remove":   func() error { return s.RemoveAll("/f") },
		"rename":   func() error { return s.Rename("/f", "/g") },
		"chmod":    func() error { return s.Chmod("/f", 0o600) },
	} {
		require.ErrorIs(t, do(), syscall.EROFS, name)
	}
	b, err := afero.ReadFile(s, "/f")
	require.NoError(t, err)
	require.Equal(t, "x", string(b))
	s.SetReadOnly(false)
	require.NoError(t, s.Remove("/f"))
}

// TestOSFile: the operating system's file shines through where nothing is to be done to its bytes.
func TestOSFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/f", []byte("x"), 0o644))
	s := Wrap(Wrap(afero.NewBasePathFs(afero.NewOsFs(), dir)))
	open := func(s *FS, flag int) bool {
		f, err := s.OpenFile("f", flag, 0)
		require.NoError(t, err)
		defer f.Close()
		of, ok := f.(interface{ OSFile() (*os.File, bool) }).OSFile()
		require.Equal(t, ok, of != nil)
		return ok
	}
	require.True(t, open(s, os.O_RDONLY))
	require.False(t, open(s, os.O_RDWR))
	fault := s.inner.(*FS).Inject(Rule{Kinds: Read | Sync, Delay: time.Millisecond})
	require.False(t, open(s, os.O_RDONLY))
	fault.Remove()
	require.True(t, open(s, os.O_RDONLY))
	s.Inject(Rule{Kinds: Sync, Err: syscall.EIO})
	require.True(t, open(s, os.O_RDONLY))

	disk := NewDisk(Options{})
	require.NoError(t, afero.WriteFile(disk, "f", nil, 0o644))
	require.False(t, open(Wrap(disk), os.O_RDONLY))
}
