package minidfs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/minidfs/go-minidfs/datanode"
	"github.com/minidfs/go-minidfs/internal/faultfs"
)

// DataNode is a handle of a datanode, running or not.
type DataNode struct {
	*node
	index int
}

func newDataNode(c *core, index int) (*DataNode, error) {
	id := "dn" + strconv.Itoa(index+1)
	var volumes []string
	for i := range c.conf.volumes {
		volumes = append(volumes, fmt.Sprintf("%s/data%d", id, i+1))
	}
	n, err := newNode(c, id, c.ipOf(index), volumes, 2, 0)
	return &DataNode{n, index}, err
}

// Start brings the node up, on the disks and ports that it had. It returns when the namenode has its block report; while
// the namenode is down or paused, as soon as the node serves.
func (d *DataNode) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := d.begin(ctx, d.serve); err != nil {
		return err
	}
	return d.report(ctx)
}

// report makes the node report to the namenode, where both run. A first attempt can fail by itself: the
// namenode may have come up after the node had begun to wait for it.
func (d *DataNode) report(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		server := d.server()
		addrs := d.c.reachable()
		if server == nil || len(addrs) == 0 {
			return nil
		}
		err := server.TriggerBlockReport(ctx, addrs...)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(reportRetry):
		case <-ctx.Done():
			attempt = reportAttempts
		}
		if attempt >= reportAttempts && len(d.c.reachable()) > 0 {
			return fmt.Errorf("minidfs: %s has started, but cannot report to the namenode: %w", d.id, err)
		}
	}
}

// A node that cannot report tries again, so soon and so often.
const (
	reportRetry    = 5 * time.Millisecond
	reportAttempts = 20
)

func (d *DataNode) serve(ctx context.Context) (server, error) {
	conf := d.c.conf
	o := datanode.Options{
		NameNodes:           d.c.addrs,
		Dial:                d.host.Dial,
		HeartbeatInterval:   conf.settings.heartbeat,
		BlockReportInterval: conf.settings.blockReport,
		SyncOnClose:         conf.settings.syncOnClose,
		Logger:              d.c.log.With("node", d.id),
		RPCHook:             d.c.faults.call(d.id),
		TransferHook:        d.c.faults.data(d.id),
		Watched:             d.c.faults.watched,
		Seed:                d.c.random(d.id, d.lives, 0).Uint64() | 1,
	}
	for i, disk := range d.disks {
		o.Volumes = append(o.Volumes, d.c.volume(disk, d.dirs[i]))
	}
	var err error
	if o.XferListener, err = d.listen(0); err != nil {
		return nil, err
	}
	if o.IPCListener, err = d.listen(1); err != nil {
		return nil, errors.Join(err, o.XferListener.Close())
	}
	server, err := datanode.New(ctx, o)
	if err != nil {
		return nil, err
	}
	return server, nil
}

// server is the running datanode; nil while it does not run, or is paused.
func (d *DataNode) server() *datanode.DataNode {
	server, _ := d.current().(*datanode.DataNode)
	return server
}

// unlimited is the capacity that a volume claims which goes with its cluster, when nobody sets one: a small disk is no
// reason for a test to fail before the disk is full.
const unlimited = 1 << 40

// volume describes a disk to a datanode.
func (c *core) volume(disk *faultfs.FS, dir string) datanode.Volume {
	v := datanode.Volume{FS: disk, Dir: dir}
	switch {
	case c.conf.capacity > 0:
		v.Space = func() (capacity, available int64) {
			capacity, _, available = disk.Usage()
			return capacity, available
		}
	case c.conf.kept:
		v.Real = true
	default:
		v.Capacity = unlimited
	}
	return v
}
