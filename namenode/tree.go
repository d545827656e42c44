package namenode

import (
	"context"
	"math"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// errEmptyPath refuses the name of something that is to be made; other calls refuse an empty path as one that is not absolute.
func errEmptyPath() error {
	return dfs.Errorf(dfs.ClassIllegalArgument, "Can not create a Path from an empty string")
}

// mkdirs makes a directory; one that is there already is fine.
func (n *NameNode) mkdirs(ctx context.Context, c *rpc.Call, req *hdfspb.MkdirsRequestProto) (*hdfspb.MkdirsResponseProto, error) {
	if req.GetSrc() == "" {
		return nil, errEmptyPath()
	}
	result, err := n.change(ctx, c, "Cannot create directory ", req.GetSrc(), &namespace.Mkdirs{
		Path: req.GetSrc(), Perm: permFromWire(req.GetMasked()), CreateParent: req.GetCreateParent(),
	})
	if err != nil {
		return nil, err
	}
	return &hdfspb.MkdirsResponseProto{Result: &result.Bool}, nil
}

// delete answers false for a path that does not exist.
func (n *NameNode) delete(ctx context.Context, c *rpc.Call, req *hdfspb.DeleteRequestProto) (*hdfspb.DeleteResponseProto, error) {
	result, err := n.change(ctx, c, "Cannot delete ", req.GetSrc(), &namespace.Delete{Path: req.GetSrc(), Recursive: req.GetRecursive()})
	if err != nil {
		return nil, err
	}
	return &hdfspb.DeleteResponseProto{Result: &result.Bool}, nil
}

// rename is the old call, which the shell uses: false instead of most errors, and a move into a directory that is there.
func (n *NameNode) rename(ctx context.Context, c *rpc.Call, req *hdfspb.RenameRequestProto) (*hdfspb.RenameResponseProto, error) {
	if req.GetDst() == "" {
		return nil, errEmptyPath()
	}
	result, err := n.change(ctx, c, "Cannot rename ", req.GetSrc(), &namespace.Rename{Src: req.GetSrc(), Dst: req.GetDst()})
	if err != nil {
		return nil, err
	}
	return &hdfspb.RenameResponseProto{Result: &result.Bool}, nil
}

func (n *NameNode) rename2(ctx context.Context, c *rpc.Call, req *hdfspb.Rename2RequestProto) (*hdfspb.Rename2ResponseProto, error) {
	if req.GetDst() == "" {
		return nil, errEmptyPath()
	}
	_, err := n.change(ctx, c, "Cannot rename ", req.GetSrc(), &namespace.Rename2{
		Src: req.GetSrc(), Dst: req.GetDst(), Overwrite: req.GetOverwriteDest(), ToTrash: req.GetMoveToTrash(),
	})
	return &hdfspb.Rename2ResponseProto{}, err
}

// concat moves the blocks of the sources to the end of the target and removes the sources.
func (n *NameNode) concat(ctx context.Context, c *rpc.Call, req *hdfspb.ConcatRequestProto) (*hdfspb.ConcatResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot concat ", req.GetTrg(), &namespace.Concat{Target: req.GetTrg(), Sources: req.GetSrcs()})
	return &hdfspb.ConcatResponseProto{}, err
}

// truncate answers false when the last block has to be shortened on the datanodes first.
func (n *NameNode) truncate(ctx context.Context, c *rpc.Call, req *hdfspb.TruncateRequestProto) (*hdfspb.TruncateResponseProto, error) {
	length := req.GetNewLength()
	if length > math.MaxInt64 {
		return nil, dfs.Errorf(dfs.ClassHadoopIllegal, "Cannot truncate to a negative file size: %d.", int64(length))
	}
	path, holder := req.GetSrc(), req.GetClientName()
	op := n.op(c, &namespace.Truncate{Path: path, Length: int64(length), Holder: holder})
	result, err := n.openFile(ctx, c, "Cannot truncate for ", op, path, holder, "TRUNCATE_FILE")
	if err != nil {
		return nil, err
	}
	if !result.Bool && result.Block != nil {
		n.startBlockRecovery(result.Block.BlockInfo)
	}
	return &hdfspb.TruncateResponseProto{Result: &result.Bool}, nil
}
