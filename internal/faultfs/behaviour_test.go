package faultfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// behaviours are what servers rely on. Those marked with MemMapFs are where afero's own memory file system differs.
var behaviours = []struct {
	name string
	run  func(t *testing.T, fsys afero.Fs, dir string)
}{
	{"create needs the directory (MemMapFs makes it)", func(t *testing.T, fsys afero.Fs, dir string) {
		_, err := fsys.Create(dir + "/no/f")
		requirePathError(t, err, "open", dir+"/no/f", syscall.ENOENT)
	}},
	{"a full directory is not removed (MemMapFs does)", func(t *testing.T, fsys afero.Fs, dir string) {
		require.NoError(t, fsys.MkdirAll(dir+"/d/e", 0o755))
		requirePathError(t, fsys.Remove(dir+"/d"), "remove", dir+"/d", syscall.ENOTEMPTY)
		require.NoError(t, fsys.RemoveAll(dir+"/d"))
		_, err := fsys.Stat(dir + "/d/e")
		requirePathError(t, err, "stat", dir+"/d/e", syscall.ENOENT)
	}},
	{"handles that append do not overwrite one another (MemMapFs's do)", func(t *testing.T, fsys afero.Fs, dir string) {
		const flag = os.O_APPEND | os.O_CREATE | os.O_WRONLY
		a, err := fsys.OpenFile(dir+"/f", flag, 0o644)
		require.NoError(t, err)
		b, err := fsys.OpenFile(dir+"/f", flag, 0o644)
		require.NoError(t, err)
		for i, f := range []afero.File{a, b, a, b} {
			_, err := f.WriteString(string(rune('1' + i)))
			require.NoError(t, err)
		}
		requireContent(t, fsys, dir+"/f", "1234")
		closeAll(t, a, b)
	}},
	{"a handle keeps its name and file through a rename (MemMapFs's changes its name)", func(t *testing.T, fsys afero.Fs, dir string) {
		f, err := fsys.Create(dir + "/old")
		require.NoError(t, err)
		require.NoError(t, fsys.Rename(dir+"/old", dir+"/new"))
		_, err = f.WriteString("x")
		require.NoError(t, err)
		require.Equal(t, dir+"/old", f.Name())
		requireContent(t, fsys, dir+"/new", "x")
		closeAll(t, f)
	}},
	{"a removed file lives until its last handle closes", func(t *testing.T, fsys afero.Fs, dir string) {
		f, err := fsys.Create(dir + "/f")
		require.NoError(t, err)
		require.NoError(t, fsys.Remove(dir+"/f"))
		_, err = f.WriteString("still here")
		require.NoError(t, err)
		b := make([]byte, 10)
		_, err = f.ReadAt(b, 0)
		require.NoError(t, err)
		require.Equal(t, "still here", string(b))
		closeAll(t, f)
		_, err = fsys.Stat(dir + "/f")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}},
	{"O_EXCL makes or fails", func(t *testing.T, fsys afero.Fs, dir string) {
		const flag = os.O_RDWR | os.O_CREATE | os.O_EXCL
		f, err := fsys.OpenFile(dir+"/f", flag, 0o644)
		require.NoError(t, err)
		closeAll(t, f)
		_, err = fsys.OpenFile(dir+"/f", flag, 0o644)
		requirePathError(t, err, "open", dir+"/f", syscall.EEXIST)
	}},
	{"a rename replaces a file but no directory", func(t *testing.T, fsys afero.Fs, dir string) {
		require.NoError(t, afero.WriteFile(fsys, dir+"/a", []byte("a"), 0o644))
		require.NoError(t, afero.WriteFile(fsys, dir+"/b", []byte("b"), 0o644))
		require.NoError(t, fsys.Mkdir(dir+"/d", 0o755))
		require.NoError(t, fsys.Rename(dir+"/a", dir+"/b"))
		requireContent(t, fsys, dir+"/b", "a")
		require.ErrorIs(t, fsys.Rename(dir+"/b", dir+"/d"), syscall.EEXIST)
		require.ErrorIs(t, fsys.Rename(dir+"/d", dir+"/b"), syscall.ENOTDIR)
		require.ErrorIs(t, fsys.Rename(dir+"/d", dir+"/d/e"), syscall.EINVAL)
		require.ErrorIs(t, fsys.Rename(dir+"/no", dir+"/b"), syscall.ENOENT)
	}},
	{"a file is no directory, nor the other way round", func(t *testing.T, fsys afero.Fs, dir string) {
		require.NoError(t, afero.WriteFile(fsys, dir+"/f", nil, 0o644))
		_, err := fsys.Open(dir + "/f/g")
		requirePathError(t, err, "open", dir+"/f/g", syscall.ENOTDIR)
		require.ErrorIs(t, fsys.MkdirAll(dir+"/f/d", 0o755), syscall.ENOTDIR)
		_, err = fsys.Create(dir)
		requirePathError(t, err, "open", dir, syscall.EISDIR)
		require.ErrorIs(t, fsys.Mkdir(dir+"/f", 0o755), fs.ErrExist)
	}},
	{"holes read as zeros, also after bytes were cut off there", func(t *testing.T, fsys afero.Fs, dir string) {
		f, err := fsys.Create(dir + "/f")
		require.NoError(t, err)
		_, err = f.WriteAt(bytes.Repeat([]byte("x"), 200_000), 0)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(10))
		_, err = f.WriteAt([]byte("y"), 150_000)
		require.NoError(t, err)
		want := append(bytes.Repeat([]byte("x"), 10), make([]byte, 149_990)...)
		requireContent(t, fsys, dir+"/f", string(append(want, 'y')))
		closeAll(t, f)
	}},
	{"a short read at the end says EOF", func(t *testing.T, fsys afero.Fs, dir string) {
		require.NoError(t, afero.WriteFile(fsys, dir+"/f", []byte("12345"), 0o644))
		f, err := fsys.Open(dir + "/f")
		require.NoError(t, err)
		b := make([]byte, 4)
		n, err := f.ReadAt(b, 3)
		require.Equal(t, 2, n)
		require.Equal(t, io.EOF, err)
		for _, want := range []string{"1234", "5"} {
			n, err = f.Read(b)
			require.NoError(t, err)
			require.Equal(t, want, string(b[:n]))
		}
		_, err = f.Read(b)
		require.Equal(t, io.EOF, err)
		closeAll(t, f)
	}},
	{"a directory is listed in parts", func(t *testing.T, fsys afero.Fs, dir string) {
		want := map[string]bool{"a": true, "b": true, "c": true}
		for name := range want {
			require.NoError(t, fsys.Mkdir(dir+"/"+name, 0o755))
		}
		f, err := fsys.Open(dir)
		require.NoError(t, err)
		got := map[string]bool{}
		for {
			infos, err := f.Readdir(2)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			for _, info := range infos {
				require.True(t, info.IsDir())
				got[info.Name()] = true
			}
		}
		require.Equal(t, want, got)
		closeAll(t, f)
	}},
	{"access is what was asked for", func(t *testing.T, fsys afero.Fs, dir string) {
		require.NoError(t, afero.WriteFile(fsys, dir+"/f", []byte("x"), 0o644))
		r, err := fsys.Open(dir + "/f")
		require.NoError(t, err)
		_, err = r.WriteString("y")
		requirePathError(t, err, "write", dir+"/f", syscall.EBADF)
		require.ErrorIs(t, r.Truncate(0), syscall.EINVAL)
		w, err := fsys.OpenFile(dir+"/f", os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = w.Read(make([]byte, 1))
		requirePathError(t, err, "read", dir+"/f", syscall.EBADF)
		closeAll(t, r, w)
		requirePathError(t, r.Close(), "close", dir+"/f", fs.ErrClosed)
	}},
	{"modes and times are kept", func(t *testing.T, fsys afero.Fs, dir string) {
		require.NoError(t, afero.WriteFile(fsys, dir+"/f", nil, 0o644))
		at := time.Unix(1_000_000_000, 0)
		require.NoError(t, fsys.Chmod(dir+"/f", 0o600))
		require.NoError(t, fsys.Chtimes(dir+"/f", at, at))
		require.NoError(t, fsys.Chown(dir+"/f", os.Getuid(), os.Getgid()))
		info, err := fsys.Stat(dir + "/f")
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode())
		require.True(t, at.Equal(info.ModTime()))
		require.Equal(t, "f", info.Name())
	}},
}

func requirePathError(t *testing.T, err error, op, path string, cause error) {
	t.Helper()
	var pe *fs.PathError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, op, pe.Op)
	require.Equal(t, path, pe.Path)
	require.ErrorIs(t, pe.Err, cause)
}

func requireContent(t *testing.T, fsys afero.Fs, name, want string) {
	t.Helper()
	b, err := afero.ReadFile(fsys, name)
	require.NoError(t, err)
	require.Equal(t, want, string(b))
}

func closeAll(t *testing.T, files ...afero.File) {
	t.Helper()
	for _, f := range files {
		require.NoError(t, f.Close())
	}
}

func TestBehaviours(t *testing.T) {
	for name, make := range fileSystems {
		t.Run(name, func(t *testing.T) {
			for _, b := range behaviours {
				t.Run(b.name, func(t *testing.T) {
					fsys, dir := make(), filepath.ToSlash(t.TempDir())
					require.NoError(t, fsys.MkdirAll(dir, 0o755))
					b.run(t, fsys, dir)
				})
			}
		})
	}
}
