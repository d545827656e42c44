package aferocode

import (
	"testing"

	"github.com/minidfs/go-minidfs/minidfs"
	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	c := minidfs.Start(t)
	files := c.Client("alice").Afero(t.Context())
	books := c.Path("books")
	require.NoError(t, files.MkdirAll(books+"/sea", 0o755))
	require.NoError(t, afero.WriteFile(files, books+"/one.txt", []byte("call me Ishmael"), 0o644))
	require.NoError(t, afero.WriteFile(files, books+"/sea/two.txt", []byte("some years ago"), 0o644))

	got, err := Words(files, books)
	require.NoError(t, err)
	require.Equal(t, 6, got)

	require.NoError(t, afero.WriteFile(files, books+"/three.txt", []byte("never mind how long"), 0o644))
	got, err = Words(files, books)
	require.NoError(t, err)
	require.Equal(t, 10, got)
}
