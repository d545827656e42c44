package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// shortSkip is how far ahead a seek reads on in the stream instead of opening another.
const shortSkip = 128 << 10

// blockReader is the stream of one range of one block from one datanode. Every byte it gives has been verified.
type blockReader struct {
	c       *Client
	node    *hdfspb.DatanodeInfoProto
	located *hdfspb.LocatedBlockProto
	conn    *dataConn
	stop    func() bool // ends the watch over the context
	pkts    *transfer.PacketReader
	sum     transfer.Checksum

	pos, end int64  // in the block: the next byte to give, and where the range ends
	data     []byte // of the current packet, from pos on
	over     bool   // the connection is given back or closed
}

// openBlock asks a datanode for n bytes of a block from off on. ctx governs the whole stream.
func (c *Client) openBlock(ctx context.Context, b *hdfspb.LocatedBlockProto, node *hdfspb.DatanodeInfoProto, off, n int64) (*blockReader, error) {
	if conn := c.pool.get(c.nodeAddr(node.GetId(), node.GetId().GetXferPort())); conn != nil {
		if r, err := c.startBlock(ctx, conn, b, node, off, n); err == nil || conn.heard || ctx.Err() != nil {
			return r, err
		}
		// the datanode had given up on the idle connection: no fault of the node
	}
	conn, err := c.dial(ctx, node)
	if err != nil {
		return nil, err
	}
	return c.startBlock(ctx, conn, b, node, off, n)
}

// startBlock sends the request on conn and reads the answer; conn is closed where that fails.
func (c *Client) startBlock(ctx context.Context, conn *dataConn, b *hdfspb.LocatedBlockProto, node *hdfspb.DatanodeInfoProto, off, n int64) (*blockReader, error) {
	r := &blockReader{c: c, node: node, located: b, conn: conn, pos: off, end: off + n}
	r.stop = c.endWith(ctx, conn)
	if err := r.start(b, off, n); err != nil {
		r.close()
		if ctx.Err() != nil {
			err = cause(ctx)
		}
		return nil, err
	}
	return r, nil
}

func (r *blockReader) start(b *hdfspb.LocatedBlockProto, off, n int64) error {
	conn := r.conn
	conn.heard = false
	err := transfer.WriteOp(conn, transfer.OpReadBlock, &hdfspb.OpReadBlockProto{
		Header: &hdfspb.ClientOperationHeaderProto{
			BaseHeader: &hdfspb.BaseHeaderProto{Block: b.GetB(), Token: b.GetBlockToken()},
			ClientName: &r.c.name,
		},
		Offset:        proto.Uint64(uint64(off)),
		Len:           proto.Uint64(uint64(n)),
		SendChecksums: proto.Bool(true),
	})
	if err != nil {
		return fmt.Errorf("asking for the block: %w", err)
	}
	if err := conn.expect(r.c.opt.DatanodeTimeout); err != nil {
		return err
	}
	if _, err := conn.r.Peek(1); err != nil {
		return fmt.Errorf("waiting for an answer: %w", err)
	}
	conn.heard = true
	var resp hdfspb.BlockOpResponseProto
	if err := transfer.ReadMessage(conn.r, &resp); err != nil {
		return err
	}
	if err := opError(&resp); err != nil {
		return err
	}
	r.sum, err = transfer.ChecksumOf(resp.GetReadOpChecksumInfo().GetChecksum())
	if err != nil {
		return err
	}
	if first := int64(resp.GetReadOpChecksumInfo().GetChunkOffset()); first > off || off-first > int64(r.sum.BytesPerChunk) {
		return fmt.Errorf("asked for offset %d, the datanode begins at %d: %w", off, first, transfer.ErrMalformed)
	}
	r.pkts = transfer.NewPacketReader(conn.r)
	return nil
}

// opError gives the error in a datanode's answer to an operation.
func opError(resp *hdfspb.BlockOpResponseProto) error {
	if s := resp.GetStatus(); s != hdfspb.Status_SUCCESS {
		return fmt.Errorf("the datanode answered %v: %s", s, resp.GetMessage())
	}
	return nil
}

// next makes data the verified bytes from pos on. At the end of the range it gives io.EOF, having said to the datanode
// that all is well and given back the connection.
func (r *blockReader) next() error {
	for len(r.data) == 0 {
		if r.pos >= r.end {
			r.finish()
			return io.EOF
		}
		if r.over {
			return io.ErrUnexpectedEOF
		}
		if err := r.conn.expect(r.c.opt.DatanodeTimeout); err != nil {
			return err
		}
		p, err := r.pkts.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("at offset %d of the block: %w", r.pos, err)
		}
		if p.Heartbeat() {
			continue
		}
		if len(p.Data) == 0 {
			return fmt.Errorf("the datanode ended at offset %d of the block, asked for bytes up to %d: %w", r.pos, r.end, io.ErrUnexpectedEOF)
		}
		if p.Offset > r.pos || p.Offset+int64(len(p.Data)) <= r.pos && p.Offset != r.pos {
			return fmt.Errorf("expected bytes at offset %d of the block, got %d bytes at %d: %w", r.pos, len(p.Data), p.Offset, transfer.ErrMalformed)
		}
		if err := r.sum.Verify(p.Data, p.Sums); err != nil {
			return fmt.Errorf("at offset %d of the block: %w", p.Offset, err)
		}
		r.data = p.Data[r.pos-p.Offset:]
		if rest := r.end - r.pos; int64(len(r.data)) > rest {
			r.data = r.data[:rest]
		}
	}
	return nil
}

// take moves over n bytes of data.
func (r *blockReader) take(n int) {
	r.data = r.data[n:]
	r.pos += int64(n)
	if r.pos == r.end {
		r.finish()
	}
}

func (r *blockReader) read(p []byte) (int, error) {
	if err := r.next(); err != nil {
		return 0, err
	}
	n := copy(p, r.data)
	r.take(n)
	return n, nil
}

// writeTo gives everything up to the end of the range to w, from the packets' own memory. wrote tells whose error it is.
func (r *blockReader) writeTo(w io.Writer) (n int64, wrote bool, err error) {
	for {
		if err := r.next(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, false, err
		}
		m, err := w.Write(r.data)
		n += int64(m)
		r.take(m)
		if err != nil {
			return n, true, err
		}
	}
}

// skip moves pos to, which lies ahead in the range and near.
func (r *blockReader) skip(to int64) error {
	for r.pos < to {
		if err := r.next(); err != nil {
			return err
		}
		r.take(int(min(int64(len(r.data)), to-r.pos)))
	}
	return nil
}

// finish reads the empty packet behind the range, tells the datanode that the checksums were right and gives back the
// connection for the next read.
func (r *blockReader) finish() {
	if r.over {
		return
	}
	p, err := r.pkts.Next()
	if err != nil || !p.Last || len(p.Data) > 0 {
		r.close()
		return
	}
	err = transfer.WriteMessage(r.conn, &hdfspb.ClientReadStatusProto{Status: hdfspb.Status_CHECKSUM_OK.Enum()})
	if err != nil || !r.stop() {
		r.close()
		return
	}
	r.over = true
	r.c.pool.put(r.conn)
}

// close gives the stream up.
func (r *blockReader) close() {
	if r.over {
		return
	}
	r.over = true
	r.stop()
	r.conn.Close()
}
