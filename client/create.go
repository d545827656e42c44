package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// The flags that say where the blocks of a file go and how they are kept, for Flags.
const (
	SyncBlock            = dfs.CreateSyncBlock       // each block is synced when it ends
	LazyPersist          = dfs.CreateLazyPersist     // memory first, disk later
	NewBlock             = dfs.CreateNewBlock        // append to a block of its own
	NoLocalWrite         = dfs.CreateNoLocalWrite    // no replica on the client's own node
	ShouldReplicate      = dfs.CreateShouldReplicate // replicated even where the directory has erasure coding
	IgnoreClientLocality = dfs.CreateIgnoreLocality  // the client's own node is like any other
)

// CreateOption changes how Create, WriteFile and Append open a file.
type CreateOption func(*createOptions)

type createOptions struct {
	flags       CreateFlag
	parents     bool
	mode        fs.FileMode
	modeSet     bool
	replication int
	blockSize   int64
	favored     []string
	policy      string
}

// Overwrite replaces a file that exists.
func Overwrite() CreateOption { return func(o *createOptions) { o.flags |= dfs.CreateOverwrite } }

// Parents makes the directories that are missing above the file.
func Parents() CreateOption { return func(o *createOptions) { o.parents = true } }

// Mode sets the permission bits, as they are: there is no umask. Default: 0644.
func Mode(m fs.FileMode) CreateOption {
	return func(o *createOptions) { o.mode, o.modeSet = m, true }
}

// Replication sets how many replicas each block has.
func Replication(n int) CreateOption { return func(o *createOptions) { o.replication = n } }

// BlockSize sets the length of the file's blocks.
func BlockSize(n int64) CreateOption { return func(o *createOptions) { o.blockSize = n } }

// Favored names datanodes, ip:port, that blocks should go to.
func Favored(nodes ...string) CreateOption { return func(o *createOptions) { o.favored = nodes } }

// Flags sets further flags: SyncBlock, NoLocalWrite, ...
func Flags(f CreateFlag) CreateOption { return func(o *createOptions) { o.flags |= f } }

// StoragePolicy sets the storage policy of the new file by name.
func StoragePolicy(name string) CreateOption { return func(o *createOptions) { o.policy = name } }

// Create makes a file and opens it for writing. Without Overwrite it must not exist; without Parents its directory must.
// The Writer lives within ctx: when that ends before Close, the file is aborted.
func (c *Client) Create(ctx context.Context, path string, opts ...CreateOption) (*Writer, error) {
	var o createOptions
	for _, f := range opts {
		f(&o)
	}
	return c.create(ctx, path, o)
}

// WriteFile writes a file in one go, in place of one that exists.
func (c *Client) WriteFile(ctx context.Context, path string, data []byte, opts ...CreateOption) error {
	w, err := c.Create(ctx, path, append([]CreateOption{Overwrite()}, opts...)...)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Close()
}

// Append opens a file for writing at its end. Only Flags and Favored count among the options.
func (c *Client) Append(ctx context.Context, path string, opts ...CreateOption) (*Writer, error) {
	var o createOptions
	for _, f := range opts {
		f(&o)
	}
	w := c.newWriter(ctx, path)
	flags := uint32(o.flags | dfs.CreateAppend)
	var resp hdfspb.AppendResponseProto
	err := c.call(w.ctx, "append", path, "append", &hdfspb.AppendRequestProto{Src: &w.abs, ClientName: &w.holder, Flag: &flags}, &resp)
	if err == nil && resp.GetStat() == nil {
		err = &fs.PathError{Op: "append", Path: path, Err: errors.New("the namenode's answer has no file status")}
	}
	if err != nil {
		w.cancel(err)
		return nil, err
	}
	w.opened(resp.GetStat(), o)
	if b := resp.GetBlock(); b != nil && len(b.GetLocs()) == 0 {
		w.out.last = b.GetB()
	} else if b != nil {
		if n := int64(b.GetB().GetNumBytes()); n < w.blockSize {
			w.out.reopened = b
			w.off, w.flushed, w.appended = n, n, n
		} else {
			w.out.last = b.GetB()
		}
	}
	w.start()
	return w, nil
}

func (c *Client) create(ctx context.Context, path string, o createOptions) (*Writer, error) {
	if o.replication == 0 {
		o.replication = c.opt.Replication
	}
	if o.blockSize == 0 {
		o.blockSize = c.opt.BlockSize
	}
	if o.replication == 0 || o.blockSize == 0 {
		d, err := c.ServerDefaults(ctx)
		if err != nil {
			return nil, pathError("create", path, err)
		}
		set(&o.replication, d.Replication)
		set(&o.blockSize, d.BlockSize)
	}
	masked, unmasked := fs.FileMode(0o644), fs.FileMode(0o666)
	if o.modeSet {
		masked, unmasked = o.mode, o.mode
	}
	w := c.newWriter(ctx, path)
	req := &hdfspb.CreateRequestProto{
		Src:                   &w.abs,
		Masked:                fromMode(masked),
		Unmasked:              fromMode(unmasked),
		ClientName:            &w.holder,
		CreateFlag:            proto.Uint32(uint32(o.flags | dfs.CreateNew)),
		CreateParent:          &o.parents,
		Replication:           proto.Uint32(uint32(o.replication)),
		BlockSize:             proto.Uint64(uint64(o.blockSize)),
		CryptoProtocolVersion: []hdfspb.CryptoProtocolVersionProto{hdfspb.CryptoProtocolVersionProto_ENCRYPTION_ZONES},
	}
	if o.policy != "" {
		req.StoragePolicy = &o.policy
	}
	var resp hdfspb.CreateResponseProto
	err := c.call(w.ctx, "create", path, "create", req, &resp)
	if err == nil && resp.GetFs() == nil {
		err = &fs.PathError{Op: "create", Path: path, Err: errors.New("the namenode's answer has no file status")}
	}
	if err != nil {
		w.cancel(err)
		return nil, err
	}
	w.opened(resp.GetFs(), o)
	w.size = 0
	w.start()
	return w, nil
}

// newWriter makes a Writer that is not open yet.
func (c *Client) newWriter(ctx context.Context, path string) *Writer {
	w := &Writer{
		c:      c,
		path:   path,
		abs:    c.abs(path),
		holder: fmt.Sprintf("%s_%d", c.name, c.files.Add(1)),
		sum:    transfer.Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: bytesPerChunk},
	}
	w.ctx, w.cancel = c.within(ctx)
	return w
}

// opened takes in what the namenode says about the open file.
func (w *Writer) opened(s *hdfspb.HdfsFileStatusProto, o createOptions) {
	w.fileID = s.GetFileId()
	w.blockSize = int64(s.GetBlocksize())
	w.size = int64(s.GetLength())
	w.syncBlocks = o.flags.Has(dfs.CreateSyncBlock)
	w.lazyPersist = o.flags.Has(dfs.CreateLazyPersist)
	w.out = newStreamer(w, o.flags)
	w.out.favored = o.favored
}

// start begins the streamer and the renewal of the lease.
func (w *Writer) start() {
	w.c.leases.add(w)
	go w.out.run()
}
