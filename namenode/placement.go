package namenode

import (
	"math/rand/v2"
	"net"

	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
)

func newBlocks(o *Options, random *rand.Rand) *blocks.Manager {
	return blocks.New(blocks.Options{
		HeartbeatInterval: o.Heartbeat,
		StaleAfter:        o.StaleAfter,
		DeadAfter:         2*o.RecheckInterval + 10*o.Heartbeat,
		RecoveryTimeout:   o.RecoveryInterval,
		MinReplication:    int(o.Limits.MinReplication),
		SafeMode: blocks.SafeModeOptions{
			Threshold: o.SafeModeThreshold, MinDatanodes: o.SafeModeDatanodes, Extension: o.SafeModeExtension,
		},
		Racks:      o.Racks,
		IgnoreLoad: true, // a cluster of three is too small to spare a busy node
		Rand:       rand.New(rand.NewPCG(random.Uint64(), random.Uint64())),
		Logger:     o.Logger,
	})
}

// writer is the datanode on whose machine a client writes: clients on loopback are outside of the cluster, whatever
// datanodes listen there.
func (n *NameNode) writer(host string) string {
	if ip := net.ParseIP(host); ip == nil || ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback) {
		return ""
	}
	return host
}
