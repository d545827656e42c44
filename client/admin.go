package client

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// SafeMode reports whether the namenode is in safe mode: nothing may be changed then.
func (c *Client) SafeMode(ctx context.Context) (bool, error) {
	return c.safeMode(ctx, hdfspb.SafeModeActionProto_SAFEMODE_GET)
}

// SetSafeMode enters or leaves safe mode, and gives the state afterwards; only the superuser may.
func (c *Client) SetSafeMode(ctx context.Context, on bool) (bool, error) {
	if on {
		return c.safeMode(ctx, hdfspb.SafeModeActionProto_SAFEMODE_ENTER)
	}
	return c.safeMode(ctx, hdfspb.SafeModeActionProto_SAFEMODE_LEAVE)
}

func (c *Client) safeMode(ctx context.Context, a hdfspb.SafeModeActionProto) (bool, error) {
	var resp hdfspb.SetSafeModeResponseProto
	err := c.call(ctx, "safemode", "/", "setSafeMode", &hdfspb.SetSafeModeRequestProto{Action: &a, Checked: proto.Bool(true)}, &resp)
	return resp.GetResult(), err
}

// NodeFilter says which datanodes DatanodeReport lists.
type NodeFilter int

// The filters, numbered as on the wire.
const (
	AllNodes NodeFilter = iota + 1
	LiveNodes
	DeadNodes
	DecommissioningNodes
	EnteringMaintenanceNodes
	InMaintenanceNodes
)

// DatanodeReport gives the datanodes as the namenode sees them; only the superuser may ask.
func (c *Client) DatanodeReport(ctx context.Context, f NodeFilter) ([]Datanode, error) {
	var resp hdfspb.GetDatanodeReportResponseProto
	err := c.call(ctx, "datanodereport", "/", "getDatanodeReport", &hdfspb.GetDatanodeReportRequestProto{
		Type: hdfspb.DatanodeReportTypeProto(f).Enum(),
	}, &resp)
	if err != nil {
		return nil, err
	}
	all := make([]Datanode, len(resp.GetDi()))
	for i, d := range resp.GetDi() {
		all[i] = newDatanode(d)
	}
	return all, nil
}

// OpenFile is a file that somebody has open for writing.
type OpenFile struct {
	ID     int64
	Path   string
	Holder string // of the lease
	Host   string
}

// OpenFiles gives the files under a path that are open for writing, page by page; only the superuser may ask.
func (c *Client) OpenFiles(ctx context.Context, path string) iter.Seq2[OpenFile, error] {
	return func(yield func(OpenFile, error) bool) {
		p := c.abs(path)
		for id, more := int64(0), true; more; {
			var resp hdfspb.ListOpenFilesResponseProto
			err := c.call(ctx, "openfiles", path, "listOpenFiles", &hdfspb.ListOpenFilesRequestProto{
				Id:    &id,
				Types: []hdfspb.OpenFilesTypeProto{hdfspb.OpenFilesTypeProto_ALL_OPEN_FILES},
				Path:  &p,
			}, &resp)
			if err != nil {
				yield(OpenFile{}, err)
				return
			}
			for _, e := range resp.GetEntries() {
				id = e.GetId()
				if !yield(OpenFile{ID: id, Path: e.GetPath(), Holder: e.GetClientName(), Host: e.GetClientMachine()}, nil) {
					return
				}
			}
			more = resp.GetHasMore() && len(resp.GetEntries()) > 0
		}
	}
}

// CorruptFiles gives the files under a path that have a block without any good replica, page by page; only the superuser
// may ask.
func (c *Client) CorruptFiles(ctx context.Context, path string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		p := c.abs(path)
		var cookie *string
		for {
			var resp hdfspb.ListCorruptFileBlocksResponseProto
			err := c.call(ctx, "corruptfiles", path, "listCorruptFileBlocks", &hdfspb.ListCorruptFileBlocksRequestProto{Path: &p, Cookie: cookie}, &resp)
			if err != nil {
				yield("", err)
				return
			}
			if len(resp.GetCorrupt().GetFiles()) == 0 {
				return
			}
			for _, f := range resp.GetCorrupt().GetFiles() {
				if !yield(f, nil) {
					return
				}
			}
			cookie = proto.String(resp.GetCorrupt().GetCookie())
		}
	}
}

// SaveNamespace makes the namenode write an image of its state. It must be in safe mode; only the superuser may.
func (c *Client) SaveNamespace(ctx context.Context) error {
	return c.call(ctx, "savenamespace", "/", "saveNamespace", &hdfspb.SaveNamespaceRequestProto{}, &hdfspb.SaveNamespaceResponseProto{})
}

// RefreshNodes makes the namenode read the lists of datanodes again; only the superuser may.
func (c *Client) RefreshNodes(ctx context.Context) error {
	return c.call(ctx, "refreshnodes", "/", "refreshNodes", &hdfspb.RefreshNodesRequestProto{}, &hdfspb.RefreshNodesResponseProto{})
}

// Msync waits until the namenode that is asked has caught up with the active one.
func (c *Client) Msync(ctx context.Context) error {
	return c.call(ctx, "msync", "/", "msync", &hdfspb.MsyncRequestProto{}, &hdfspb.MsyncResponseProto{})
}

// NameNodeState is what one namenode says about itself.
type NameNodeState struct {
	Addr  string
	State string // ACTIVE, STANDBY, OBSERVER, INITIALIZING; "" with Err
	Err   error
}

// NameNodes asks each namenode for its state, once.
func (c *Client) NameNodes(ctx context.Context) []NameNodeState {
	states := make([]NameNodeState, len(c.nn.conns))
	done := make(chan struct{})
	for i, conn := range c.nn.conns {
		go func() {
			var resp hdfspb.HAServiceStateResponseProto
			err := conn.CallAs(ctx, rpc.CallID{ID: c.nn.nextID()}, "getHAServiceState", &hdfspb.HAServiceStateRequestProto{}, &resp)
			states[i] = NameNodeState{Addr: c.opt.Addrs[i], Err: plain(err)}
			if err == nil {
				states[i].State = resp.GetState().String()
			}
			done <- struct{}{}
		}()
	}
	for range states {
		<-done
	}
	return states
}
