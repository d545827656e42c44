package minidfs

import (
	"fmt"
	"math/rand/v2"

	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// kill ends a node without warning: first nothing leaves it on the network, so that nobody is told of what happens next;
// then its disks are cut off; then its goroutines end.
func (c *Cluster) kill(node string, disks []*faultfs.FS, end func()) {
	c.net.Partition([]string{node}, []string{memnet.Any})
	c.net.Cut(node, memnet.Any)
	for _, disk := range disks {
		disk.Freeze()
	}
	end()
	c.net.HealBetween([]string{node}, []string{memnet.Any})
}

// pause hangs a node's disks and silences its network; resume ends it.
func (c *Cluster) pause(node string, disks []*faultfs.FS) []*faultfs.Fault {
	var faults []*faultfs.Fault
	for _, disk := range disks {
		faults = append(faults, disk.Inject(faultfs.Rule{Hang: true}))
	}
	c.net.Partition([]string{node}, []string{memnet.Any})
	return faults
}

func (c *Cluster) resume(node string, faults []*faultfs.Fault) {
	if faults == nil {
		return
	}
	c.net.HealBetween([]string{node}, []string{memnet.Any})
	for _, fault := range faults {
		fault.Remove()
	}
}

// cutPower makes a killed node's disk lose what was not synced, by choices drawn from the cluster's seed, the node's
// number and the number of its lives. It returns a line for each loss.
func (c *Cluster) cutPower(disk *faultfs.FS, node int, life uint64) ([]string, error) {
	if c.dirs.root != "" && !c.dirs.powerCuts {
		return nil, fmt.Errorf("minidfs: power loss of %s: a cluster on real folders needs the option PowerCuts", disk.Name())
	}
	return disk.PowerLoss(rand.New(rand.NewPCG(c.conf.seed+life, uint64(node)))), nil
}
