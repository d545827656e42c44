package client

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/user"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// Options says which file system a Client speaks to, and how. The zero value of a field takes its default.
type Options struct {
	// Addrs are the namenodes, host:port each. With several, calls follow the active one.
	Addrs []string

	// User is who calls are made for. Default: the user of the operating system.
	User string

	// Dial opens every connection. Default: real sockets.
	Dial dfs.DialFunc

	// Logger hears of failovers, bad datanodes and rebuilt pipelines. Default: nobody.
	Logger *slog.Logger

	// CallTimeout bounds one attempt of a call at one namenode; then the next one is asked. Default: 2 minutes.
	CallTimeout time.Duration

	// RetryTimeout bounds a call that no namenode answers: no attempt begins later than that after the first. With one
	// namenode, or without hedging, a second one is made in any case. Default: 10 s with one namenode, 2 minutes with several,
	// which must outlast a failover.
	RetryTimeout time.Duration

	// HedgeAfter is how long a call may be silent before the other namenodes are asked whether one of them is active by
	// now; that one gets the call too, under the same id. Default: 10 ms. Negative: never. A connection over which one of
	// them lets such a question wait for 2 s is given up.
	HedgeAfter time.Duration

	// ConnectTimeout bounds the opening of a connection. Default: 20 s.
	ConnectTimeout time.Duration

	// DatanodeTimeout is how long a datanode may be silent while it owes an answer, data or an ack; writers grant 5 s
	// more for each node of the pipeline. Default: 60 s.
	DatanodeTimeout time.Duration

	// ReadRetryWait is the unit of the growing, random waits before the locations of a block are asked for again once
	// every replica has failed; three rounds, then the read fails. Default: 3 s.
	ReadRetryWait time.Duration

	// CompleteTimeout is how long Close waits for datanodes to report the last block. Default: 15 s.
	CompleteTimeout time.Duration

	// Replication and BlockSize are for new files. Default: the namenode's.
	Replication int
	BlockSize   int64

	// PacketSize is the data in a full packet, in bytes: a multiple of 512. Default: 64,512, as Hadoop has it.
	PacketSize int

	// Window is how many packets a writer may have on their way. Default: 80.
	Window int

	// IdleConns is how many idle connections to datanodes are kept for the next read, for up to 3 s. Default: 16.
	// Negative: none.
	IdleConns int

	// Hostnames dials datanodes by their host names instead of their addresses.
	Hostnames bool
}

const (
	bytesPerChunk    = 512
	defaultPacket    = 126 * bytesPerChunk
	idleConnTimeout  = 3 * time.Second
	nodeGrace        = 5 * time.Second
	heartbeatAfter   = 30 * time.Second
	renewAfter       = 30 * time.Second
	renewRetry       = time.Second
	leaseHardLimit   = 20 * time.Minute
	excludeFor       = 10 * time.Minute
	serverDefaultTTL = time.Hour
)

// checked gives o with its defaults, or says what is wrong with it.
func (o Options) checked() (Options, error) {
	if len(o.Addrs) == 0 {
		return o, errors.New("client: Options.Addrs is empty: name at least one namenode as host:port")
	}
	o.Addrs = append([]string(nil), o.Addrs...)
	for _, a := range o.Addrs {
		if _, _, err := net.SplitHostPort(a); err != nil {
			return o, fmt.Errorf("client: namenode %q is not host:port: %w", a, err)
		}
	}
	if o.User == "" {
		u, err := user.Current()
		if err != nil {
			return o, fmt.Errorf("client: Options.User is empty and the operating system names no user: %w", err)
		}
		o.User = u.Username
	}
	if o.Dial == nil {
		o.Dial = dfs.NetDial
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	retry := 10 * time.Second
	if len(o.Addrs) > 1 {
		retry = 2 * time.Minute
	}
	set(&o.CallTimeout, 2*time.Minute)
	set(&o.RetryTimeout, retry)
	set(&o.HedgeAfter, 10*time.Millisecond)
	set(&o.ConnectTimeout, 20*time.Second)
	set(&o.DatanodeTimeout, time.Minute)
	set(&o.ReadRetryWait, 3*time.Second)
	set(&o.CompleteTimeout, 15*time.Second)
	set(&o.PacketSize, defaultPacket)
	set(&o.Window, 80)
	set(&o.IdleConns, 16)
	switch {
	case o.PacketSize < bytesPerChunk || o.PacketSize%bytesPerChunk != 0 || o.PacketSize > transfer.MaxPacket*127/128:
		return o, fmt.Errorf("client: Options.PacketSize is %d: it must be a multiple of %d, below 16 MiB", o.PacketSize, bytesPerChunk)
	case o.Replication < 0 || o.Replication > 1<<15-1:
		return o, fmt.Errorf("client: Options.Replication is %d", o.Replication)
	case o.BlockSize < 0:
		return o, fmt.Errorf("client: Options.BlockSize is %d", o.BlockSize)
	case o.Window < 1:
		return o, fmt.Errorf("client: Options.Window is %d: at least one packet must be on its way", o.Window)
	}
	return o, nil
}

func set[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
