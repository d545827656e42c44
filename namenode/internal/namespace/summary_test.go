package namespace

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSummariesLetOthersThrough: a large tree is added up while directories in it change, move and go.
func TestSummariesLetOthersThrough(t *testing.T) {
	for name, mode := range map[string]LockMode{"partitioned": Partitioned, "global": Global} {
		t.Run(name, func(t *testing.T) {
			n := New(Options{Mode: mode})
			require.NoError(t, n.Apply([]*Op{{Args: &SetParams{testParams()}}})[0].Err)
			const dirs, each = 30, 500
			var ops []*Op
			op := func(a Args) *Op { return &Op{Caller: root, CallID: -1, Args: a} }
			for i := range dirs * each {
				ops = append(ops, op(&Mkdirs{fmt.Sprintf("/d/%d/%d", i/each, i), 0o755, true}))
			}
			n.Apply(ops)
			var done sync.WaitGroup
			defer done.Wait()
			for range 2 {
				done.Go(func() {
					for range 10 {
						sum, err := n.ContentSummary(root, "/d")
						if err != nil || sum.Directories < 1 || sum.Directories > 2*(1+dirs+dirs*each) {
							t.Error(sum, err)
						}
					}
				})
			}
			for i := range 3 * dirs {
				a, b := fmt.Sprintf("/d/%d", i%dirs), fmt.Sprintf("/d/%d/x", (i+7)%dirs)
				n.Apply([]*Op{op(&SetPermission{a, 0o700}), op(&Rename{a, b}), op(&Rename{b, a})})
				if i%5 == 0 {
					n.Apply([]*Op{op(&Delete{a, true})})
				}
			}
		})
	}
}
