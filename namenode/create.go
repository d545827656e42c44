package namenode

import (
	"context"
	"errors"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// create makes a file and opens it for its client. Not done: encryption, erasure coding.
func (n *NameNode) create(ctx context.Context, c *rpc.Call, req *hdfspb.CreateRequestProto) (*hdfspb.CreateResponseProto, error) {
	if req.GetSrc() == "" {
		return nil, errEmptyPath()
	}
	if name := req.GetEcPolicyName(); name != "" {
		return nil, dfs.Errorf(dfs.ClassHadoopIllegal, "Policy '%s' does not match any enabled erasure coding policies: []. An erasure coding policy can be enabled by enableErasureCodingPolicy API.", name)
	}
	policy := uint8(0)
	if name := req.GetStoragePolicy(); name != "" {
		var err error
		if policy, err = policyByName(name); err != nil {
			return nil, err
		}
	}
	op := n.op(c, &namespace.Create{
		Path: req.GetSrc(), Perm: permFromWire(req.GetMasked()), Holder: req.GetClientName(),
		Flags: dfs.CreateFlag(req.GetCreateFlag()), CreateParent: req.GetCreateParent(),
		Replication: replicationFromWire(req.GetReplication()), BlockSize: int64(req.GetBlockSize()), StoragePolicy: policy,
	})
	result, err := n.openFile(ctx, c, "Cannot create file", op, req.GetSrc(), req.GetClientName(), "CREATE_FILE")
	if err != nil {
		return nil, err
	}
	return &hdfspb.CreateResponseProto{Fs: n.status(result.Status, c.Remote)}, nil
}

// append reopens a closed file. The answer has its last block when that has room left, or when the client asked to go
// on in a new block; the block's replicas become the writer's pipeline.
func (n *NameNode) append(ctx context.Context, c *rpc.Call, req *hdfspb.AppendRequestProto) (*hdfspb.AppendResponseProto, error) {
	path, holder := req.GetSrc(), req.GetClientName()
	newBlock := dfs.CreateFlag(req.GetFlag()).Has(dfs.CreateNewBlock)
	op := n.op(c, &namespace.Append{Path: path, Holder: holder, NewBlock: newBlock})
	if err := n.appendable(path); err != nil {
		if _, answered := n.ns.Answered(op); !answered {
			return nil, err
		}
	}
	result, err := n.openFile(ctx, c, "Cannot append to file", op, path, holder, "APPEND_FILE")
	if err != nil {
		return nil, err
	}
	answer := &hdfspb.AppendResponseProto{Stat: n.status(result.Status, c.Remote)}
	switch {
	case result.Block == nil:
	case newBlock:
		answer.Block = n.unlocated(result.Block.Block)
	default:
		answer.Block = n.locatedBlock(result.Block, c.Remote)
	}
	return answer, nil
}

// appendable refuses while the last block of a closed file has too few live replicas.
func (n *NameNode) appendable(path string) error {
	f, err := n.ns.FileByPath(path)
	if err != nil || f == nil || f.Holder != "" || len(f.Blocks) == 0 {
		return nil // the op itself says what is wrong
	}
	last := f.Blocks[len(f.Blocks)-1].Block
	if n.blocks.Finalized(last) < int(n.o.Limits.MinReplication) {
		return dfs.Errorf(dfs.ClassIO, "append: lastBlock=%v of src=%s is not sufficiently replicated yet.", last, path)
	}
	return nil
}

// openFile carries out a call that takes a file's lease. Where another client holds it and has been silent for the soft
// limit, the lease is taken from it: the call succeeds if nothing needs recovery, and is to be tried again otherwise.
func (n *NameNode) openFile(ctx context.Context, c *rpc.Call, what string, op *namespace.Op, path, holder, verb string) (*namespace.Result, error) {
	result, err := n.carryOut(ctx, c, what, path, op)
	if errors.Is(err, dfs.ClassAlreadyBeingCreated) {
		f, ferr := n.ns.FileByPath(path)
		if ferr != nil || f == nil || f.Holder == holder || !n.leases.expired(f.Holder, n.o.SoftLimit, time.Now()) {
			return nil, err
		}
		c.Yield()
		closed, rerr := n.releaseLease(ctx, f)
		if rerr != nil {
			return nil, rerr
		}
		if !closed {
			return nil, dfs.Errorf(dfs.ClassRecoveryInProgress,
				"Failed to %s %s for %s on %s because lease recovery is in progress. Try again later.", verb, path, holder, c.Remote)
		}
		result, err = n.carryOut(ctx, c, what, path, op)
	}
	if err != nil {
		return nil, err
	}
	n.leases.renew(holder, time.Now())
	return result, nil
}
