package client

import (
	"context"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

func TestReadDirPages(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 20, 25} {
		t.Run(fmt.Sprintf("%d entries", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 0)
				f.page = 10
				c := f.client(Options{})
				require.NoError(t, c.MkdirAll(t.Context(), "/d", 0o755))
				var want []string
				for i := range n {
					name := fmt.Sprintf("%03d ä file", i)
					want = append(want, name)
					require.NoError(t, c.MkdirAll(t.Context(), "/d/"+name, 0o755))
				}
				infos, err := c.ReadDir(t.Context(), "/d/")
				require.NoError(t, err)
				var got []string
				for _, i := range infos {
					got = append(got, i.Name())
				}
				require.Equal(t, want, got)
				require.Len(t, f.seen("getListing"), max(1, (n+9)/10), "no needless page")
			})
		})
	}
}

func TestListWhileEntriesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 0)
		f.page = 3
		c := f.client(Options{})
		for i := range 10 {
			require.NoError(t, c.MkdirAll(t.Context(), fmt.Sprintf("/d/%d", i), 0o755))
		}
		var got []string
		for i, err := range c.List(t.Context(), "/d", ListOptions{After: "0"}) {
			require.NoError(t, err)
			got = append(got, i.Name())
			if i.Name() == "3" {
				require.NoError(t, c.Remove(t.Context(), "/d/3"), "the name that the next page starts after")
				require.NoError(t, c.Remove(t.Context(), "/d/5"))
				require.NoError(t, c.MkdirAll(t.Context(), "/d/11", 0o755))
				require.NoError(t, c.MkdirAll(t.Context(), "/d/4x", 0o755))
			}
			if i.Name() == "8" {
				break
			}
		}
		require.Equal(t, []string{"1", "2", "3", "4", "4x", "6", "7", "8"}, got)
	})
}

func TestListStopsAtAnEmptyPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 0)
		c := f.client(Options{})
		f.setHook(0, func(context.Context, *rpc.Call, rpc.Next) (proto.Message, error) {
			return &hdfspb.GetListingResponseProto{DirList: &hdfspb.DirectoryListingProto{RemainingEntries: proto.Uint32(7)}}, nil
		})
		infos, err := c.ReadDir(t.Context(), "/d")
		require.NoError(t, err)
		require.Empty(t, infos)
	})
}

func TestReadDirOfWhatIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		_, err := c.ReadDir(t.Context(), "/none")
		require.EqualError(t, err, "readdir /none: File does not exist: /none (FileNotFoundException)")
		require.NoError(t, c.WriteFile(t.Context(), "/f", nil))
		_, err = c.ReadDir(t.Context(), "/f")
		require.ErrorIs(t, err, errNotDir)
		require.NoError(t, c.WriteFile(t.Context(), "/d/f", nil, Parents()))
		require.NoError(t, c.MkdirAll(t.Context(), "/f2", 0o755))
		require.NoError(t, c.WriteFile(t.Context(), "/f2/f2", nil))
		infos, err := c.ReadDir(t.Context(), "/f2")
		require.NoError(t, err)
		require.Len(t, infos, 1)
	})
}

func TestWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		for _, d := range []string{"/w/a/b", "/w/c", "/w/skip/x"} {
			require.NoError(t, c.MkdirAll(t.Context(), d, 0o755))
		}
		require.NoError(t, c.WriteFile(t.Context(), "/w/c/f1", nil))
		require.NoError(t, c.WriteFile(t.Context(), "/w/c/f2", nil))
		require.NoError(t, c.WriteFile(t.Context(), "/w/z", nil))
		walk := func(answer func(string) error) (seen []string) {
			require.NoError(t, c.Walk(t.Context(), "/w", func(p string, d fs.DirEntry, err error) error {
				require.NoError(t, err)
				seen = append(seen, p)
				return answer(p)
			}))
			return seen
		}
		require.Equal(t, []string{"/w", "/w/a", "/w/a/b", "/w/c", "/w/c/f1", "/w/skip", "/w/z"}, walk(func(p string) error {
			if p == "/w/skip" || p == "/w/c/f1" {
				return fs.SkipDir
			}
			return nil
		}))
		require.Equal(t, []string{"/w", "/w/a", "/w/a/b"}, walk(func(p string) error {
			if p == "/w/a/b" {
				return fs.SkipAll
			}
			return nil
		}))
		require.ErrorIs(t, c.Walk(t.Context(), "/none", func(_ string, _ fs.DirEntry, err error) error { return err }), fs.ErrNotExist)
	})
}

func TestLocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		f.page = 3
		c := f.client(Options{})
		require.NoError(t, c.WriteFile(t.Context(), "/f", pattern(10*1000), BlockSize(1000)))
		blocks, err := c.Locations(t.Context(), "/f")
		require.NoError(t, err)
		require.Len(t, blocks, 10)
		for i, b := range blocks {
			require.EqualValues(t, i*1000, b.Offset)
			require.EqualValues(t, 1000, b.Len)
			require.Len(t, b.Replicas, 3)
			require.Equal(t, "DS-1", b.Replicas[0].StorageID)
		}
		require.Len(t, f.seen("getBlockLocations"), 4)
		require.NoError(t, c.WriteFile(t.Context(), "/empty", nil))
		blocks, err = c.Locations(t.Context(), "/empty")
		require.NoError(t, err)
		require.Empty(t, blocks)
	})
}
