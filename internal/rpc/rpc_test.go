package rpc

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

const protocolName = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

type (
	mkdirsReq  = hdfspb.MkdirsRequestProto
	mkdirsResp = hdfspb.MkdirsResponseProto
)

// toy is a protocol of a few methods whose answers tell what arrived.
func toy(more ...Method) Protocol {
	return Protocol{Name: protocolName, Version: 1, Methods: append([]Method{
		Handle("getFileInfo", func(_ context.Context, c *Call, req *hdfspb.GetFileInfoRequestProto) (*hdfspb.GetFileInfoResponseProto, error) {
			if req.GetSrc() == "/absent" {
				return &hdfspb.GetFileInfoResponseProto{}, nil
			}
			return &hdfspb.GetFileInfoResponseProto{Fs: fileStatus(req.GetSrc(), c.User)}, nil
		}).Quick(),
		Refuse("getBlockLocations", dfs.Errorf(dfs.ClassFileNotFound, "File does not exist: /absent")),
		Handle("renewLease", func(context.Context, *Call, *hdfspb.RenewLeaseRequestProto) (*hdfspb.RenewLeaseResponseProto, error) {
			return nil, nil
		}),
		Handle("mkdirs", func(_ context.Context, c *Call, req *mkdirsReq) (*mkdirsResp, error) {
			return nil, dfs.Errorf(dfs.ClassFileNotFound, "File %s does not exist.", req.GetSrc())
		}),
		Refuse("createSymlink", dfs.Errorf(dfs.ClassUnsupported, "Symlinks not supported")),
	}, more...)}
}

func fileStatus(path, owner string) *hdfspb.HdfsFileStatusProto {
	return &hdfspb.HdfsFileStatusProto{
		FileType: hdfspb.HdfsFileStatusProto_IS_FILE.Enum(), Path: []byte(path), Length: proto.Uint64(4),
		Permission: &hdfspb.FsPermissionProto{Perm: proto.Uint32(0o644)}, Owner: &owner, Group: proto.String("g"),
		ModificationTime: proto.Uint64(1), AccessTime: proto.Uint64(2), FileId: proto.Uint64(16386),
	}
}

// start runs a server on loopback TCP and a client of it, both closed with the test.
func start(t testing.TB, o ServerOptions, p Protocol) (*Server, *Client) {
	t.Helper()
	s, err := NewServer(o, p)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Serve(l)
	c := NewClient(l.Addr().String(), ClientOptions{User: "alice", Protocol: p.Name})
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
	})
	return s, c
}

func TestCalls(t *testing.T) {
	_, c := start(t, ServerOptions{}, toy())
	ctx := t.Context()
	var info hdfspb.GetFileInfoResponseProto
	require.NoError(t, c.Call(ctx, "getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: proto.String("/f")}, &info))
	require.Equal(t, "alice", info.GetFs().GetOwner())
	require.NoError(t, c.Call(ctx, "renewLease", &hdfspb.RenewLeaseRequestProto{ClientName: proto.String("x")}, &hdfspb.RenewLeaseResponseProto{}))

	err := c.Call(ctx, "mkdirs", &mkdirsReq{Src: proto.String("/d"), Masked: &hdfspb.FsPermissionProto{Perm: proto.Uint32(0)}, CreateParent: proto.Bool(true)}, nil)
	require.Equal(t, dfs.Errorf(dfs.ClassFileNotFound, "File /d does not exist."), err)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, dfs.Errorf(dfs.ClassUnsupported, "Symlinks not supported"), c.Call(ctx, "createSymlink", nil, nil))
	require.Equal(t, dfs.Errorf(dfs.ClassNoSuchMethod, "Unknown method nope called on %s protocol.", protocolName), c.Call(ctx, "nope", nil, nil))
}

func TestConcurrentCalls(t *testing.T) {
	_, c := start(t, ServerOptions{}, toy())
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 100 {
				var info hdfspb.GetFileInfoResponseProto
				if err := c.Call(t.Context(), "getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: proto.String("/f")}, &info); err != nil {
					t.Error(err)
				}
				err := c.Call(t.Context(), "nope", nil, nil)
				if !errors.Is(err, dfs.ClassNoSuchMethod) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
