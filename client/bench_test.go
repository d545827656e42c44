package client

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

const benchBlock = 64 << 20

// swiftDN is a datanode on a real socket that costs next to nothing: it acks what it gets and drops it, and sends the
// same packet again and again.
func swiftDN(b *testing.B) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go swift(c)
		}
	}()
	return l.Addr().String()
}

func swift(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	sum := transfer.Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
	buf := transfer.NewPacketBuffer(128*4, 64<<10)
	end := transfer.NewPacketBuffer(0, 0)
	sums := sum.Sum(buf.Sums()[:0], buf.Data())
	ok := &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum(), ReadOpChecksumInfo: &hdfspb.ReadOpChecksumInfoProto{
		Checksum: sum.Proto(), ChunkOffset: new(uint64),
	}}
	for {
		op, err := transfer.ReadOp(r)
		if err != nil {
			return
		}
		if op == transfer.OpReadBlock {
			var req hdfspb.OpReadBlockProto
			transfer.ReadMessage(r, &req)
			transfer.WriteResponse(c, ok)
			off, seqno := int64(req.GetOffset()), int64(0)
			for ; off < int64(req.GetOffset()+req.GetLen()); seqno++ {
				if _, err := c.Write(buf.Finish(transfer.Header{Offset: off, Seqno: seqno}, 64<<10, len(sums))); err != nil {
					return
				}
				off += 64 << 10
			}
			c.Write(end.Finish(transfer.Header{Offset: off, Seqno: seqno, Last: true}, 0, 0))
			var status hdfspb.ClientReadStatusProto
			transfer.ReadMessage(r, &status)
			continue
		}
		var req hdfspb.OpWriteBlockProto
		transfer.ReadMessage(r, &req)
		transfer.WriteResponse(c, ok)
		packets := transfer.NewPacketReader(r)
		for {
			p, err := packets.Next()
			if err != nil {
				return
			}
			var a transfer.Ack
			a.Seqno = p.Seqno
			a.Add(hdfspb.Status_SUCCESS)
			c.Write(transfer.AppendAck(nil, &a))
			if p.Last {
				return
			}
		}
	}
}

// benchClient is a client whose datanode is a swift one.
func benchClient(b *testing.B) *Client {
	f := newFake(b, 1, 1)
	addr := swiftDN(b)
	return f.client(Options{Replication: 1, BlockSize: benchBlock, Dial: func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == f.dns[0].addr {
			return dfs.NetDial(ctx, network, addr)
		}
		return f.net.Host("client").Dial(ctx, network, to)
	}})
}

func BenchmarkWrite(b *testing.B) {
	c := benchClient(b)
	buf := make([]byte, 1<<20)
	b.SetBytes(benchBlock)
	for b.Loop() {
		w, err := c.Create(b.Context(), "/f", Overwrite())
		require.NoError(b, err)
		for range benchBlock / len(buf) {
			_, err = w.Write(buf)
			require.NoError(b, err)
		}
		require.NoError(b, w.Close())
	}
}

func BenchmarkRead(b *testing.B) {
	for name, read := range map[string]func(*Reader) (int64, error){
		"WriteTo": func(r *Reader) (int64, error) { return r.WriteTo(io.Discard) },
		"Read": func(r *Reader) (int64, error) {
			return io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 1<<20))
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := benchClient(b)
			require.NoError(b, c.WriteFile(b.Context(), "/f", make([]byte, benchBlock)))
			b.SetBytes(benchBlock)
			for b.Loop() {
				r, err := c.Open(b.Context(), "/f")
				require.NoError(b, err)
				n, err := read(r)
				require.NoError(b, err)
				require.EqualValues(b, benchBlock, n)
				require.NoError(b, r.Close())
			}
		})
	}
}

func BenchmarkStat(b *testing.B) {
	c := benchClient(b)
	for b.Loop() {
		_, err := c.Stat(b.Context(), "/")
		require.NoError(b, err)
	}
}
