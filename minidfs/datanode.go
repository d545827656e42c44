package minidfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/minidfs/go-minidfs/datanode"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// DataNode is a handle of a datanode, running or not.
type DataNode struct {
	id    string
	index int
	c     *Cluster
	ip    string
	host  *memnet.Host

	mu        sync.Mutex
	server    *datanode.DataNode // nil: stopped
	disks     []*faultfs.FS      // one a volume
	dirs      []string
	xfer, ipc int // ports, kept across restarts
	paused    []*faultfs.Fault
	lives     uint64
}

func newDataNode(c *Cluster, index int) *DataNode {
	id := "dn" + strconv.Itoa(index+1)
	ip := c.nodeIP(index)
	return &DataNode{id: id, index: index, c: c, ip: ip, host: c.host(id, ip)}
}

// ID is the node's stable name.
func (d *DataNode) ID() string { return d.id }

// Addr is where the node transfers data, the same across restarts.
func (d *DataNode) Addr() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ip := d.ip
	if ip == "" {
		ip = d.host.IP()
	}
	return net.JoinHostPort(ip, strconv.Itoa(d.xfer))
}

// Start brings the node up, on the disks and ports that it had. It returns when the namenode has its block report.
func (d *DataNode) Start(ctx context.Context) error {
	if err := d.c.own("DataNode.Start"); err != nil {
		return err
	}
	d.mu.Lock()
	server, err := d.startLocked(ctx)
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("minidfs: %s: %w", d.id, err)
	}
	if err := server.TriggerBlockReport(ctx); err != nil {
		return fmt.Errorf("minidfs: %s has started, but cannot report to the namenode: %w", d.id, err)
	}
	return nil
}

func (d *DataNode) startLocked(ctx context.Context) (*datanode.DataNode, error) {
	if d.server != nil {
		return nil, errors.New("it runs already")
	}
	for i := len(d.disks); i < d.c.conf.volumes; i++ {
		disk, dir, err := d.c.dirs.disk(fmt.Sprintf("%s/data%d", d.id, i+1))
		if err != nil {
			return nil, err
		}
		d.disks, d.dirs = append(d.disks, disk), append(d.dirs, dir)
	}
	o := datanode.Options{
		NameNodes:           []string{d.c.nameNode.Addr()},
		Dial:                d.host.Dial,
		HeartbeatInterval:   d.c.conf.settings.heartbeat,
		BlockReportInterval: d.c.conf.settings.blockReport,
		Logger:              d.c.log.With("node", d.id),
		RPCHook:             d.c.faults.call(d.id),
		TransferHook:        d.c.faults.data(d.id),
		Seed:                d.c.conf.seed + uint64(d.index+1)<<32 + d.lives,
	}
	for i, disk := range d.disks {
		disk.Thaw()
		o.Volumes = append(o.Volumes, d.c.volume(disk, d.dirs[i]))
	}
	var err error
	if o.XferListener, err = listen(d.host, d.ip, d.xfer); err != nil {
		return nil, err
	}
	if o.IPCListener, err = listen(d.host, d.ip, d.ipc); err != nil {
		return nil, errors.Join(err, o.XferListener.Close())
	}
	xfer, ipc := portOf(o.XferListener), portOf(o.IPCListener)
	var server *datanode.DataNode
	labelled(ctx, d.c.id, func() { server, err = datanode.New(ctx, o) })
	if err != nil {
		return nil, err
	}
	d.server, d.xfer, d.ipc = server, xfer, ipc
	d.lives++
	return server, nil
}

// unlimited is the capacity that a volume claims when nobody sets one.
const unlimited = 1 << 40

// volume describes a disk to a datanode.
func (c *Cluster) volume(disk *faultfs.FS, dir string) datanode.Volume {
	v := datanode.Volume{FS: disk, Dir: dir}
	switch {
	case c.conf.capacity > 0:
		v.Space = func() (int64, int64) {
			capacity, _, available := disk.Usage()
			return capacity, available
		}
	case c.conf.dir == "" && !c.conf.temporary:
		v.Capacity = unlimited
	}
	return v
}

// Stop ends the node in good order.
func (d *DataNode) Stop() error {
	server := d.take()
	if server == nil {
		return nil
	}
	return server.Close()
}

// Kill ends the node as SIGKILL does: connections break, what was written to its disks stays, nothing more is written.
func (d *DataNode) Kill() error {
	if err := d.c.own("DataNode.Kill"); err != nil {
		return err
	}
	if server := d.take(); server != nil {
		d.c.kill(d.id, d.disks, server.Kill)
	}
	return nil
}

// PowerLoss is Kill, and what was not synced to the disks is lost or torn. The report names the files that lost bytes.
func (d *DataNode) PowerLoss() (report []string, err error) {
	if err := d.Kill(); err != nil {
		return nil, err
	}
	for _, disk := range d.disks {
		lines, err := d.c.cutPower(disk, d.index+1, d.lives)
		if err != nil {
			return report, err
		}
		report = append(report, lines...)
	}
	return report, nil
}

// take gives the server up: the caller ends it.
func (d *DataNode) take() *datanode.DataNode {
	d.mu.Lock()
	defer d.mu.Unlock()
	server := d.server
	d.server = nil
	d.resumeLocked()
	return server
}

// Pause stops the node as SIGSTOP does: nothing enters or leaves it, no connection breaks. Resume ends it.
func (d *DataNode) Pause() error {
	if err := d.c.own("DataNode.Pause"); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server == nil {
		return fmt.Errorf("minidfs: %s does not run", d.id)
	}
	if d.paused == nil {
		d.paused = d.c.pause(d.id, d.disks)
	}
	return nil
}

// Resume ends a Pause.
func (d *DataNode) Resume() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resumeLocked()
	return nil
}

func (d *DataNode) resumeLocked() {
	d.c.resume(d.id, d.paused)
	d.paused = nil
}

// running is the server, or an error that says it does not run.
func (d *DataNode) running() (*datanode.DataNode, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server == nil {
		return nil, fmt.Errorf("minidfs: %s does not run", d.id)
	}
	return d.server, nil
}
