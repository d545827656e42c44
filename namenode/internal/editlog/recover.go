package editlog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// A recovery brings the state machine to where the files end.
type recovery struct {
	*store
	sm       StateMachine
	log      *slog.Logger
	identity uint32
	maxBatch int

	seen   uint64          // first txid of a segment that must be there, or a later one
	seq    uint64          // of the last op in the state
	ops    int64           // replayed
	bytes  int64           // of the segments replayed
	images []imageFile     // ascending, the newest is the one that was loaded
	junk   []string        // images that cannot be read
	closed []closedSegment // ascending
	open   *segment        // nil: the last one is closed, or there is none

	batch []Op
}

// An imageFile and a closedSegment are what a checkpoint must know to remove what is superfluous.
type imageFile struct {
	name string
	seq  uint64
}

type closedSegment struct {
	name string
	last uint64 // seq
}

// run loads the newest good image and replays what follows it.
func (r *recovery) run(ctx context.Context) error {
	files, err := r.list()
	if err != nil {
		return err
	}
	for _, name := range files.temps {
		r.log.Info("editlog: removing a file that a crash left unfinished", "file", r.path(name))
		if err := r.remove(name); err != nil {
			return err
		}
	}
	if r.seen, err = r.store.seen(); err != nil {
		return err
	}
	imageErr, err := r.loadImage(ctx, files.images)
	if err != nil {
		return err
	}
	if err := r.replay(ctx, files.segments); err != nil {
		return errors.Join(err, imageErr)
	}
	return nil
}

// loadImage restores the newest image whose checksums are right. bad tells of those that it passed over.
func (r *recovery) loadImage(ctx context.Context, txids []uint64) (bad, err error) {
	for i := len(txids) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := imageName(txids[i])
		h, err := r.checkImage(name, txids[i], len(r.images) == 0)
		if err != nil {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) {
				return nil, err
			}
			r.log.Warn("editlog: passing over a damaged image", "err", err)
			bad = errors.Join(bad, err)
			r.junk = append(r.junk, name)
			continue
		}
		if len(r.images) == 0 {
			if err := r.restore(name, h); err != nil {
				return nil, err
			}
			r.seq = h.seq
		}
		r.images = append([]imageFile{{name, h.seq}}, r.images...)
	}
	return bad, nil
}

// checkImage reads the header of an image or, when whole, all of it.
func (r *recovery) checkImage(name string, txid uint64, whole bool) (imageHeader, error) {
	f, err := r.fs.Open(r.path(name))
	if err != nil {
		return imageHeader{}, fmt.Errorf("editlog: cannot open %s: %w", r.path(name), err)
	}
	defer func() { _ = f.Close() }()
	corrupt := func(offset int64, err error) error {
		return &CorruptError{File: r.path(name), Offset: offset, TxID: txid, Reason: err.Error()}
	}
	in, err := newImageReader(bufio.NewReader(f))
	if err != nil {
		return imageHeader{}, corrupt(0, err)
	}
	if in.header.txid != txid {
		return imageHeader{}, corrupt(0, fmt.Errorf("it holds the state after txid %d, not that of its name", in.header.txid))
	}
	if in.header.identity != r.identity {
		return imageHeader{}, corrupt(0, errors.New("it comes from another directory, see VERSION"))
	}
	if whole {
		if err := in.drain(); err != nil {
			return imageHeader{}, corrupt(in.at, err)
		}
	}
	return in.header, nil
}

// restore loads an image that was found intact.
func (r *recovery) restore(name string, h imageHeader) error {
	f, err := r.fs.Open(r.path(name))
	if err != nil {
		return fmt.Errorf("editlog: cannot open %s: %w", r.path(name), err)
	}
	defer func() { _ = f.Close() }()
	in, err := newImageReader(bufio.NewReader(f))
	if err == nil {
		err = r.sm.Restore(in)
	}
	if err == nil {
		err = in.drain()
	}
	if err == nil && r.sm.TxID() != h.txid {
		err = fmt.Errorf("the restored state is that after txid %d", r.sm.TxID())
	}
	if err != nil {
		return fmt.Errorf("editlog: cannot restore %s, whose checksums are right: %w; use the program that wrote it",
			r.path(name), err)
	}
	r.log.Info("editlog: image loaded", "file", r.path(name), "txid", h.txid)
	return nil
}

// head reads the header of a segment.
func (r *recovery) head(name string) (h segmentHeader, size int64, bad, err error) {
	f, err := r.fs.Open(r.path(name))
	if err != nil {
		return h, 0, nil, fmt.Errorf("editlog: cannot open %s: %w", r.path(name), err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return h, 0, nil, fmt.Errorf("editlog: cannot stat %s: %w", r.path(name), err)
	}
	b := make([]byte, segmentHeaderLen)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return h, 0, nil, fmt.Errorf("editlog: cannot read %s: %w", r.path(name), err)
	}
	h, bad = parseSegmentHeader(b[:n])
	if bad == nil && h.identity != r.identity {
		bad = errors.New("it comes from another directory, see VERSION")
	}
	return h, info.Size(), bad, nil
}

// flush applies the ops read so far.
func (r *recovery) flush() error {
	if len(r.batch) == 0 {
		return nil
	}
	n, results := len(r.batch), r.sm.Apply(r.batch)
	r.seq += uint64(n)
	r.ops += int64(n)
	clear(r.batch)
	r.batch = r.batch[:0]
	if len(results) != n {
		return fmt.Errorf("editlog: state machine gave %d results for %d ops", len(results), n)
	}
	return nil
}
