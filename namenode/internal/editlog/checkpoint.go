package editlog

import (
	"context"
	"io"
	"slices"
)

// A cut is the wish for a snapshot between two batches, and its fulfilment.
type cut struct {
	ready chan struct{}

	snapshot Snapshot
	seq      uint64 // of the last op in the snapshot
	err      error
}

// serve takes a snapshot. The log is durable up to there before an image can be: it is never behind an image.
func (j *Local) serve(c *cut) {
	defer close(c.ready)
	if c.err = j.guard(j.roll); c.err != nil {
		return
	}
	c.seq = j.c.seq
	c.snapshot, c.err = j.sm.Snapshot()
	j.c.opsSince, j.c.bytesSince = 0, 0
}

// Checkpoint writes an image of the present state, unless the newest image is one already.
func (j *Local) Checkpoint(ctx context.Context) error {
	j.mu.Lock()
	if err := j.ended; err != nil {
		j.mu.Unlock()
		return err
	}
	j.workers.Add(1) // under mu: Close, which sets ended, waits afterwards
	j.mu.Unlock()
	defer j.workers.Done()

	var images []imageFile
	select {
	case images = <-j.images:
	case <-ctx.Done():
		return ctx.Err()
	case <-j.stop:
		return ErrClosed
	}
	defer func() { j.images <- images }()

	c := &cut{ready: make(chan struct{})}
	select {
	case j.cuts <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-j.stop:
		return ErrClosed
	}
	<-c.ready
	if c.err != nil {
		return c.err
	}
	defer c.snapshot.Release()
	if n := len(images); n > 0 && images[n-1].seq == c.seq {
		return nil
	}
	image := imageFile{name: imageName(c.snapshot.TxID()), seq: c.seq}
	if err := j.writeImage(ctx, c, image.name); err != nil {
		return err
	}
	// An image of the same txid, but fewer ops, has just been replaced.
	if n := len(images); n > 0 && images[n-1].name == image.name {
		images = images[:n-1]
	}
	images = j.trim(append(images, image))

	j.mu.Lock()
	j.counts.Checkpoints++
	j.mu.Unlock()
	j.opts.Logger.Info("editlog: checkpoint", "image", image.name)
	return nil
}

func (j *Local) writeImage(ctx context.Context, c *cut, name string) error {
	return j.store.write(name, func(w io.Writer) error {
		image, err := newImageWriter(&interruptible{ctx, j.stop, j.closing, w}, imageHeader{
			identity: j.identity.sum(), seq: c.seq, txid: c.snapshot.TxID(),
		})
		if err != nil {
			return err
		}
		if _, err := c.snapshot.WriteTo(image); err != nil {
			return err
		}
		return image.finish()
	})
}

// interruptible refuses to write once somebody wants the checkpoint to end.
type interruptible struct {
	ctx           context.Context
	stop, closing <-chan struct{}
	w             io.Writer
}

func (w *interruptible) Write(p []byte) (int, error) {
	select {
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	case <-w.stop:
		return 0, ErrClosed
	case <-w.closing:
		return 0, ErrClosed
	default:
		return w.w.Write(p)
	}
}

// trim removes images beyond the retained ones, and segments that none of those needs. The empty state counts as the
// oldest image: segments are kept until there are enough real ones. What cannot be removed is tried again at the
// next start and checkpoint.
func (j *Local) trim(images []imageFile) []imageFile {
	excess := max(0, len(images)-j.opts.RetainImages)
	j.mu.Lock()
	remove := j.junk
	j.junk = nil
	for _, image := range images[:excess] {
		remove = append(remove, image.name)
	}
	images = images[excess:]
	remove = slices.DeleteFunc(remove, func(name string) bool { // replaced meanwhile by a good one
		return slices.ContainsFunc(images, func(i imageFile) bool { return i.name == name })
	})
	if len(images) >= j.opts.RetainImages {
		n := 0
		for n < len(j.closed) && j.closed[n].last <= images[0].seq {
			remove = append(remove, j.closed[n].name)
			n++
		}
		j.closed = append([]closedSegment(nil), j.closed[n:]...)
	}
	j.mu.Unlock()
	for _, name := range remove {
		if j.halted() {
			break
		}
		if err := j.store.remove(name); err != nil {
			j.opts.Logger.Warn("editlog: a superfluous file stays", "err", err)
		}
	}
	return images
}

// checkpointOverdue makes the checkpoints that the committer asks for.
func (j *Local) checkpointOverdue() {
	ctx := context.Background()
	for {
		select {
		case <-j.stop:
			return
		case <-j.overdue:
			if err := j.Checkpoint(ctx); err != nil && !j.halted() {
				j.opts.Logger.Error("editlog: no checkpoint, the log grows on", "err", err)
			}
		}
	}
}
