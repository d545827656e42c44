package minidfs

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParallel runs 24 clusters at once in one process, on every medium, some of whose tests fail in each way: none
// disturbs another, and nothing is left.
func TestParallel(t *testing.T) {
	t.Parallel()
	var open sync.Map // addresses of clusters that are surely running
	for i := range 24 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			under := t.TempDir()
			options := [][]Option{nil, {MemNet()}, {TempDir(under)}, {Dir(under)}}[i%4]
			fake := &fakeT{}
			fake.run(func() {
				c := Start(fake, append(options, DataNodes(1+i%3))...)
				if _, taken := open.LoadOrStore(c.Addrs()[0], true); taken && i%4 != 1 {
					fake.Fatalf("%s was given to two clusters", c.Addrs()[0])
				}
				fs := c.Client("alice")
				if err := fs.WriteFile(t.Context(), c.Path("f"), make([]byte, 100_000)); err != nil {
					fake.Fatalf("%v", err)
				}
				open.Delete(c.Addrs()[0])
				switch i % 5 {
				case 0:
					fake.Fatalf("the test fails")
				case 1:
					runtime.Goexit()
				case 2:
					if err := c.DataNode("dn1").Kill(); err != nil {
						fake.Errorf("%v", err)
					}
				case 3:
					if err := c.Close(); err != nil {
						fake.Errorf("%v", err)
					}
				}
			})
			if i%5 == 0 {
				require.Equal(t, []string{"the test fails"}, fake.errors)
			} else {
				require.Empty(t, fake.errors)
			}
			if i%4 == 2 {
				left, err := os.ReadDir(under)
				require.NoError(t, err)
				require.Empty(t, left)
			}
		})
	}
}
