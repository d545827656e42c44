package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	locatePage   = 10 * 128 << 20 // bytes of a file whose locations are asked for at once
	locateRounds = 3              // how often they are asked for again when all replicas of a block have failed

	// how often and after which wait an open file is looked at again whose last block no datanode has reported yet
	lastBlockTries = 3
	lastBlockWait  = 4 * time.Second
)

// blockMap knows the length of a file and where its blocks are, page by page, and which datanodes have failed this
// reader.
type blockMap struct {
	c         *Client
	path, abs string
	length    int64 // what can be read, fixed when the file is opened

	mu     sync.Mutex
	blocks []*hdfspb.LocatedBlockProto // by offset, pages that were asked for
	last   *hdfspb.LocatedBlockProto   // the block that is being written, with the length that can be read; or nil
	bad    map[string]bool             // datanodes, by UUID
}

// open asks for the first page and the length.
func (m *blockMap) open(ctx context.Context, op string) error {
	for try := 1; ; try++ {
		l, err := m.c.locate(ctx, op, m.path, m.abs, 0, locatePage)
		if err != nil {
			return err
		}
		m.length = int64(l.GetFileLength())
		m.bad = map[string]bool{}
		if last := l.GetLastBlock(); last != nil && !l.GetIsLastBlockComplete() {
			n, known, err := m.visible(ctx, last)
			if err == nil && !known && try < lastBlockTries {
				if err = sleep(ctx, lastBlockWait); err == nil {
					continue
				}
			}
			if err == nil && !known {
				err = &BlockError{Block: newExtendedBlock(last.GetB()).Block, Offset: int64(last.GetOffset())}
			}
			if err != nil {
				return pathError(op, m.path, err)
			}
			m.length = int64(last.GetOffset()) + n
			last.B.NumBytes = proto.Uint64(uint64(n))
			m.last = last
			m.addLocked([]*hdfspb.LocatedBlockProto{last}) // nobody else has m yet
		}
		m.addLocked(l.GetBlocks())
		return nil
	}
}

// visible asks the datanodes how much of the block that is being written can be read; known is false where the block
// has bytes but no datanode is known yet.
func (m *blockMap) visible(ctx context.Context, b *hdfspb.LocatedBlockProto) (n int64, known bool, err error) {
	if len(b.GetLocs()) == 0 {
		return 0, b.GetB().GetNumBytes() == 0, nil
	}
	missing := 0
	var errs []error
	for _, d := range b.GetLocs() {
		n, err := m.c.visibleLength(ctx, d, b.GetB())
		switch {
		case err == nil:
			return n, true, nil
		case ctx.Err() != nil:
			return 0, true, cause(ctx)
		case errors.Is(err, dfs.ClassReplicaNotFound):
			missing++ // the writer has not reached the datanode yet
		}
		errs = append(errs, &NodeError{Node: nodeName(d), Err: err})
	}
	if missing == len(b.GetLocs()) {
		return 0, true, nil
	}
	return 0, true, fmt.Errorf("no datanode tells the length of block %v, which is being written: %w", newExtendedBlock(b.GetB()).Block, errors.Join(errs...))
}

// visibleLength asks one datanode, at its RPC port.
func (c *Client) visibleLength(ctx context.Context, d *hdfspb.DatanodeInfoProto, b *hdfspb.ExtendedBlockProto) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.DatanodeTimeout)
	defer cancel()
	dn := rpc.NewClient(c.nodeAddr(d.GetId(), d.GetId().GetIpcPort()), rpc.ClientOptions{
		Dial:           c.opt.Dial,
		User:           c.opt.User,
		Protocol:       datanodeProtocol,
		Version:        1,
		ConnectTimeout: c.opt.ConnectTimeout,
		Logger:         c.log,
	})
	defer dn.Close()
	for {
		var resp hdfspb.GetReplicaVisibleLengthResponseProto
		err := dn.Call(ctx, "getReplicaVisibleLength", &hdfspb.GetReplicaVisibleLengthRequestProto{Block: b}, &resp)
		if !errors.Is(err, dfs.ClassRetriable) {
			return int64(resp.GetLength()), err
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// addLocked takes in a page. Newer words on a block replace older ones.
func (m *blockMap) addLocked(page []*hdfspb.LocatedBlockProto) {
	for _, b := range page {
		if m.last != nil && b.GetB().GetBlockId() == m.last.GetB().GetBlockId() {
			b.B.NumBytes = proto.Uint64(m.last.GetB().GetNumBytes())
		}
		if b.GetB().GetNumBytes() == 0 {
			continue
		}
		i, found := slices.BinarySearchFunc(m.blocks, b.GetOffset(), func(x *hdfspb.LocatedBlockProto, off uint64) int {
			return int(int64(x.GetOffset()) - int64(off))
		})
		if found {
			m.blocks[i] = b
		} else {
			m.blocks = slices.Insert(m.blocks, i, b)
		}
	}
}

// at gives the block that holds the byte at off, which is below length.
func (m *blockMap) at(ctx context.Context, off int64) (*hdfspb.LocatedBlockProto, error) {
	m.mu.Lock()
	b := m.findLocked(off)
	m.mu.Unlock()
	if b != nil {
		return b, nil
	}
	return m.refetch(ctx, off, nil)
}

func (m *blockMap) findLocked(off int64) *hdfspb.LocatedBlockProto {
	i, found := slices.BinarySearchFunc(m.blocks, off, func(x *hdfspb.LocatedBlockProto, off int64) int {
		switch start := int64(x.GetOffset()); {
		case off < start:
			return 1
		case off >= start+int64(x.GetB().GetNumBytes()):
			return -1
		}
		return 0
	})
	if found {
		return m.blocks[i]
	}
	return nil
}

// refetch asks for the locations around off, again where old is set: then the block must still be the same.
func (m *blockMap) refetch(ctx context.Context, off int64, old *hdfspb.LocatedBlockProto) (*hdfspb.LocatedBlockProto, error) {
	l, err := m.c.locate(ctx, "read", m.path, m.abs, off, locatePage)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addLocked(l.GetBlocks())
	b := m.findLocked(off)
	switch {
	case b == nil:
		return nil, fmt.Errorf("the namenode knows no block at offset %d, though the file had %d bytes when it was opened", off, m.length)
	case old != nil && b.GetB().GetBlockId() != old.GetB().GetBlockId():
		return nil, fmt.Errorf("the file was replaced: block %v at offset %d is now %v", newExtendedBlock(old.GetB()).Block, off, newExtendedBlock(b.GetB()).Block)
	}
	return b, nil
}

// condemn avoids a datanode from now on.
func (m *blockMap) condemn(d *hdfspb.DatanodeInfoProto) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bad[d.GetId().GetDatanodeUuid()] = true
}

// choose gives a datanode of the block that has not failed, or nil.
func (m *blockMap) choose(b *hdfspb.LocatedBlockProto) *hdfspb.DatanodeInfoProto {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range b.GetLocs() {
		if !m.bad[d.GetId().GetDatanodeUuid()] {
			return d
		}
	}
	return nil
}

// pardon gives every datanode another chance.
func (m *blockMap) pardon() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.bad)
}

// search is the hunt for a datanode that gives one byte; progress begins a new one.
type search struct {
	m      *blockMap
	rounds int
	tried  []*NodeError
}

// open gives a stream of the block at off that ends at limit or with the block. It goes from datanode to datanode, then
// asks for the locations again after growing waits, and gives up with a *BlockError.
func (s *search) open(ctx context.Context, off, limit int64) (*blockReader, error) {
	b, err := s.m.at(ctx, off)
	if err != nil {
		return nil, err
	}
	for {
		start := int64(b.GetOffset())
		end := min(start+int64(b.GetB().GetNumBytes()), limit, s.m.length)
		if d := s.m.choose(b); d != nil {
			r, err := s.m.c.openBlock(ctx, b, d, off-start, end-off)
			if err == nil {
				return r, nil
			}
			if ctx.Err() != nil {
				return nil, cause(ctx)
			}
			s.failed(d, err)
			continue
		}
		failure := &BlockError{Block: newExtendedBlock(b.GetB()).Block, Offset: off, Tried: s.tried}
		if s.rounds == locateRounds || failure.onlyChecksums() && s.rounds > 0 {
			return nil, failure
		}
		if len(s.tried) > 0 && !failure.onlyChecksums() || len(b.GetLocs()) == 0 {
			// 0-1, 1-3, 2-5 units of time
			unit, n := s.m.c.opt.ReadRetryWait, time.Duration(s.rounds)
			if err := sleep(ctx, n*unit+rand.N((n+1)*unit)); err != nil {
				return nil, err
			}
		}
		s.rounds++
		s.tried = nil
		if b, err = s.m.refetch(ctx, off, b); err != nil {
			return nil, err
		}
		s.m.pardon()
	}
}

// failed notes that a datanode could not serve; a reader whose stream broke calls it before it searches on.
func (s *search) failed(d *hdfspb.DatanodeInfoProto, err error) {
	s.m.c.log.Warn("client: a datanode cannot serve a read", "path", s.m.path, "node", nodeName(d), "err", err)
	s.tried = append(s.tried, &NodeError{Node: nodeName(d), Err: err})
	s.m.condemn(d)
}

// broken is failed for a stream; a bad checksum is reported to the namenode.
func (s *search) broken(ctx context.Context, r *blockReader, err error) {
	r.close()
	s.failed(r.node, err)
	var sum *ChecksumError
	if errors.As(err, &sum) {
		s.m.c.reportBad(ctx, r.located, r.node)
	}
}

// progress begins a new search: bytes came.
func (s *search) progress() { s.rounds, s.tried = 0, nil }

// reportBad tells the namenode of a corrupt replica. That it may fail is no matter: the next reader tells it again.
func (c *Client) reportBad(ctx context.Context, b *hdfspb.LocatedBlockProto, d *hdfspb.DatanodeInfoProto) {
	bad := &hdfspb.LocatedBlockProto{
		B:          b.GetB(),
		Offset:     b.Offset,
		Locs:       []*hdfspb.DatanodeInfoProto{d},
		Corrupt:    proto.Bool(false),
		BlockToken: b.GetBlockToken(),
	}
	for i, l := range b.GetLocs() {
		if l == d && i < len(b.GetStorageIDs()) && i < len(b.GetStorageTypes()) {
			bad.StorageIDs = b.GetStorageIDs()[i : i+1]
			bad.StorageTypes = b.GetStorageTypes()[i : i+1]
		}
	}
	err := c.nn.call(ctx, "reportBadBlocks", &hdfspb.ReportBadBlocksRequestProto{Blocks: []*hdfspb.LocatedBlockProto{bad}}, &hdfspb.ReportBadBlocksResponseProto{})
	if err != nil {
		c.log.Warn("client: a corrupt replica could not be reported", "block", newExtendedBlock(b.GetB()), "node", nodeName(d), "err", err)
	}
}

// sleep waits for d, or gives the reason why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return cause(ctx)
	}
}
