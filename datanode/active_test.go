package datanode

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestObey takes commands from the namenode with the newest claim only.
func TestObey(t *testing.T) {
	nns := make([]*fakeNN, 2)
	c := newCluster(t, 1, func(_ int, o *Options) {
		two := &cluster{t: t}
		nns[1] = newFakeNN(t, two.listen(""))
		nns[1].active = false
		o.NameNodes = append(o.NameNodes, nns[1].addr)
	})
	nns[0] = c.nn
	d := c.dns[0]
	beat := func() { require.NoError(t, d.TriggerHeartbeat(context.Background())) }
	who := func() int {
		for i, a := range d.actors {
			if a == d.obeyed() {
				return i
			}
		}
		return -1
	}
	set := func(i int, active bool, txid uint64) {
		nns[i].locked(func() { nns[i].active, nns[i].txid = active, txid })
		beat()
	}
	beat()
	require.Equal(t, 0, who())
	set(0, true, 10)
	set(1, true, 10)
	require.Equal(t, 0, who(), "an equal claim is no claim")
	set(1, true, 11)
	require.Equal(t, 1, who())
	put(t, c.dns, block(1, 1001, 5), []byte("hello"))
	nns[1].until(t, "both hear of the block", func() bool { return nns[1].count(block(1, 1001, 5), received) == 1 })
	nns[0].until(t, "both hear of the block", func() bool { return nns[0].count(block(1, 1001, 5), received) == 1 })
	c.order(d, invalidate(block(1, 1001, 0))) // by the old one
	beat()
	require.Len(t, d.Replicas(), 1)
	set(1, false, 12)
	require.Equal(t, -1, who())
	set(0, true, 12)
	require.Equal(t, 0, who())
	c.order(d, invalidate(block(1, 1001, 0)))
	until(t, func() bool { return len(d.Replicas()) == 0 })
}
