package namenode

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
)

// newIdentity draws the ids of a new file system, spelled as HDFS spells them. A journal that exists keeps its own.
func newIdentity(random *rand.Rand, now time.Time) editlog.Identity {
	id := [16]byte{}
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	return editlog.Identity{
		ClusterID:   fmt.Sprintf("CID-%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		NamespaceID: 1 + random.Int32N(1<<30),
		BlockPoolID: fmt.Sprintf("BP-%d-127.0.0.1-%d", random.Int32N(1<<30), now.UnixMilli()),
		CTime:       now.UnixMilli(),
	}
}
