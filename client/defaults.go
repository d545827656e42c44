package client

import (
	"context"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// ServerDefaults is what the namenode proposes for new files.
type ServerDefaults struct {
	BlockSize     int64
	Replication   int
	BytesPerChunk int // bytes behind one checksum
	PacketSize    int
	BufferSize    int
	Checksum      dfs.ChecksumType
	TrashInterval time.Duration // 0: no trash
	Encrypted     bool          // data transfers must be encrypted, which this client cannot
}

// ServerDefaults gives the namenode's defaults, as of an hour ago at most.
func (c *Client) ServerDefaults(ctx context.Context) (ServerDefaults, error) {
	c.mu.Lock()
	d, at := c.defaults, c.defaultsAt
	c.mu.Unlock()
	if !at.IsZero() && time.Since(at) < serverDefaultTTL {
		return d, nil
	}
	var resp hdfspb.GetServerDefaultsResponseProto
	if err := c.call(ctx, "serverdefaults", "/", "getServerDefaults", &hdfspb.GetServerDefaultsRequestProto{}, &resp); err != nil {
		return ServerDefaults{}, err
	}
	s := resp.GetServerDefaults()
	d = ServerDefaults{
		BlockSize:     int64(s.GetBlockSize()),
		Replication:   int(s.GetReplication()),
		BytesPerChunk: int(s.GetBytesPerChecksum()),
		PacketSize:    int(s.GetWritePacketSize()),
		BufferSize:    int(s.GetFileBufferSize()),
		Checksum:      dfs.ChecksumType(s.GetChecksumType()),
		TrashInterval: time.Duration(s.GetTrashInterval()) * time.Minute,
		Encrypted:     s.GetEncryptDataTransfer(),
	}
	c.mu.Lock()
	c.defaults, c.defaultsAt = d, time.Now()
	c.mu.Unlock()
	return d, nil
}
