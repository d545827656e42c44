package datanode

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

const received = hdfspb.ReceivedDeletedBlockInfoProto_RECEIVED

func TestWriteAndRead(t *testing.T) {
	sizes := []int{0, 1, 511, 512, 513, 1024, 64511, 64512, 65536, 65537, 300_000}
	for nodes := 1; nodes <= 3; nodes++ {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			c := newCluster(t, nodes, nil)
			for i, n := range sizes {
				data := random(n)
				b := block(dfs.BlockID(i+1), 1001, n)
				w := openWriter(t, c.dns, block(dfs.BlockID(i+1), 1001, 0), stageCreate, nil)
				w.all(0, data, 64512)
				c.nn.until(t, "all report", func() bool { return c.nn.count(b, received) == nodes })
				for _, d := range c.dns {
					mustRead(t, d, b, data)
					for _, off := range []int64{1, 511, 512, 1000, 65535} {
						if off >= int64(n) {
							break
						}
						for _, k := range []int64{1, 512, 700, int64(n) - off} {
							if off+k > int64(n) {
								continue
							}
							got, err := read(t, d, b, off, k)
							require.NoError(t, err)
							require.Equal(t, data[off:off+k], got)
						}
					}
				}
			}
		})
	}
}
