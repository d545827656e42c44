package osfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// Everything below has the outcome that package os gives it.
func TestAsPackageOs(t *testing.T) {
	type step func(f afero.Fs, dir string) (string, error)
	open := func(name string, flag int, do func(afero.File) (string, error)) step {
		return func(f afero.Fs, dir string) (string, error) {
			file, err := f.OpenFile(filepath.Join(dir, name), flag, 0o640)
			if err != nil {
				return "", err
			}
			defer file.Close()
			return do(file)
		}
	}
	write := func(text string) func(afero.File) (string, error) {
		return func(f afero.File) (string, error) {
			_, err := f.WriteString(text)
			return strings.TrimPrefix(filepath.Base(f.Name()), "x"), err
		}
	}
	all := func(f afero.File) (string, error) {
		b, err := io.ReadAll(f)
		return string(b), err
	}
	names := func(f afero.File) (string, error) {
		list, err := f.Readdirnames(-1)
		return strings.Join(list, " "), err
	}
	rename := func(from, to string) step {
		return func(f afero.Fs, dir string) (string, error) {
			return "", f.Rename(filepath.Join(dir, from), filepath.Join(dir, to))
		}
	}
	steps := []struct {
		name string
		do   step
	}{
		{"read what is not there", open("a", os.O_RDONLY, all)},
		{"create", open("a", os.O_RDWR|os.O_CREATE|os.O_EXCL, write("hello"))},
		{"create again", open("a", os.O_RDWR|os.O_CREATE|os.O_EXCL, write("no"))},
		{"append", open("a", os.O_WRONLY|os.O_APPEND, write(", world"))},
		{"append somewhere", open("a", os.O_WRONLY|os.O_APPEND, func(f afero.File) (string, error) {
			_, err := f.WriteAt([]byte("x"), 0)
			return "", err
		})},
		{"read", open("a", os.O_RDONLY, all)},
		{"write what was opened to read", open("a", os.O_RDONLY, write("no"))},
		{"mode", func(f afero.Fs, dir string) (string, error) {
			info, err := f.Stat(filepath.Join(dir, "a"))
			if err != nil {
				return "", err
			}
			return info.Mode().String(), nil
		}},
		{"rename", rename("a", "b")},
		{"rename what is not there", rename("a", "c")},
		{"rename to where no directory is", rename("b", "d/b")},
		{"a directory", func(f afero.Fs, dir string) (string, error) { return "", f.Mkdir(filepath.Join(dir, "e"), 0o755) }},
		{"list", open("e", os.O_RDONLY, names)},
		{"sync a directory", open("e", os.O_RDONLY, func(f afero.File) (string, error) { return "", f.Sync() })},
		{"write a directory", open("e", os.O_RDWR, write("no"))},
		{"create below a file", open("b/c", os.O_RDWR|os.O_CREATE, write("no"))},
		{"over another", open("c", os.O_RDWR|os.O_CREATE, write("other"))},
		{"rename over it", rename("b", "c")},
		{"read it", open("c", os.O_RDONLY, all)},
		{"empty it", open("c", os.O_RDWR|os.O_TRUNC, all)},
		{"with a zero", open("c\x00", os.O_RDONLY, all)},
	}
	mine, system := t.TempDir(), t.TempDir()
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			want, wantErr := s.do(afero.NewOsFs(), system)
			got, err := s.do(FS{}, mine)
			require.Equal(t, want, got)
			if wantErr == nil {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, strings.ReplaceAll(wantErr.Error(), system, mine))
		})
	}
}

func TestFileOverDirectory(t *testing.T) {
	dir := t.TempDir()
	f, err := FS{}.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, FS{}.MkdirAll(filepath.Join(dir, "d"), 0o755))
	require.Error(t, FS{}.Rename(filepath.Join(dir, "f"), filepath.Join(dir, "d")))
	_, err = FS{}.Open(filepath.Join(dir, "nothing"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func BenchmarkOpenRename(b *testing.B) {
	for name, f := range map[string]afero.Fs{"os": afero.NewOsFs(), "osfs": FS{}} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			from, to := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			for b.Loop() {
				file, err := f.OpenFile(from, os.O_RDWR|os.O_CREATE, 0o644)
				require.NoError(b, err)
				require.NoError(b, file.Close())
				require.NoError(b, f.Rename(from, to))
			}
		})
	}
}
