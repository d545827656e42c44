package namenode

import (
	"io"
	"iter"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// machine is the namespace as the journal sees it.
type machine struct {
	ns    *namespace.Namespace
	moved func() // called when edits were applied, or another state restored
}

func (m machine) Decode(b []byte) (editlog.Op, error) {
	op, err := namespace.DecodeOp(b)
	if err != nil {
		return nil, err
	}
	return op, nil
}

func (m machine) Apply(batch []editlog.Op) []any {
	ops := make([]*namespace.Op, len(batch))
	for i, op := range batch {
		ops[i] = op.(*namespace.Op)
	}
	results := m.ns.Apply(ops)
	m.moved()
	answers := make([]any, len(results))
	for i := range results {
		answers[i] = &results[i]
	}
	return answers
}

func (m machine) Snapshot() (editlog.Snapshot, error) { return image{m.ns.Snapshot()}, nil }

func (m machine) Restore(r io.Reader) error {
	defer m.moved()
	return m.ns.Restore(r)
}

func (m machine) TxID() uint64 { return m.ns.TxID() }

// image is a frozen namespace; the garbage collector releases it.
type image struct{ *namespace.Image }

func (image) Release() {}

// observer tells the block manager what the namespace knows of blocks.
type observer struct{ to *blocks.Manager }

func (o observer) PutBlock(b namespace.BlockInfo) { o.to.PutBlock(blockInfo(b)) }
func (o observer) RemoveBlock(id dfs.BlockID)     { o.to.RemoveBlock(id) }
func (o observer) Reset(all iter.Seq[namespace.BlockInfo]) {
	o.to.Reset(func(yield func(blocks.BlockInfo) bool) {
		for b := range all {
			if !yield(blockInfo(b)) {
				return
			}
		}
	})
}

// blockInfo is what the block manager wants to know of a block.
func blockInfo(b namespace.BlockInfo) blocks.BlockInfo {
	return blocks.BlockInfo{Block: b.Block, File: b.File, State: b.State, Replication: b.Replication, RecoveryID: b.RecoveryID}
}
