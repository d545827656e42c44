package datanode

import (
	"crypto/md5"
	"encoding/binary"
	"hash"
	"math"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// blockChecksum answers BLOCK_CHECKSUM: a digest of the checksums of a replica, or of its first bytes.
func (d *DataNode) blockChecksum(p *peer) error {
	req := &hdfspb.OpBlockChecksumProto{}
	b, err := d.begin(p, transfer.OpBlockChecksum, req, func() (*hdfspb.BaseHeaderProto, string) { return req.GetHeader(), "" })
	if err != nil {
		return err
	}
	r, err := d.digest(b, req.GetBlockChecksumOptions())
	if err != nil {
		d.fault(b.Block, err)
		p.fail(err)
		return err
	}
	return transfer.WriteResponse(p, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum(), ChecksumResponse: r})
}

func (d *DataNode) digest(b dfs.ExtendedBlock, o *hdfspb.BlockChecksumOptionsProto) (*hdfspb.OpBlockChecksumResponseProto, error) {
	if b.Len < 0 {
		return nil, dfs.Errorf(dfs.ClassIO, "the length of %s is %d", b, b.Len)
	}
	rd, err := d.set.Open(d.ctx, b.Block, b.Len)
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	c := rd.Checksum
	n := min(b.Len, rd.Block.Len)
	size := c.Type.Size()
	r := &hdfspb.OpBlockChecksumResponseProto{
		BytesPerCrc: ptr(uint32(c.BytesPerChunk)), CrcPerBlock: ptr(uint64(0)), CrcType: hdfspb.ChecksumTypeProto(c.Type).Enum(),
		BlockChecksumOptions: o,
	}
	if size > 0 {
		r.CrcPerBlock = ptr(uint64((n + int64(c.BytesPerChunk) - 1) / int64(c.BytesPerChunk)))
	}
	var sink digester = md5Digest{md5.New()}
	if o.GetBlockChecksumType() == hdfspb.BlockChecksumTypeProto_COMPOSITE_CRC {
		if sink, err = newCompositeDigest(onWire(c), int64(min(o.GetStripeLength(), math.MaxInt64))); err != nil {
			return nil, err
		}
	}
	if err := digestSums(rd, n, sink); err != nil {
		return nil, err
	}
	r.BlockChecksum = sink.sum()
	return r, nil
}

// digester takes the sums of n bytes of data, in order.
type digester interface {
	add(sums []byte, n int64) error
	sum() []byte
}

// digestSums gives sink the sums of the first n bytes. Where n cuts a chunk, that chunk's sum is made anew.
func digestSums(rd *volume.Reader, n int64, sink digester) error {
	c := onWire(rd.Checksum)
	if c.Size() == 0 {
		return nil
	}
	const step = 4 << 10 // chunks at a time
	buf := make([]byte, step*c.Size())
	chunk := int64(c.BytesPerChunk)
	whole := n
	if n < rd.Block.Len {
		whole = n - n%chunk
	}
	for off := int64(0); off < whole; off += step * chunk {
		m := min(step*chunk, whole-off)
		sums, err := rd.Sums(buf, off, int(m))
		if err == nil {
			err = sink.add(sums, m)
		}
		if err != nil {
			return err
		}
	}
	if whole == n {
		return nil
	}
	data := make([]byte, n-whole)
	if err := rd.ReadAt(data, whole); err != nil {
		return err
	}
	return sink.add(c.Sum(buf[:0], data), n-whole)
}

type md5Digest struct{ hash.Hash }

func (m md5Digest) add(sums []byte, _ int64) error {
	_, err := m.Write(sums)
	return err
}

func (m md5Digest) sum() []byte { return m.Sum(nil) }

// compositeDigest joins sums to one for each stripe; without stripes to one for all.
type compositeDigest struct {
	check  transfer.Checksum
	stripe int64
	room   int64 // left in the stripe
	c      *transfer.Composer
	out    []byte
}

func newCompositeDigest(c transfer.Checksum, stripe int64) (*compositeDigest, error) {
	if stripe <= 0 {
		stripe = math.MaxInt64 - math.MaxInt64%int64(c.BytesPerChunk)
	}
	if stripe%int64(c.BytesPerChunk) != 0 {
		return nil, dfs.Errorf(dfs.ClassIO, "a stripe of %d bytes is no multiple of the chunks' %d", stripe, c.BytesPerChunk)
	}
	comp, err := transfer.NewComposer(c.Type)
	return &compositeDigest{check: c, stripe: stripe, room: stripe, c: comp}, err
}

func (d *compositeDigest) add(sums []byte, n int64) error {
	for n > 0 {
		m := min(n, d.room)
		k := d.check.Len(int(m))
		if err := d.c.AddChunks(sums[:k], d.check.BytesPerChunk, m); err != nil {
			return err
		}
		sums, n = sums[k:], n-m
		if d.room -= m; d.room == 0 {
			d.out = binary.BigEndian.AppendUint32(d.out, d.c.Sum())
			d.room = d.stripe
			d.c, _ = transfer.NewComposer(d.check.Type) // the type was good before
		}
	}
	return nil
}

func (d *compositeDigest) sum() []byte {
	if d.room < d.stripe || len(d.out) == 0 {
		return binary.BigEndian.AppendUint32(d.out, d.c.Sum())
	}
	return d.out
}
