package client

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

func TestFS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 2)
		f.page = 2
		c := f.client(Options{})
		for _, name := range []string{"a", "b/c", "b/d/e", "z"} {
			require.NoError(t, c.MkdirAll(t.Context(), parent("/top/"+name), 0o755))
			require.NoError(t, c.WriteFile(t.Context(), "/top/"+name, pattern(600+len(name)), BlockSize(512)))
		}
		require.NoError(t, c.MkdirAll(t.Context(), "/top/empty", 0o755))
		_, err := fs.Stat(c.FS(t.Context()), "top/b/d/e")
		require.NoError(t, err)
		sub, err := fs.Sub(c.FS(t.Context()), "top")
		require.NoError(t, err)
		require.NoError(t, fstest.TestFS(sub, "a", "b/c", "b/d/e", "empty", "z"))

		_, err = sub.Open("none")
		require.EqualError(t, err, "open none: File does not exist: /top/none (FileNotFoundException)")
		require.ErrorIs(t, err, fs.ErrNotExist)
		d, err := sub.Open("b")
		require.NoError(t, err)
		_, err = d.Read(nil)
		require.ErrorIs(t, err, syscall.EISDIR)
	})
}

func TestAferoFlags(t *testing.T) {
	tests := []struct {
		name  string
		flag  int
		have  string // "-": no such file
		write string // "": nothing
		want  string
		err   error
	}{
		{"create", os.O_RDWR | os.O_CREATE | os.O_TRUNC, "-", "new", "new", nil},
		{"create over", os.O_RDWR | os.O_CREATE | os.O_TRUNC, "older", "new", "new", nil},
		{"create exclusively", os.O_WRONLY | os.O_CREATE | os.O_EXCL, "-", "new", "new", nil},
		{"create what exists exclusively", os.O_WRONLY | os.O_CREATE | os.O_EXCL, "old", "", "old", fs.ErrExist},
		{"open nothing", os.O_RDWR, "-", "", "-", fs.ErrNotExist},
		{"truncate only", os.O_WRONLY | os.O_TRUNC, "old", "", "", nil},
		{"append", os.O_WRONLY | os.O_APPEND, "old", "new", "oldnew", nil},
		{"append to nothing", os.O_WRONLY | os.O_APPEND | os.O_CREATE, "-", "new", "new", nil},
		{"overwrite in place", os.O_RDWR, "old", "new", "old", ErrAppendOnly},
		{"write an empty file", os.O_RDWR, "", "new", "new", nil},
		{"write what is read-only", os.O_RDONLY, "old", "new", "old", syscall.EBADF},
		{"only create", os.O_RDONLY | os.O_CREATE, "-", "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fsys := newFake(t, 1, 1).client(Options{}).Afero(t.Context())
				if tt.have != "-" {
					require.NoError(t, afero.WriteFile(fsys, "/f", []byte(tt.have), 0o644))
				}
				f, err := fsys.OpenFile("/f", tt.flag, 0o644)
				if err == nil {
					if tt.write != "" {
						_, err = f.WriteString(tt.write)
					}
					require.NoError(t, f.Close())
					require.ErrorIs(t, f.Close(), fs.ErrClosed)
				}
				require.ErrorIs(t, err, tt.err)
				b, err := afero.ReadFile(fsys, "/f")
				if tt.want == "-" {
					require.True(t, os.IsNotExist(err))
					return
				}
				require.NoError(t, err)
				require.Equal(t, tt.want, string(b))
			})
		})
	}
}

func TestAferoFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFake(t, 1, 2).client(Options{}).Afero(t.Context())
		f, err := fsys.Create("/f")
		require.NoError(t, err)
		require.Equal(t, "/f", f.Name())
		_, err = f.WriteString("hello, world")
		require.NoError(t, err)

		// what was written is read back, and more is written
		_, err = f.Seek(7, io.SeekStart)
		require.NoError(t, err)
		b, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, "world", string(b))
		_, err = f.WriteString("!")
		require.NoError(t, err)
		b = make([]byte, 6)
		_, err = f.ReadAt(b, 7)
		require.NoError(t, err)
		require.Equal(t, "world!", string(b))
		info, err := f.Stat()
		require.NoError(t, err)
		require.EqualValues(t, 13, info.Size())
		require.NoError(t, f.Sync())

		// bytes that are there stay
		_, err = f.WriteAt([]byte("W"), 7)
		require.EqualError(t, err, "write /f: at offset 7 of 13: an HDFS file can only grow at its end: unsupported operation")
		require.ErrorIs(t, err, errors.ErrUnsupported)

		// longer, shorter, and a hole
		require.NoError(t, f.Truncate(20))
		require.NoError(t, f.Truncate(5))
		_, err = f.WriteAt([]byte("x"), 8)
		require.NoError(t, err)
		require.ErrorIs(t, f.Truncate(-1), fs.ErrInvalid)
		_, err = f.Seek(-1, io.SeekStart)
		require.ErrorIs(t, err, fs.ErrInvalid)
		end, err := f.Seek(0, io.SeekEnd)
		require.NoError(t, err)
		require.EqualValues(t, 9, end)
		require.NoError(t, f.Close())
		_, err = f.Read(b)
		require.ErrorIs(t, err, fs.ErrClosed)
		got, err := afero.ReadFile(fsys, "/f")
		require.NoError(t, err)
		require.True(t, bytes.Equal([]byte("hello\x00\x00\x00x"), got))
	})
}

func TestAferoDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		f.page = 2
		fsys := f.client(Options{}).Afero(t.Context())
		require.NoError(t, fsys.MkdirAll("/d/sub", 0o755))
		require.ErrorIs(t, fsys.Mkdir("/d", 0o755), fs.ErrExist)
		for _, name := range []string{"a", "b", "c", "e"} {
			require.NoError(t, afero.WriteFile(fsys, "/d/"+name, []byte(name), 0o644))
		}
		d, err := fsys.Open("/d")
		require.NoError(t, err)
		names, err := d.Readdirnames(3)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, names)
		infos, err := d.Readdir(-1)
		require.NoError(t, err)
		require.Len(t, infos, 2)
		_, err = d.Readdir(1)
		require.Equal(t, io.EOF, err)
		_, err = d.Seek(0, io.SeekStart)
		require.NoError(t, err)
		names, err = d.Readdirnames(0)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c", "e", "sub"}, names)
		_, err = d.Read(nil)
		require.ErrorIs(t, err, syscall.EISDIR)
		require.NoError(t, d.Close())
		_, err = fsys.OpenFile("/d", os.O_WRONLY, 0)
		require.ErrorIs(t, err, syscall.EISDIR)

		file, err := fsys.Open("/d/a")
		require.NoError(t, err)
		_, err = file.Readdir(0)
		require.ErrorIs(t, err, syscall.ENOTDIR)
		require.NoError(t, file.Close())

		require.NoError(t, fsys.Rename("/d/a", "/d/b"), "as the operating system, over what is there")
		require.NoError(t, fsys.Rename("/d/b", "/d/b"))
		b, err := afero.ReadFile(fsys, "/d/b")
		require.NoError(t, err)
		require.Equal(t, "a", string(b))
		require.ErrorIs(t, fsys.Remove("/d"), syscall.ENOTEMPTY)
		require.NoError(t, fsys.RemoveAll("/d"))
		require.NoError(t, fsys.RemoveAll("/d"))
		require.True(t, os.IsNotExist(fsys.Remove("/d")))
		ok, err := afero.Exists(fsys, "/d")
		require.NoError(t, err)
		require.False(t, ok)
	})
}
