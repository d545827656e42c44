package minidfs

import (
	"fmt"
	"slices"
	"time"

	"github.com/minidfs/go-minidfs/internal/memnet"
)

// Names of hosts that are no nodes, for the verbs of Net.
const (
	AnyHost    = memnet.Any     // every other host
	ClientHost = clientHost     // clients of Cluster.Client, and whoever else comes through Cluster.Dial
	Outside    = memnet.Outside // programs that connect by real sockets of their own
)

// Net breaks the network between hosts: nodes by their names, ClientHost, Outside. It works on connections that are open
// already, on real sockets as well as in memory. Close of the cluster ends everything.
type Net struct{ c *Cluster }

// Net gives the verbs of the network.
func (c *Cluster) Net() Net {
	if err := c.own("Net"); err != nil {
		c.fail("%v", err)
	}
	return Net{c}
}

// known ends the test when a name is no host's: a rule for it would do nothing, and the test would prove nothing.
func (n Net) known(verb string, names ...string) {
	for _, name := range names {
		if name != AnyHost && name != ClientHost && name != Outside && !slices.Contains(n.c.nodeNames(), name) {
			n.c.fail("minidfs: Net.%s: there is no host %q: name nodes (nn1, dn1), ClientHost, Outside or AnyHost", verb, name)
		}
	}
}

// Partition lets nothing pass between the hosts of a and those of b, in either direction: open connections stall, dials
// wait, nothing fails until somebody's patience ends.
func (n Net) Partition(a, b []string) {
	n.known("Partition", append(append([]string(nil), a...), b...)...)
	n.c.net.Partition(a, b)
}

// Stall lets nothing pass in one direction.
func (n Net) Stall(from, to string) {
	n.known("Stall", from, to)
	n.c.net.Stall(from, to)
}

// Blackhole loses what is sent in one direction, and tells nobody.
func (n Net) Blackhole(from, to string) {
	n.known("Blackhole", from, to)
	n.c.net.Blackhole(from, to)
}

// Delay makes bytes in one direction arrive that much later; 0 ends it.
func (n Net) Delay(from, to string, d time.Duration) {
	n.known("Delay", from, to)
	n.c.net.Delay(from, to, d)
}

// Corrupt lets f change bytes in one direction on their way; nil ends it. f is called by many goroutines.
func (n Net) Corrupt(from, to string, f func(b []byte)) {
	n.known("Corrupt", from, to)
	n.c.net.Corrupt(from, to, f)
}

// Cut resets every connection between two hosts.
func (n Net) Cut(a, b string) {
	n.known("Cut", a, b)
	n.c.net.Cut(a, b)
}

// Sent is how many bytes one host has sent to another, lost ones included.
func (n Net) Sent(from, to string) int64 {
	n.known("Sent", from, to)
	return n.c.net.Sent(from, to)
}

// Heal ends every fault of the network. A node that is paused stays so.
func (n Net) Heal() { n.c.net.Heal() }

// String names the network in logs.
func (n Net) String() string { return fmt.Sprintf("network of %s", n.c.core) }
