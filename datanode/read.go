package datanode

import (
	"errors"
	"fmt"
	"math"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// readBlock answers READ_BLOCK: a range of a replica as packets. The reader then says what it thinks of them, and may send its
// next operation on the same connection; some just leave.
func (d *DataNode) readBlock(p *peer) (bool, error) {
	req := &hdfspb.OpReadBlockProto{}
	b, err := d.begin(p, transfer.OpReadBlock, req, func() (*hdfspb.BaseHeaderProto, string) {
		return req.GetHeader().GetBaseHeader(), req.GetHeader().GetClientName()
	})
	if err != nil {
		return false, err
	}
	off, n := int64(req.GetOffset()), int64(req.GetLen())
	if off < 0 || n < 0 {
		off, n = 0, math.MaxInt64 // refused with the replica's real length
	}
	s, err := d.newSender(p, transfer.OpReadBlock, b, req.GetHeader().GetClientName(), off, n, req.GetSendChecksums())
	if err != nil {
		d.fault(b.Block, err)
		p.fail(err)
		return false, err
	}
	defer s.close()
	w := d.writer(p)
	defer d.putWriter(w)
	ok := &hdfspb.BlockOpResponseProto{
		Status: hdfspb.Status_SUCCESS.Enum(),
		ReadOpChecksumInfo: &hdfspb.ReadOpChecksumInfoProto{
			Checksum: s.sums.Proto(), ChunkOffset: ptr(uint64(s.start)),
		},
	}
	if err := transfer.WriteResponse(w, ok); err != nil {
		return false, err
	}
	if err := s.send(w); err != nil {
		d.fault(b.Block, err)
		return false, fmt.Errorf("%s: %w", b, err)
	}
	var status hdfspb.ClientReadStatusProto
	if err := transfer.ReadMessage(p.r, &status); err != nil {
		if gone(err) || !errors.Is(err, transfer.ErrMalformed) {
			err = nil
		}
		return false, err
	}
	return true, nil
}
