package rpc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// outbox writes the frames of one connection, each whole. Whoever finds nobody writing writes; frames that come
// meanwhile queue up and leave together in the next write of that same goroutine.
type outbox struct {
	conn     net.Conn
	pool     *buffers
	patience time.Duration // how long send itself may wait for the peer, 0 is for ever; then rest takes over
	rest     func()        // has a goroutine call drain
	limit    int64         // of the bytes that wait for the peer, 0: none

	mu      sync.Mutex
	queue   *[]byte // nil: empty
	left    []byte  // what a write that ran out of patience left over
	writing bool
	ending  bool  // the queue is the last that is written
	err     error // the first failure, or errEnded: nothing is written after it
	queued  int64 // bytes given to send since the connection began
	taken   int64 // bytes of these that the connection took
	started int64 // taken, and what the write under way may get across
}

// errEnded is what send returns once the last frame has been written: the connection is to be closed.
var errEnded = errors.New("rpc: connection ended by its last answer")

// send writes the frame or queues it; it is free for reuse afterwards. end is the frame's place in the stream.
func (o *outbox) send(frame []byte) (end int64, err error) { return o.add(frame, false) }

// sendLast is send of the last frame. One call of send or sendLast returns errEnded when all is written.
func (o *outbox) sendLast(frame []byte) error {
	_, err := o.add(frame, true)
	return err
}

func (o *outbox) add(frame []byte, last bool) (end int64, err error) {
	o.mu.Lock()
	if o.err == nil && o.ending {
		o.mu.Unlock()
		return 0, nil // nobody wants it any more, and the writer closes the connection
	}
	if err = o.err; err == nil && o.limit > 0 && o.queued-o.taken > o.limit {
		err = fmt.Errorf("the peer leaves %d bytes unread", o.queued-o.taken)
	}
	if err != nil {
		o.mu.Unlock()
		return 0, err
	}
	o.ending = last
	o.queued += int64(len(frame))
	end = o.queued
	if o.writing || o.queue != nil {
		o.pushLocked(frame)
		frame = nil
	}
	if o.writing {
		o.mu.Unlock()
		return end, nil
	}
	o.writing = true
	o.started += int64(len(frame))
	o.mu.Unlock()
	return end, o.write(frame, o.patience)
}

// push queues a frame for the next send.
func (o *outbox) push(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queued += int64(len(frame))
	o.pushLocked(frame)
}

func (o *outbox) pushLocked(frame []byte) {
	if o.queue == nil {
		o.queue = o.pool.get()
	}
	*o.queue = append(*o.queue, frame...)
}

// drain goes on where a send lost its patience.
func (o *outbox) drain() error {
	o.mu.Lock()
	left := o.left
	o.left = nil
	o.started += int64(len(left))
	o.mu.Unlock()
	return o.write(left, 0)
}

// write writes b and then the queue until it is empty. The caller has taken the writing and counted b as started.
func (o *outbox) write(b []byte, patience time.Duration) error {
	var taken *[]byte
	for {
		n, err := 0, error(nil)
		if len(b) > 0 {
			if o.patience > 0 {
				var deadline time.Time
				if patience > 0 {
					deadline = time.Now().Add(patience)
				}
				_ = o.conn.SetWriteDeadline(deadline) // fails only on a closed connection, and so does Write
			}
			n, err = o.conn.Write(b)
		}
		o.mu.Lock()
		o.taken += int64(n)
		o.started = o.taken
		if err != nil && patience > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			o.left = append([]byte(nil), b[n:]...)
			o.mu.Unlock()
			o.rest()
			return nil
		}
		if err != nil {
			o.err = err
			o.mu.Unlock()
			return err
		}
		if taken != nil {
			o.pool.put(taken)
		}
		if taken = o.queue; taken == nil {
			o.writing = false
			if o.ending {
				o.err = errEnded
			}
			err = o.err
			o.mu.Unlock()
			return err
		}
		o.queue = nil
		b = *taken
		o.started += int64(len(b))
		o.mu.Unlock()
	}
}

// backlog is how many bytes wait for the peer.
func (o *outbox) backlog() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued - o.taken
}

// sent reports whether the stream up to end may have got across.
func (o *outbox) sent(end int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.started >= end
}
