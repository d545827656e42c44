package editlog

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A batch is the ops that are written in one record, and those who wait for them.
type batch struct {
	ops   []Op
	sizes []int32 // of the encoded ops
	buf   []byte  // header left free, then the encoded ops

	done    chan struct{} // closed once results or err are set
	results []any
	err     error

	refs atomic.Int32 // waiters and the committer; the last one gives the batch back
}

// maxFree bounds the batches kept for use again.
const maxFree = 4

// Append encodes op, adds it to the open batch and waits for that, unless it can be committed at once.
func (j *Local) Append(ctx context.Context, op Op) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if result, done, err := j.TryAppend(op); done {
		return result, err
	}
	b, i, err := j.enqueue(op)
	if err != nil {
		return nil, err
	}
	if cancelled := ctx.Done(); cancelled == nil {
		<-b.done
	} else {
		select {
		case <-b.done:
		case <-cancelled:
			j.leave(b)
			return nil, ctx.Err()
		}
	}
	var result any
	if err = b.err; err == nil {
		result = b.results[i]
	}
	j.leave(b)
	return result, err
}

// enqueue adds op to the open batch, as its i-th.
func (j *Local) enqueue(op Op) (b *batch, i int, err error) {
	scratch, _ := j.scratch.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	encoded := op.AppendTo((*scratch)[:0])
	if len(encoded) > maxOpLen {
		return nil, 0, tooLarge(op, len(encoded))
	}

	j.mu.Lock()
	if j.ended != nil {
		err := j.ended
		j.mu.Unlock()
		return nil, 0, err
	}
	idle := len(j.queue) == 0
	if !idle {
		b = j.queue[len(j.queue)-1]
	}
	if b == nil || len(b.ops) >= j.opts.MaxBatch || len(b.buf) >= cutBatchLen {
		b = j.newBatchLocked()
		j.queue = append(j.queue, b)
	}
	i = len(b.ops)
	b.add(op, encoded)
	b.refs.Add(1)
	j.mu.Unlock()

	*scratch = encoded
	j.scratch.Put(scratch)
	if idle {
		j.signal()
	}
	return b, i, nil
}

func tooLarge(op Op, n int) error {
	return fmt.Errorf("%w: %s of %d bytes, the limit is %d", ErrTooLarge, op.KindName(), n, maxOpLen)
}

// signal makes the committer look at the queue.
func (j *Local) signal() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (b *batch) add(op Op, encoded []byte) {
	b.ops = append(b.ops, op)
	b.sizes = append(b.sizes, int32(len(encoded)))
	b.buf = appendOp(b.buf, encoded)
}

// clear makes b empty again.
func (b *batch) clear() {
	clear(b.ops)
	b.ops, b.sizes, b.results, b.err = b.ops[:0], b.sizes[:0], nil, nil
	if b.buf == nil || cap(b.buf) > 2*cutBatchLen {
		b.buf = make([]byte, recordHeaderLen, 512)
	}
	b.buf = b.buf[:recordHeaderLen]
}

func (j *Local) newBatchLocked() *batch {
	var b *batch
	if n := len(j.free); n > 0 {
		b = j.free[n-1]
		j.free = j.free[:n-1]
	} else {
		b = new(batch)
	}
	b.clear()
	b.done = make(chan struct{})
	b.refs.Store(1)
	return b
}

// take removes the first batch from the queue; nobody can add to it any more. more: there is another one.
func (j *Local) take() (b *batch, more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		return nil, false
	}
	b = j.queue[0]
	n := copy(j.queue, j.queue[1:])
	j.queue[n] = nil
	j.queue = j.queue[:n]
	return b, n > 0
}

// waiting is the number of ops in the batch that is taken next.
func (j *Local) waiting() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		return 0
	}
	return len(j.queue[0].ops)
}

// answer wakes those who wait for b.
func (j *Local) answer(b *batch, results []any, err error) {
	b.results, b.err = results, err
	close(b.done)
	j.leave(b)
}

// leave gives up one's hold of b.
func (j *Local) leave(b *batch) {
	if b.refs.Add(-1) > 0 {
		return
	}
	b.clear()
	j.mu.Lock()
	if len(j.free) < maxFree {
		j.free = append(j.free, b)
	}
	j.mu.Unlock()
}
