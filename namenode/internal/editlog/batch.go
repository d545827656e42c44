package editlog

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// A queue is the ops that wait to be committed, in batches.
type queue struct {
	maxBatch int           // ops
	wake     chan struct{} // the queue is no longer empty
	scratch  sync.Pool     // of *[]byte, to encode ops

	mu      sync.Mutex
	batches []*batch // oldest first; ops are added to the last one
	free    []*batch
	ended   error // why no op is accepted any more
}

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

// wait adds op to the open batch and waits for that.
func (q *queue) wait(ctx context.Context, op Op) (any, error) {
	b, i, err := q.enqueue(op)
	if err != nil {
		return nil, err
	}
	if cancelled := ctx.Done(); cancelled == nil {
		<-b.done
	} else {
		select {
		case <-b.done:
		case <-cancelled:
			q.leave(b)
			return nil, ctx.Err()
		}
	}
	var result any
	if err = b.err; err == nil {
		result = b.results[i]
	}
	q.leave(b)
	return result, err
}

// enqueue adds op to the open batch, as its i-th.
func (q *queue) enqueue(op Op) (b *batch, i int, err error) {
	scratch, _ := q.scratch.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	encoded := op.AppendTo((*scratch)[:0])
	if len(encoded) > maxOpLen {
		return nil, 0, tooLarge(op, len(encoded))
	}

	q.mu.Lock()
	if q.ended != nil {
		err := q.ended
		q.mu.Unlock()
		return nil, 0, err
	}
	idle := len(q.batches) == 0
	if !idle {
		b = q.batches[len(q.batches)-1]
	}
	if b == nil || len(b.ops) >= q.maxBatch || len(b.buf) >= cutBatchLen {
		b = q.newBatchLocked()
		q.batches = append(q.batches, b)
	}
	i = len(b.ops)
	b.add(op, encoded)
	b.refs.Add(1)
	q.mu.Unlock()

	*scratch = encoded
	q.scratch.Put(scratch)
	if idle {
		q.signal()
	}
	return b, i, nil
}

func tooLarge(op Op, n int) error {
	return fmt.Errorf("%w: %s of %d bytes, the limit is %d", ErrTooLarge, op.KindName(), n, maxOpLen)
}

// signal makes the committer look at the queue.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
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

func (q *queue) newBatchLocked() *batch {
	var b *batch
	if n := len(q.free); n > 0 {
		b = q.free[n-1]
		q.free = q.free[:n-1]
	} else {
		b = new(batch)
	}
	b.clear()
	b.done = make(chan struct{})
	b.refs.Store(1)
	return b
}

// take removes the first batch from the queue; nobody can add to it any more. more: there is another one.
func (q *queue) take() (b *batch, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 {
		return nil, false
	}
	b = q.batches[0]
	n := copy(q.batches, q.batches[1:])
	q.batches[n] = nil
	q.batches = q.batches[:n]
	return b, n > 0
}

// waiting is the number of ops in the batch that is taken next.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 {
		return 0
	}
	return len(q.batches[0].ops)
}

// gather lets callers run until nobody adds to the next batch any more: those just answered come back with their next
// ops. It gives way once more for every time that this was worth it.
func (q *queue) gather() {
	for n := q.waiting(); ; {
		runtime.Gosched()
		now := q.waiting()
		if now == n {
			return
		}
		n = now
	}
}

// answer wakes those who wait for b.
func (q *queue) answer(b *batch, results []any, err error) {
	b.results, b.err = results, err
	close(b.done)
	q.leave(b)
}

// leave gives up one's hold of b.
func (q *queue) leave(b *batch) {
	if b.refs.Add(-1) > 0 {
		return
	}
	b.clear()
	q.mu.Lock()
	if len(q.free) < maxFree {
		q.free = append(q.free, b)
	}
	q.mu.Unlock()
}
