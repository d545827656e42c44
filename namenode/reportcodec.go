package namenode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
)

// The length of a replica travels in the low 48 bits, its state in the low 4: the rest is reserved.
const (
	reportedLengthMask = 1<<48 - 1
	reportedStateMask  = 1<<4 - 1
)

// reportedReplicas decodes a storage's list of replicas in either of its forms, checked as a whole first: a report
// counts entirely or not at all.
func reportedReplicas(s *hdfspb.StorageBlockReportProto) (iter.Seq[blocks.Replica], error) {
	decode := func(yield func(blocks.Replica) bool) error { return decodeLongs(s.GetBlocks(), yield) }
	if len(s.GetBlocksBuffers()) > 0 || s.NumberOfBlocks != nil {
		buffer := s.GetBlocksBuffers()
		var joined []byte
		if len(buffer) == 1 {
			joined = buffer[0]
		} else {
			joined = slices.Concat(buffer...) // a number may be cut by the end of a piece
		}
		decode = func(yield func(blocks.Replica) bool) error { return decodeBuffer(joined, s.GetNumberOfBlocks(), yield) }
	}
	if err := decode(func(blocks.Replica) bool { return true }); err != nil {
		return nil, err
	}
	return func(yield func(blocks.Replica) bool) { decode(yield) }, nil
}

// decodeBuffer reads count replicas: zig-zag id, length, generation stamp, state, each a varint.
func decodeBuffer(b []byte, count uint64, yield func(blocks.Replica) bool) error {
	size := len(b)
	short := func(i uint64) error {
		return fmt.Errorf("replica %d of %d is cut off at byte %d of %d", i, count, size-len(b), size)
	}
	for i := range count {
		id, n := binary.Varint(b)
		if n <= 0 {
			return short(i)
		}
		b = b[n:]
		var fields [3]uint64
		for f := range fields {
			if fields[f], n = binary.Uvarint(b); n <= 0 {
				return short(i)
			}
			b = b[n:]
		}
		state := dfs.ReplicaState(fields[2] & reportedStateMask)
		if state > dfs.ReplicaTemporary {
			return fmt.Errorf("replica %d of %d has the unknown state %d", i, count, state)
		}
		r := blocks.Replica{
			Block: dfs.Block{ID: dfs.BlockID(id), GenStamp: dfs.GenStamp(fields[1]), Len: int64(fields[0] & reportedLengthMask)},
			State: state,
		}
		if !yield(r) {
			return nil
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes are left after %d replicas", len(b), count)
	}
	return nil
}

// decodeLongs reads the older form: two counts, the finalized replicas as triples, a separator, the others with states.
func decodeLongs(longs []uint64, yield func(blocks.Replica) bool) error {
	if len(longs) == 0 {
		return nil
	}
	if len(longs) < 2 {
		return errors.New("the list ends before its two counts")
	}
	finalized, others := longs[0], longs[1]
	rest := longs[2:]
	limit := uint64(len(rest))
	if finalized > limit/3 || others > limit/4 || 3*finalized+3+4*others != limit {
		return fmt.Errorf("%d finalized and %d other replicas do not make %d numbers", finalized, others, limit)
	}
	replica := func(at uint64) blocks.Replica {
		return blocks.Replica{Block: dfs.Block{ID: dfs.BlockID(rest[at]), Len: int64(rest[at+1]), GenStamp: dfs.GenStamp(rest[at+2])}}
	}
	for i := range finalized {
		if !yield(replica(3 * i)) {
			return nil
		}
	}
	for i := range others {
		at := 3*finalized + 3 + 4*i
		r := replica(at)
		if rest[at+3] > uint64(dfs.ReplicaTemporary) {
			return fmt.Errorf("replica %d has the unknown state %d", i, rest[at+3])
		}
		r.State = dfs.ReplicaState(rest[at+3])
		if !yield(r) {
			return nil
		}
	}
	return nil
}
