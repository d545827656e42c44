package client

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// FileChecksum is the checksum of a whole file, made of those that the datanodes keep.
type FileChecksum struct {
	Algorithm string // MD5-of-0MD5-of-512CRC32C or COMPOSITE-CRC32C
	Sum       []byte
}

// String gives algorithm and sum in hexadecimal.
func (s FileChecksum) String() string { return fmt.Sprintf("%s:%x", s.Algorithm, s.Sum) }

// Checksum gives HDFS's default checksum of a file: an MD5 of the MD5s of the checksums of its blocks. It depends on how
// the file is cut into blocks and chunks.
func (c *Client) Checksum(ctx context.Context, path string) (FileChecksum, error) {
	var sums [][md5.Size]byte
	var first *hdfspb.OpBlockChecksumResponseProto
	err := c.blockSums(ctx, path, hdfspb.BlockChecksumTypeProto_MD5CRC, func(_ LocatedBlock, r *hdfspb.OpBlockChecksumResponseProto) error {
		if len(r.GetBlockChecksum()) != md5.Size {
			return fmt.Errorf("expected an MD5, got %d bytes: %w", len(r.GetBlockChecksum()), transfer.ErrMalformed)
		}
		if first == nil {
			first = r
		}
		sums = append(sums, [md5.Size]byte(r.GetBlockChecksum()))
		return nil
	})
	if err != nil {
		return FileChecksum{}, err
	}
	sum := transfer.FileMD5(sums)
	s := FileChecksum{Algorithm: "MD5-of-0MD5-of-0CRC32", Sum: sum[:]}
	if first != nil {
		perBlock := first.GetCrcPerBlock()
		if len(sums) == 1 {
			perBlock = 0
		}
		s.Algorithm = fmt.Sprintf("MD5-of-%dMD5-of-%d%s", perBlock, first.GetBytesPerCrc(), crcName(first.GetCrcType()))
	}
	return s, nil
}

// CompositeChecksum gives the CRC of the file's bytes, composed of those of its chunks. Files of equal content have equal
// ones, however they are cut.
func (c *Client) CompositeChecksum(ctx context.Context, path string) (FileChecksum, error) {
	var sum *transfer.Composer
	kind := hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C
	err := c.blockSums(ctx, path, hdfspb.BlockChecksumTypeProto_COMPOSITE_CRC, func(b LocatedBlock, r *hdfspb.OpBlockChecksumResponseProto) error {
		if len(r.GetBlockChecksum()) != 4 {
			return fmt.Errorf("expected a CRC, got %d bytes: %w", len(r.GetBlockChecksum()), transfer.ErrMalformed)
		}
		if sum == nil {
			kind = r.GetCrcType()
			var err error
			if sum, err = transfer.NewComposer(dfs.ChecksumType(kind)); err != nil {
				return err
			}
		}
		if r.GetCrcType() != kind {
			return fmt.Errorf("its blocks have both %v and %v: %w", kind, r.GetCrcType(), errors.ErrUnsupported)
		}
		sum.Add(binary.BigEndian.Uint32(r.GetBlockChecksum()), b.Len)
		return nil
	})
	if err != nil {
		return FileChecksum{}, err
	}
	s := FileChecksum{Algorithm: "COMPOSITE-" + crcName(kind), Sum: make([]byte, 4)}
	if sum != nil {
		binary.BigEndian.PutUint32(s.Sum, sum.Sum())
	}
	return s, nil
}

func crcName(t hdfspb.ChecksumTypeProto) string {
	if t == hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C {
		return "CRC32C"
	}
	return "CRC32"
}

// blockSums asks for the checksum of each block in turn, at one datanode after the other until one answers.
func (c *Client) blockSums(ctx context.Context, path string, kind hdfspb.BlockChecksumTypeProto, each func(LocatedBlock, *hdfspb.OpBlockChecksumResponseProto) error) error {
	ctx, cancel := c.within(ctx)
	defer cancel(nil)
	for p, err := range c.located(ctx, "checksum", path) {
		if err != nil {
			return err
		}
		b := newLocatedBlock(p)
		if b.Len == 0 {
			continue // it is still being written
		}
		failure := &BlockError{Block: b.Block, Offset: b.Offset}
		var resp *hdfspb.OpBlockChecksumResponseProto
		for _, d := range p.GetLocs() {
			if resp, err = c.blockSum(ctx, p, d, kind); err == nil {
				break
			}
			if ctx.Err() != nil {
				return pathError("checksum", path, cause(ctx))
			}
			failure.Tried = append(failure.Tried, &NodeError{Node: nodeName(d), Err: err})
		}
		if resp == nil {
			return &fs.PathError{Op: "checksum", Path: path, Err: failure}
		}
		if err := each(b, resp); err != nil {
			return &fs.PathError{Op: "checksum", Path: path, Err: fmt.Errorf("block %v: %w", b.Block, err)}
		}
	}
	return nil
}

// blockSum asks one datanode.
func (c *Client) blockSum(ctx context.Context, b *hdfspb.LocatedBlockProto, d *hdfspb.DatanodeInfoProto, kind hdfspb.BlockChecksumTypeProto) (*hdfspb.OpBlockChecksumResponseProto, error) {
	conn, err := c.dial(ctx, d)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer c.endWith(ctx, conn)()
	err = transfer.WriteOp(conn, transfer.OpBlockChecksum, &hdfspb.OpBlockChecksumProto{
		Header:               &hdfspb.BaseHeaderProto{Block: b.GetB(), Token: b.GetBlockToken()},
		BlockChecksumOptions: &hdfspb.BlockChecksumOptionsProto{BlockChecksumType: &kind, StripeLength: proto.Uint64(0)},
	})
	if err == nil {
		err = conn.expect(c.opt.DatanodeTimeout)
	}
	var resp hdfspb.BlockOpResponseProto
	if err == nil {
		err = transfer.ReadMessage(conn.r, &resp)
	}
	if err == nil {
		err = opError(&resp)
	}
	return resp.GetChecksumResponse(), err
}
