package datanode

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// Options are what a DataNode is made of. Zero values mean the default.
type Options struct {
	UUID string // "": the one in the volumes' VERSION files, else a new one
	Host string // the name that it registers under; "": the address of XferListener

	NameNodes []string     // addresses; all of one file system
	Dial      dfs.DialFunc // nil: real sockets

	XferListener net.Listener // for data; owned by the datanode from New on
	IPCListener  net.Listener // for calls; owned likewise

	Volumes                []Volume
	FailedVolumesTolerated int  // more failed volumes than this end the service; -1: as long as one is left
	SyncOnClose            bool // make every replica durable when it is finalized

	HeartbeatInterval   time.Duration // 3 s
	BlockReportInterval time.Duration // 6 h
	ReadTimeout         time.Duration // 60 s: of the data protocol
	WriteTimeout        time.Duration // 480 s: of the data protocol
	KeepAlive           time.Duration // 4 s: how long a connection may wait for its next operation

	MaxXceivers int // 4096: connections of the data protocol at a time, more are closed

	Logger       *slog.Logger // nil: discard
	RPCHook      rpc.Hook     // sees the calls to this datanode
	TransferHook TransferHook // sees operations, packets and acks

	// Watched tells whether TransferHook wants to hear of a kind of event just now; nil: of every kind, always. Packets
	// that it does not want to see leave for their reader without the data passing through this process (sendfile).
	Watched func(EventKind) bool

	Seed uint64 // of the ids it makes; 0: random
}

// Volume names one directory that holds replicas.
type Volume struct {
	FS   afero.Fs
	Dir  string
	Type dfs.StorageType // 0: DISK

	// Capacity is the size for blocks, real or not. Where it is 0, Space is asked, then the operating system when FS
	// is the real one.
	Capacity int64
	Space    func() (capacity, available int64)

	Real bool // FS is the real one, though it may be wrapped

	// Device names what several volumes share, so that its size is counted once; those with the same FS do anyhow,
	// unless Capacity gives them a size each.
	Device string

	Null bool // FS drops the bytes of block files and keeps their length
}

func (v Volume) config() volume.Config {
	return volume.Config{FS: v.FS, Dir: v.Dir, Type: v.Type, Capacity: v.Capacity, Space: v.Space, Real: v.Real, Device: v.Device, Null: v.Null}
}

// check fills defaults in and says what is missing.
func (o *Options) check() error {
	if o.XferListener == nil || o.IPCListener == nil {
		return errors.New("datanode: XferListener and IPCListener must be set")
	}
	if len(o.Volumes) == 0 {
		return errors.New("datanode: Volumes must name one directory or more")
	}
	if len(o.NameNodes) == 0 {
		return errors.New("datanode: NameNodes must name one address or more")
	}
	for _, d := range []struct {
		v    *time.Duration
		def  time.Duration
		name string
	}{
		{&o.HeartbeatInterval, 3 * time.Second, "HeartbeatInterval"},
		{&o.BlockReportInterval, 6 * time.Hour, "BlockReportInterval"},
		{&o.ReadTimeout, time.Minute, "ReadTimeout"},
		{&o.WriteTimeout, 480 * time.Second, "WriteTimeout"},
		{&o.KeepAlive, 4 * time.Second, "KeepAlive"},
	} {
		if *d.v < 0 {
			return fmt.Errorf("datanode: %s must not be negative: have %s", d.name, *d.v)
		}
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if o.MaxXceivers == 0 {
		o.MaxXceivers = 4096
	}
	if o.Dial == nil {
		o.Dial = dfs.NetDial
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
