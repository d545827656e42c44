package editlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// A scanned segment is what scan found in the bytes of a segment.
type scanned struct {
	end   int64  // offset behind the last intact record
	next  uint64 // seq of the op that would follow
	ended bool   // the last intact record is the end mark
	bad   error  // what is wrong behind end; nil: nothing is there, or it is ended
}

var errRecordOrder = errors.New("record does not follow the one before")

// scan reads the records of a segment in order and hands each one that has ops to visit.
func scan(data []byte, h segmentHeader, visit func(r record, offset int64) error) (s scanned, err error) {
	s.end, s.next = segmentHeaderLen, h.seq
	for s.end < int64(len(data)) && !s.ended {
		r, end, err := parseRecord(data, h.salt, s.end)
		if err == nil && r.seq != s.next {
			err = fmt.Errorf("%w: it begins with op %d", errRecordOrder, r.seq)
		}
		if err != nil {
			s.bad = err
			return s, nil
		}
		if r.count == 0 {
			s.ended = true
		} else if err := visit(r, s.end); err != nil {
			return s, err
		}
		s.end = end
		s.next += uint64(r.count)
	}
	return s, nil
}

// wasDurable reports whether the bytes at offset, which are no record, had been one on the disk: a later record was
// written when they were known to be durable. Otherwise a crash may have kept them from the disk.
func wasDurable(data []byte, salt uint32, offset int64) bool {
	for at := offset + 1; at+recordHeaderLen <= int64(len(data)); at++ {
		if durable := binary.BigEndian.Uint64(data[at+16:]); durable <= uint64(offset) || durable > uint64(at) {
			continue
		}
		if _, _, err := parseHeader(data, salt, at); err == nil {
			return true
		}
	}
	return false
}

// replay applies the ops behind the state and leaves the last segment open for more.
func (r *recovery) replay(ctx context.Context, files []segmentFile) error {
	heads := make([]segmentHeader, 0, len(files))
	for i, file := range files {
		h, size, bad, err := r.head(file.name)
		if err != nil {
			return err
		}
		if bad != nil && !file.closed && i == len(files)-1 && size <= segmentHeaderLen && file.first > r.seen {
			r.log.Info("editlog: removing a segment that a crash kept from beginning", "file", r.path(file.name))
			if err := r.remove(file.name); err != nil {
				return err
			}
			files = files[:i]
			break
		}
		if bad == nil && h.txid+1 != file.first {
			bad = fmt.Errorf("it begins after txid %d, not where its name says", h.txid)
		}
		if bad != nil {
			return &CorruptError{File: r.path(file.name), Seq: h.seq, TxID: file.first - 1, Reason: bad.Error()}
		}
		heads = append(heads, h)
	}
	if n := len(files); n == 0 && r.seen > 0 || n > 0 && files[n-1].first < r.seen {
		return &CorruptError{File: r.path(inProgressName(r.seen)), TxID: r.seen - 1,
			Reason: fmt.Sprintf("it is missing, also as a closed segment, but %s says that it was begun", seenName)}
	}
	start := -1
	for i, h := range heads {
		if h.seq <= r.seq+1 {
			start = i
		}
	}
	if start < 0 {
		return r.missing(heads, files)
	}
	for i := range start {
		r.closed = append(r.closed, closedSegment{files[i].name, heads[i+1].seq - 1})
	}
	image := r.seq
	for i := start; i < len(files); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		next, err := r.replaySegment(files[i], heads[i], i == len(files)-1)
		if err != nil {
			return err
		}
		if i+1 < len(heads) && heads[i+1].seq != next {
			return &CorruptError{File: r.path(files[i+1].name), Seq: next, TxID: r.sm.TxID(),
				Reason: fmt.Sprintf("it begins with op %d, the segment before ends with op %d", heads[i+1].seq, next-1)}
		}
		if next <= image {
			return &CorruptError{File: r.path(files[i].name), Seq: next, TxID: r.sm.TxID(),
				Reason: fmt.Sprintf("it ends before op %d, which an image holds", image)}
		}
	}
	return nil
}

// missing tells why there is nothing to go on with, nil for a new directory.
func (r *recovery) missing(heads []segmentHeader, files []segmentFile) error {
	if len(heads) > 0 {
		return &CorruptError{File: r.path(files[0].name), Seq: r.seq + 1, TxID: r.sm.TxID(),
			Reason: fmt.Sprintf("the first edits here are those from op %d, the ones before are missing", heads[0].seq)}
	}
	if len(r.images)+len(r.junk) > 0 {
		return &CorruptError{File: r.dir, Seq: r.seq + 1, TxID: r.sm.TxID(),
			Reason: "there are images, but no edits"}
	}
	return nil
}

// replaySegment applies those ops of a segment that the state does not have, and gives the seq behind its last one.
func (r *recovery) replaySegment(file segmentFile, h segmentHeader, last bool) (uint64, error) {
	data, err := r.read(file.name)
	if err != nil {
		return 0, err
	}
	corrupt := func(offset int64, seq uint64, format string, args ...any) error {
		if err := r.flush(); err != nil {
			return err
		}
		return &CorruptError{File: r.path(file.name), Offset: offset, Seq: seq, TxID: r.sm.TxID(),
			Reason: fmt.Sprintf(format, args...)}
	}
	if h.seq == r.seq+1 && r.sm.TxID() != h.txid {
		return 0, corrupt(0, h.seq, "it begins after txid %d, the replay of what stands before gave another state", h.txid)
	}
	s, err := scan(data, h, func(rec record, offset int64) error {
		if err := r.apply(rec); err != nil {
			return corrupt(offset, rec.seq, "%v", err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := r.flush(); err != nil {
		return 0, err
	}
	r.bytes += s.end
	rest := int64(len(data)) - s.end
	switch {
	case s.ended && rest > 0:
		return 0, corrupt(s.end, s.next, "%d bytes stand behind the end mark", rest)
	case s.ended && file.closed && r.seq+1 == s.next && r.sm.TxID() != file.last:
		return 0, corrupt(s.end, s.next, "the name says that it ends with txid %d", file.last)
	case s.ended:
		return s.next, r.keepClosed(file, h, s.next)
	case s.bad == nil && (file.closed || !last):
		return 0, corrupt(s.end, s.next, "the end mark is missing")
	case s.bad != nil && (file.closed || !last || errors.Is(s.bad, errRecordOrder) || wasDurable(data, h.salt, s.end)):
		return 0, corrupt(s.end, s.next, "%v", s.bad)
	case s.bad != nil:
		r.log.Warn("editlog: cutting off a torn tail: these bytes were never acknowledged as durable",
			"file", r.path(file.name), "offset", s.end, "bytes", rest, "txid", r.sm.TxID(), "found", s.bad.Error())
	}
	r.open, err = r.reopenSegment(file.name, h, s.end)
	return s.next, err
}

// keepClosed notes a closed segment, and gives it its final name if a crash came before that.
func (r *recovery) keepClosed(file segmentFile, h segmentHeader, next uint64) error {
	name := file.name
	if !file.closed && r.seq+1 == next {
		name = editsName(h.txid+1, r.sm.TxID())
		if err := r.sync(file.name); err != nil { // the end mark may not have been
			return err
		}
		if err := r.rename(file.name, name); err != nil {
			return err
		}
	}
	r.closed = append(r.closed, closedSegment{name, next - 1})
	return nil
}

// apply takes in the ops of a record that the state does not have.
func (r *recovery) apply(rec record) error {
	body := rec.body
	for i := range rec.count {
		op, rest, err := nextOp(body)
		if err != nil {
			return err
		}
		body = rest
		if rec.seq+uint64(i) <= r.seq+uint64(len(r.batch)) {
			continue
		}
		decoded, err := r.sm.Decode(op)
		if err != nil {
			return fmt.Errorf("op %d cannot be decoded: %w", rec.seq+uint64(i), err)
		}
		r.batch = append(r.batch, decoded)
		if len(r.batch) >= r.maxBatch {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	if len(body) > 0 {
		return fmt.Errorf("%d bytes follow the last op of the record", len(body))
	}
	return nil
}
