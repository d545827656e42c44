package client

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

const (
	completeWait    = 1 * time.Millisecond // the first wait for a report of the last block; then doubled
	completeWaitMax = 3 * time.Second

	createRetries   = 3                // how often a block is given back for another one whose datanodes may be better
	rebuildRetries  = 5                // how often a pipeline is rebuilt without an ack in between
	restartPatience = 30 * time.Second // how long a datanode may take to restart that is alone in its pipeline
	restartWait     = 4 * time.Second  // between two looks at it
	verdictPatience = 5 * time.Second  // how long acks may still come after sending has failed
	maxQueue        = 16               // packets that are filled and not taken yet
)

// streamer sends a writer's packets. One goroutine, run, takes them in order, opens a pipeline for each block, keeps
// what is not acked and sends it again through a rebuilt pipeline.
type streamer struct {
	w       *Writer
	queue   chan *packet
	done    chan struct{} // closed when run has ended; then err and last hold
	err     error
	last    *hdfspb.ExtendedBlockProto // the block before, with its final length
	closing sync.Once

	flags    []hdfspb.AddBlockFlagProto
	favored  []string
	reopened *hdfspb.LocatedBlockProto // the block that an append goes on with

	pipe     *pipeline // nil between blocks
	unacked  []*packet
	lastSent bool      // the packet that ends the block is on its way: everything before it is acked
	sentAt   time.Time // when something was sent last
	beat     *time.Timer
	overdue  *packet // what was not acked when the last heartbeat was sent; nil once it is
	broken   error   // sending failed: only acks are awaited, for a word on the culprit
	rebuilt  int     // pipelines since the last ack
	excluded map[string]exclusion
}

// exclusion keeps a datanode out of new blocks for a while.
type exclusion struct {
	node  *hdfspb.DatanodeInfoProto
	until time.Time
}

func newStreamer(w *Writer, flags CreateFlag) *streamer {
	s := &streamer{
		w:        w,
		queue:    make(chan *packet, min(maxQueue, w.c.opt.Window)),
		done:     make(chan struct{}),
		excluded: map[string]exclusion{},
	}
	if flags.Has(dfs.CreateNoLocalWrite) {
		s.flags = append(s.flags, hdfspb.AddBlockFlagProto_NO_LOCAL_WRITE)
	}
	if flags.Has(dfs.CreateIgnoreLocality) {
		s.flags = append(s.flags, hdfspb.AddBlockFlagProto_IGNORE_CLIENT_LOCALITY)
	}
	return s
}

// packet gives an empty packet.
func (s *streamer) packet(h transfer.Header) *packet {
	p := s.w.c.buffers.Get().(*packet)
	p.head, p.n, p.wire = h, 0, nil
	return p
}

// send hands over a packet. It waits while the queue is full.
func (s *streamer) send(p *packet) error {
	select {
	case s.queue <- p:
		return nil
	case <-s.done:
		return s.failure()
	}
}

// acked waits until everything handed over before is acked, and gives the block that the last of it went to.
func (s *streamer) acked() (BlockID, error) {
	mark := make(chan BlockID, 1)
	if err := s.send(&packet{mark: mark}); err != nil {
		return 0, err
	}
	select {
	case b := <-mark:
		return b, nil
	case <-s.done:
		return 0, s.failure()
	}
}

// close waits until everything is acked and run has ended.
func (s *streamer) close() error {
	s.closing.Do(func() { close(s.queue) })
	<-s.done
	return s.err
}

// failure is why run has ended while there was work.
func (s *streamer) failure() error {
	if s.err != nil {
		return s.err
	}
	return ErrClosed
}

func (s *streamer) run() {
	defer close(s.done)
	s.err = s.loop()
	if s.pipe != nil {
		s.pipe.disconnect()
	}
	if s.w.ctx.Err() != nil && s.err != nil {
		s.err = cause(s.w.ctx)
	}
	if s.err != nil {
		s.w.c.leases.remove(s.w) // nobody may ever call Close
	}
}

func (s *streamer) loop() error {
	s.beat = time.NewTimer(heartbeatAfter)
	defer s.beat.Stop()
	closing := false
	for !closing || len(s.unacked) > 0 {
		queue := s.queue
		if closing || s.broken != nil || s.ending() || len(s.unacked) >= s.w.c.opt.Window {
			queue = nil
		}
		var acks chan ack
		if s.pipe != nil {
			acks = s.pipe.acks
		}
		var err error
		select {
		case p, ok := <-queue:
			if closing = !ok; ok {
				err = s.take(p)
			}
		case a := <-acks:
			err = s.answer(a)
		case <-s.beat.C:
			err = s.idle()
		case <-s.w.ctx.Done():
			err = cause(s.w.ctx)
		}
		if f := asFault(err); f != nil {
			err = s.recover(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ending reports whether the packet that ends the block is the next to be acked or sent: then nothing else is taken.
func (s *streamer) ending() bool {
	n := len(s.unacked)
	return n > 0 && s.unacked[n-1].head.Last
}

// take gets a packet on its way.
func (s *streamer) take(p *packet) error {
	s.unacked = append(s.unacked, p)
	if p.mark != nil {
		s.settle()
		return nil
	}
	if s.pipe == nil {
		if err := s.nextBlock(); err != nil {
			return err
		}
	}
	if p.head.Last {
		return s.sendLast()
	}
	s.transmit(p)
	return nil
}

// sendLast sends the packet that ends the block, once it is the only one. A datanode that has it may have finalized its
// replica, which no longer takes data: everything must be acked before.
func (s *streamer) sendLast() error {
	if s.broken == nil && !s.lastSent && len(s.unacked) == 1 && s.unacked[0].head.Last {
		s.lastSent = true
		s.transmit(s.unacked[0])
	}
	return nil
}

// transmit writes a packet. When that fails the datanodes have the next word: an ack may know which of them is to blame.
func (s *streamer) transmit(p *packet) {
	if s.broken != nil {
		return
	}
	s.sentAt = time.Now()
	s.pipe.sent = max(s.pipe.sent, p.end())
	if _, err := s.pipe.conn.Write(p.wire); err != nil {
		s.broken = err
		s.beat.Reset(verdictPatience)
	}
}

// idle keeps a pipeline alive that nothing was sent through for a while, or ends the wait for the word on a broken one.
func (s *streamer) idle() error {
	switch idle := time.Since(s.sentAt); {
	case s.broken != nil:
		return &fault{err: fmt.Errorf("sending to datanode %s: %w", nodeName(s.pipe.nodes[0]), s.broken)}
	case s.pipe == nil:
		s.beat.Reset(heartbeatAfter)
	case idle < heartbeatAfter:
		s.beat.Reset(heartbeatAfter - idle)
	default:
		s.beat.Reset(heartbeatAfter)
		if len(s.unacked) > 0 {
			s.overdue = s.unacked[0]
		}
		s.transmit(&packet{wire: transfer.AppendHeartbeat(nil)})
	}
	return nil
}

// answer takes in an ack.
func (s *streamer) answer(a ack) error {
	if a.fault != nil {
		if s.broken != nil && a.fault.node == 0 {
			a.fault.err = fmt.Errorf("%w; sending: %w", a.fault.err, s.broken)
		}
		return a.fault
	}
	if a.seqno == transfer.HeartbeatSeqno {
		if p := s.overdue; p != nil { // acks come in order
			return &fault{err: fmt.Errorf("datanode %s acked a heartbeat, but not packet %d, which was sent before", nodeName(s.pipe.nodes[0]), p.head.Seqno)}
		}
		return nil
	}
	if len(s.unacked) == 0 || s.unacked[0].head.Seqno != a.seqno {
		return &fault{err: fmt.Errorf("datanode %s acked packet %d, which is not the next: %w", nodeName(s.pipe.nodes[0]), a.seqno, transfer.ErrMalformed)}
	}
	return s.ackFirst()
}

// ackFirst lets go of the first packet that waits for its ack.
func (s *streamer) ackFirst() error {
	p := s.unacked[0]
	s.unacked = slices.Delete(s.unacked, 0, 1)
	s.rebuilt, s.overdue = 0, nil
	s.pipe.acked = max(s.pipe.acked, p.end())
	if p.head.Last {
		s.last = s.pipe.current()
		s.pipe.disconnect()
		s.pipe, s.lastSent = nil, false
	}
	s.w.c.buffers.Put(p)
	s.settle()
	return s.sendLast()
}

// settle answers the marks that nothing stands before.
func (s *streamer) settle() {
	for len(s.unacked) > 0 && s.unacked[0].mark != nil {
		s.unacked[0].mark <- s.blockID()
		s.unacked = slices.Delete(s.unacked, 0, 1)
	}
}

// blockID is the block that was written to last, 0 if none was.
func (s *streamer) blockID() BlockID {
	switch {
	case s.pipe != nil:
		return BlockID(s.pipe.block.GetBlockId())
	case s.last != nil:
		return BlockID(s.last.GetBlockId())
	}
	return 0
}
