package client

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/memnet"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// fake is an HDFS just good enough to hold the client against: namenodes nn1.. with one namespace between them, and
// datanodes dn1.. on an in-memory network. The client's host is "client".
type fake struct {
	t     testing.TB
	net   *memnet.Network
	addrs []string
	dns   []*fakeDN

	mu      sync.Mutex
	files   map[string]*fakeFile
	answers map[string]proto.Message // the retry cache
	calls   []fakeCall
	active  int
	nextID  uint64
	nextGS  uint64
	page    int            // entries of a listing, blocks of a page of locations
	holders map[string]int // renewals by lease holder
	bad     []string       // reported corrupt: block@node
	hooks   map[int]rpc.Hook
	order   func([]int) []int // of the datanodes of a new block
}

type fakeCall struct {
	nn     int
	method string
	id     int32
	retry  int32
	req    proto.Message
}

type fakeFile struct {
	id     uint64
	dir    bool
	open   string // holder of the lease
	rep    int
	bsize  uint64
	blocks []*fakeBlock
}

type fakeBlock struct {
	b     *hdfspb.ExtendedBlockProto
	nodes []int
	size  uint64 // once committed
}

// newFake starts a fake. Everything is down again when the test is over.
func newFake(t testing.TB, namenodes, datanodes int) *fake {
	f := &fake{
		t:       t,
		net:     memnet.New(memnet.Options{OwnIPs: true}),
		files:   map[string]*fakeFile{"/": {id: 1, dir: true}},
		answers: map[string]proto.Message{},
		nextID:  1000,
		nextGS:  1000,
		page:    1000,
		holders: map[string]int{},
		hooks:   map[int]rpc.Hook{},
	}
	for i := range namenodes {
		s, err := rpc.NewServer(rpc.ServerOptions{Hook: f.intercept(i)}, f.protocol())
		require.NoError(t, err)
		l, err := f.net.Host(fmt.Sprintf("nn%d", i+1)).Listen("tcp", ":0")
		require.NoError(t, err)
		s.Serve(l)
		f.addrs = append(f.addrs, l.Addr().String())
		t.Cleanup(func() { require.NoError(t, s.Close()) })
	}
	for i := range datanodes {
		f.dns = append(f.dns, newFakeDN(f, i))
	}
	return f
}

// client makes a client of the fake, closed with the test.
func (f *fake) client(o Options) *Client {
	o.Addrs = f.addrs
	if o.Dial == nil {
		o.Dial = f.net.Host("client").Dial
	}
	if o.User == "" {
		o.User = "alice"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	c, err := New(o)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, c.Close()) })
	return c
}

// intercept notes calls, lets only the active namenode answer, and plays the retry cache.
func (f *fake) intercept(nn int) rpc.Hook {
	return func(ctx context.Context, c *rpc.Call, next rpc.Next) (proto.Message, error) {
		f.mu.Lock()
		f.calls = append(f.calls, fakeCall{nn, c.Method, c.CallID, c.RetryCount, c.Request})
		active := f.active == nn
		hook := f.hooks[nn]
		f.mu.Unlock()
		once := func(ctx context.Context) (proto.Message, error) {
			if c.Method == "getHAServiceState" {
				state := hdfspb.HAServiceStateProto_STANDBY
				if active {
					state = hdfspb.HAServiceStateProto_ACTIVE
				}
				return &hdfspb.HAServiceStateResponseProto{State: &state}, nil
			}
			if !active {
				return nil, dfs.Errorf(dfs.ClassStandby, "Operation category READ is not supported in state standby")
			}
			key := fmt.Sprintf("%x %d", c.ClientID, c.CallID)
			f.mu.Lock()
			m, ok := f.answers[key]
			f.mu.Unlock()
			if ok {
				return m, nil
			}
			m, err := next(ctx)
			if err == nil {
				f.mu.Lock()
				f.answers[key] = m
				f.mu.Unlock()
			}
			return m, err
		}
		if hook != nil {
			return hook(ctx, c, once)
		}
		return once(ctx)
	}
}

// setHook puts a hook before a namenode; nil takes it away.
func (f *fake) setHook(nn int, h rpc.Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[nn] = h
}

func (f *fake) setActive(nn int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = nn
}

// seen gives the calls of a method so far.
func (f *fake) seen(method string) []fakeCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []fakeCall
	for _, c := range f.calls {
		if c.method == method {
			all = append(all, c)
		}
	}
	return all
}

func (f *fake) protocol() rpc.Protocol {
	return rpc.Protocol{Name: clientProtocol, Version: 1, Methods: []rpc.Method{
		rpc.Handle("getHAServiceState", func(context.Context, *rpc.Call, *hdfspb.HAServiceStateRequestProto) (*hdfspb.HAServiceStateResponseProto, error) {
			return nil, nil
		}),
		handle(f, "getServerDefaults", f.serverDefaults),
		handle(f, "getFileInfo", f.getFileInfo),
		handle(f, "getListing", f.getListing),
		handle(f, "mkdirs", f.mkdirs),
		handle(f, "delete", f.delete),
		handle(f, "rename2", f.rename2),
		handle(f, "create", f.create),
		handle(f, "append", f.append),
		handle(f, "truncate", f.truncate),
		handle(f, "addBlock", f.addBlock),
		handle(f, "abandonBlock", f.abandonBlock),
		handle(f, "complete", f.complete),
		handle(f, "updateBlockForPipeline", f.updateBlockForPipeline),
		handle(f, "updatePipeline", f.updatePipeline),
		handle(f, "getBlockLocations", f.getBlockLocations),
		handle(f, "fsync", func(*hdfspb.FsyncRequestProto) (*hdfspb.FsyncResponseProto, error) { return nil, nil }),
		handle(f, "checkAccess", func(*hdfspb.CheckAccessRequestProto) (*hdfspb.CheckAccessResponseProto, error) { return nil, nil }),
		handle(f, "isFileClosed", func(r *hdfspb.IsFileClosedRequestProto) (*hdfspb.IsFileClosedResponseProto, error) {
			n, err := f.fileLocked(r.GetSrc())
			return &hdfspb.IsFileClosedResponseProto{Result: proto.Bool(err == nil && n.open == "")}, err
		}),
		handle(f, "renewLease", func(r *hdfspb.RenewLeaseRequestProto) (*hdfspb.RenewLeaseResponseProto, error) {
			f.holders[r.GetClientName()]++
			return nil, nil
		}),
		handle(f, "reportBadBlocks", func(r *hdfspb.ReportBadBlocksRequestProto) (*hdfspb.ReportBadBlocksResponseProto, error) {
			for _, b := range r.GetBlocks() {
				f.bad = append(f.bad, fmt.Sprintf("%d@%s", b.GetB().GetBlockId(), b.GetLocs()[0].GetId().GetHostName()))
			}
			return nil, nil
		}),
	}}
}

// handle makes a method that runs under the lock.
func handle[Req, Resp any, PReq interface {
	*Req
	proto.Message
}, PResp interface {
	*Resp
	proto.Message
}](f *fake, name string, do func(*Req) (*Resp, error)) rpc.Method {
	return rpc.Handle[Req, Resp, PReq, PResp](name, func(_ context.Context, _ *rpc.Call, r *Req) (*Resp, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return do(r)
	})
}

func (f *fake) fileLocked(path string) (*fakeFile, error) {
	n := f.files[path]
	if n == nil || n.dir {
		return nil, dfs.Errorf(dfs.ClassFileNotFound, "File does not exist: %s", path)
	}
	return n, nil
}

func (n *fakeFile) length() (total uint64) {
	for _, b := range n.blocks {
		total += b.size
	}
	return total
}

func (n *fakeFile) status(name string) *hdfspb.HdfsFileStatusProto {
	s := &hdfspb.HdfsFileStatusProto{
		FileType: hdfspb.HdfsFileStatusProto_IS_FILE.Enum(), Path: []byte(name), Length: proto.Uint64(n.length()),
		Permission: fromMode(0o644), Owner: proto.String("alice"), Group: proto.String("staff"),
		ModificationTime: proto.Uint64(1e12), AccessTime: proto.Uint64(1e12),
		BlockReplication: proto.Uint32(uint32(n.rep)), Blocksize: &n.bsize, FileId: &n.id,
	}
	if n.dir {
		s.FileType, s.Permission = hdfspb.HdfsFileStatusProto_IS_DIR.Enum(), fromMode(0o755)
	}
	return s
}

func (f *fake) serverDefaults(*hdfspb.GetServerDefaultsRequestProto) (*hdfspb.GetServerDefaultsResponseProto, error) {
	return &hdfspb.GetServerDefaultsResponseProto{ServerDefaults: &hdfspb.FsServerDefaultsProto{
		BlockSize: proto.Uint64(128 << 20), BytesPerChecksum: proto.Uint32(512), WritePacketSize: proto.Uint32(65536),
		Replication: proto.Uint32(3), FileBufferSize: proto.Uint32(4096),
	}}, nil
}

func (f *fake) getFileInfo(r *hdfspb.GetFileInfoRequestProto) (*hdfspb.GetFileInfoResponseProto, error) {
	resp := &hdfspb.GetFileInfoResponseProto{}
	if n := f.files[r.GetSrc()]; n != nil {
		resp.Fs = n.status("")
	}
	return resp, nil
}

// below gives the names in a directory, in byte order.
func (f *fake) below(dir string) []string {
	dir = strings.TrimSuffix(dir, "/") + "/"
	var names []string
	for p := range f.files {
		if rest, ok := strings.CutPrefix(p, dir); ok && rest != "" && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

func (f *fake) getListing(r *hdfspb.GetListingRequestProto) (*hdfspb.GetListingResponseProto, error) {
	n := f.files[r.GetSrc()]
	if n == nil {
		return &hdfspb.GetListingResponseProto{}, nil
	}
	list := &hdfspb.DirectoryListingProto{RemainingEntries: proto.Uint32(0)}
	if !n.dir {
		list.PartialListing = append(list.PartialListing, n.status(""))
		return &hdfspb.GetListingResponseProto{DirList: list}, nil
	}
	for _, name := range f.below(r.GetSrc()) {
		switch {
		case name <= string(r.GetStartAfter()):
		case len(list.PartialListing) == f.page:
			*list.RemainingEntries++
		default:
			list.PartialListing = append(list.PartialListing, f.files[strings.TrimSuffix(r.GetSrc(), "/")+"/"+name].status(name))
		}
	}
	return &hdfspb.GetListingResponseProto{DirList: list}, nil
}

func (f *fake) mkdirs(r *hdfspb.MkdirsRequestProto) (*hdfspb.MkdirsResponseProto, error) {
	for p := r.GetSrc(); f.files[p] == nil; p = parent(p) {
		f.nextID++
		f.files[p] = &fakeFile{id: f.nextID, dir: true}
	}
	return &hdfspb.MkdirsResponseProto{Result: proto.Bool(true)}, nil
}

func parent(p string) string {
	return "/" + strings.TrimPrefix(p[:strings.LastIndex(p, "/")], "/")
}

func (f *fake) delete(r *hdfspb.DeleteRequestProto) (*hdfspb.DeleteResponseProto, error) {
	found := f.files[r.GetSrc()] != nil
	if found && !r.GetRecursive() && len(f.below(r.GetSrc())) > 0 {
		return nil, dfs.Errorf(dfs.ClassPathIsNotEmpty, "`%s is non empty': Directory is not empty", r.GetSrc())
	}
	maps.DeleteFunc(f.files, func(p string, _ *fakeFile) bool {
		return p == r.GetSrc() || strings.HasPrefix(p, r.GetSrc()+"/")
	})
	return &hdfspb.DeleteResponseProto{Result: &found}, nil
}

func (f *fake) rename2(r *hdfspb.Rename2RequestProto) (*hdfspb.Rename2ResponseProto, error) {
	n := f.files[r.GetSrc()]
	switch {
	case n == nil:
		return nil, dfs.Errorf(dfs.ClassFileNotFound, "rename source %s is not found.", r.GetSrc())
	case f.files[r.GetDst()] != nil && !r.GetOverwriteDest():
		return nil, dfs.Errorf(dfs.ClassFileAlreadyExists, "rename destination %s already exists", r.GetDst())
	}
	delete(f.files, r.GetSrc())
	f.files[r.GetDst()] = n
	return nil, nil
}

func hostPort(addr string) (string, uint32) {
	h, p, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(p)
	return h, uint32(n)
}

func (f *fake) renewals(holder string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.holders[holder]
}
