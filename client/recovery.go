package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

const (
	setUpCreate    = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_CREATE
	setUpAppend    = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_APPEND
	recoverAppend  = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_APPEND_RECOVERY
	recoverStreams = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_STREAMING_RECOVERY
	recoverClose   = hdfspb.OpWriteBlockProto_PIPELINE_CLOSE_RECOVERY
)

// nextBlock makes pipe the pipeline of the block that an append goes on with, or of a new block.
func (s *streamer) nextBlock() error {
	s.rebuilt = 0
	if b := s.reopened; b != nil {
		s.reopened = nil
		s.pipe = newPipeline(s.w, b)
		return s.reconnect(setUpAppend, nil)
	}
	var faults []error
	for {
		b, err := s.addBlock()
		if err != nil {
			return err
		}
		p := newPipeline(s.w, b)
		f := p.connect(setUpCreate, 0)
		if f == nil {
			s.pipe, s.sentAt = p, time.Now()
			return nil
		}
		if s.w.ctx.Err() != nil {
			return cause(s.w.ctx)
		}
		faults = append(faults, f.err)
		s.exclude(p.nodes[f.node], f.err)
		if err := s.abandon(p.block); err != nil {
			return err
		}
		if len(faults) > createRetries {
			return fmt.Errorf("no pipeline for a new block after %d attempts: %w", len(faults), errors.Join(faults...))
		}
	}
}

// addBlock asks for a new block. While the one before the last is not reported by enough datanodes it asks again.
func (s *streamer) addBlock() (*hdfspb.LocatedBlockProto, error) {
	req := &hdfspb.AddBlockRequestProto{
		Src:          &s.w.abs,
		ClientName:   &s.w.holder,
		Previous:     s.last,
		FileId:       &s.w.fileID,
		FavoredNodes: s.favored,
		Flags:        s.flags,
	}
	now := time.Now()
	for id, e := range s.excluded {
		if now.After(e.until) {
			delete(s.excluded, id)
			continue
		}
		req.ExcludeNodes = append(req.ExcludeNodes, e.node)
	}
	for wait, left := completeWait, s.w.c.opt.CompleteTimeout; ; wait = min(2*wait, completeWaitMax) {
		var resp hdfspb.AddBlockResponseProto
		err := s.w.c.nn.call(s.w.ctx, "addBlock", req, &resp)
		if err == nil && len(resp.GetBlock().GetLocs()) == 0 {
			err = fmt.Errorf("the namenode gave block %v without any datanode", newExtendedBlock(resp.GetBlock().GetB()).Block)
		}
		if errors.Is(err, dfs.ClassIO) && len(req.ExcludeNodes) > 0 {
			// better a datanode that failed before than none
			clear(s.excluded)
			req.ExcludeNodes = nil
			continue
		}
		if err == nil || left <= 0 || !errors.Is(err, dfs.ClassNotReplicatedYet) {
			return resp.GetBlock(), err
		}
		wait = min(wait, left)
		left -= wait
		if err := sleep(s.w.ctx, wait); err != nil {
			return nil, err
		}
	}
}

// abandon gives a block back that nothing was written to.
func (s *streamer) abandon(b *hdfspb.ExtendedBlockProto) error {
	return s.w.c.nn.call(s.w.ctx, "abandonBlock", &hdfspb.AbandonBlockRequestProto{
		B:      b,
		Src:    &s.w.abs,
		Holder: &s.w.holder,
		FileId: &s.w.fileID,
	}, &hdfspb.AbandonBlockResponseProto{})
}

// exclude keeps a datanode out of the writer's next blocks.
func (s *streamer) exclude(d *hdfspb.DatanodeInfoProto, err error) {
	s.w.c.log.Warn("client: a datanode is excluded from new blocks", "path", s.w.path, "node", nodeName(d), "err", err)
	s.excluded[d.GetId().GetDatanodeUuid()] = exclusion{node: d, until: time.Now().Add(excludeFor)}
}

// recover rebuilds the pipeline without the node that failed and sends again what is not acked.
func (s *streamer) recover(f *fault) error {
	s.pipe.disconnect()
	s.broken, s.overdue = nil, nil
	s.beat.Reset(heartbeatAfter)
	if s.lastSent {
		if err := s.reconnect(recoverClose, f); err != nil {
			return err
		}
		// the datanodes have finalized their replicas: what was on its way was the end of the block
		return s.ackFirst()
	}
	if err := s.reconnect(recoverStreams, f); err != nil {
		return err
	}
	for _, p := range s.unacked {
		if p.mark == nil && !p.head.Last {
			s.transmit(p)
		}
	}
	return s.sendLast()
}

// reconnect sets the pipeline up without the node of fault f, if there is one, and goes on without further nodes until
// the rest works.
func (s *streamer) reconnect(at stage, f *fault) error {
	restarts := time.Now().Add(restartPatience)
	restarting := f != nil && f.restarting && len(s.pipe.nodes) == 1
	for {
		if f != nil {
			f.restarting = restarting
			if s.w.ctx.Err() != nil {
				return cause(s.w.ctx)
			}
			if s.rebuilt++; s.rebuilt > rebuildRetries && !f.restarting {
				return fmt.Errorf("the pipeline %s of block %v broke %d times in a row: %w", s.pipe.names(), newExtendedBlock(s.pipe.block).Block, s.rebuilt, f.err)
			}
			if err := s.without(f, restarts); err != nil {
				return err
			}
		}
		s.pipe.disconnect()
		err := s.pipe.rebuild(at)
		if err == nil {
			s.sentAt = time.Now()
			return nil
		}
		if f = asFault(err); f == nil {
			return err
		}
		if at == setUpAppend {
			at = recoverAppend
		}
	}
}

// without takes the node of a fault out of the pipeline. One that restarts and is alone is waited for instead.
func (s *streamer) without(f *fault, restarts time.Time) error {
	p := s.pipe
	if f.restarting && time.Now().Before(restarts) {
		return sleep(s.w.ctx, restartWait)
	}
	all := p.names()
	d := p.drop(f.node)
	s.exclude(d, f.err)
	if len(p.nodes) == 0 {
		return fmt.Errorf("all datanodes %s of block %v are bad, nothing is left to write to: %w", all, newExtendedBlock(p.block).Block, f.err)
	}
	s.w.c.log.Warn("client: a pipeline is rebuilt", "path", s.w.path, "block", newExtendedBlock(p.block), "without", nodeName(d), "left", p.names())
	return nil
}
