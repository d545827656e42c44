package namenode

import (
	"errors"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// Check compares the namespace with itself and with the blocks: what it returns is a bug of ours, or damage.
func (n *NameNode) Check() error {
	var errs []error
	leased := map[dfs.INodeID]bool{}
	for lease := range n.ns.Leases() {
		for _, id := range lease.Files {
			leased[id] = true
		}
	}
	after, more := dfs.INodeID(0), true
	for more {
		var open []namespace.OpenFile
		open, more = n.ns.OpenFiles(after, openFilesPage)
		for _, f := range open {
			if after = f.ID; !leased[f.ID] {
				errs = append(errs, fmt.Errorf("%s is open for writing and nobody holds its lease", f.Path))
			}
			delete(leased, f.ID)
		}
	}
	for id := range leased {
		errs = append(errs, fmt.Errorf("inode %d is leased and not open for writing", id))
	}
	return errors.Join(errs...)
}
