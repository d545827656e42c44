package namespace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesAreOrderedBySignedBytes(t *testing.T) {
	inOrder := []string{"", "\x80", "\xbf", "ä", "日本", "\xff", "\xff\x80", "\x00", "\x00\x80", "\x00\x01", "\x01", "\x01\xff", "\x01\x00", "\x02", "A", "a\x80", "a\x00", "a\x01", "a", "aa", "\x7f"}
	slices.SortFunc(inOrder, func(a, b string) int { return strings.Compare(nameKey(a), nameKey(b)) })
	require.True(t, slices.IsSortedFunc(inOrder, compareNames), "%q", inOrder)
	require.Equal(t, []string{"", "\x80", "\xbf"}, inOrder[:3])
	require.Equal(t, "\x7f", inOrder[len(inOrder)-1])
}

func TestKeysOrderAsNames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	name := func() string {
		b := make([]byte, r.IntN(5))
		for i := range b {
			b[i] = "\x00\x01\x02a\x7f\x80\xff"[r.IntN(7)]
		}
		return string(b)
	}
	for range 100_000 {
		a, b := name(), name()
		require.Equal(t, sign(compareNames(a, b)), strings.Compare(nameKey(a), nameKey(b)), "%q and %q", a, b)
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestPlainNamesAreTheirOwnKeys(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() { nameKey("part-00000.snappy.parquet") }))
}

// TestPagesOfAnyNames walks a directory of odd names page by page, and finds and removes each.
func TestPagesOfAnyNames(t *testing.T) {
	n := newEnv(t)
	r := rand.New(rand.NewPCG(2, 2))
	names := map[string]bool{}
	for len(names) < 300 {
		b := make([]byte, 1+r.IntN(3))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		if s := string(b); !strings.ContainsAny(s, "/:") && s != "." && s != ".." && !names[s] {
			names[s] = true
			require.NoError(t, n.Apply([]*Op{{Caller: root, CallID: -1, Args: &Mkdirs{"/d/" + s, 0o755, true}}})[0].Err)
		}
	}
	var want, got []string
	for s := range names {
		want = append(want, s)
	}
	slices.SortFunc(want, compareNames)
	for after := ""; ; {
		page, err := n.List(root, "/d", after, 7, false)
		require.NoError(t, err)
		require.Equal(t, len(want)-len(got)-len(page.Entries), page.Remaining)
		for _, e := range page.Entries {
			got = append(got, e.Name)
		}
		if page.Remaining == 0 {
			break
		}
		after = got[len(got)-1]
	}
	require.Equal(t, want, got)
	for i, s := range want {
		st, err := n.Status(root, "/d/"+s, true)
		require.NoError(t, err)
		require.NotNil(t, st, "%q", s)
		require.True(t, n.Apply([]*Op{{Caller: root, CallID: -1, Args: &Delete{"/d/" + s, false}}})[0].Bool, fmt.Sprintf("%d: %q", i, s))
	}
	require.NoError(t, n.Verify(nil))
}

func BenchmarkNameKey(b *testing.B) {
	for _, name := range []string{"part-00000.parquet", "größe"} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				nameKey(name)
			}
		})
	}
}
