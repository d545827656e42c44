package aferocode

import (
	"testing"
	"testing/fstest"

	"github.com/minidfs/go-minidfs/minidfs"
	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	c := minidfs.Start(t, minidfs.Files(fstest.MapFS{
		"books/one.txt":     {Data: []byte("call me Ishmael")},
		"books/sea/two.txt": {Data: []byte("some years ago")},
	}))
	files := c.Client(c.Superuser()).Afero(t.Context())
	got, err := Words(files, "/books")
	require.NoError(t, err)
	require.Equal(t, 6, got)

	require.NoError(t, afero.WriteFile(files, "/books/three.txt", []byte("never mind how long"), 0o644))
	got, err = Words(files, "/books")
	require.NoError(t, err)
	require.Equal(t, 10, got)
}
