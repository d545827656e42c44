package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// fakeDN is a datanode that keeps replicas in memory. It forwards packets and acks as a real one does.
type fakeDN struct {
	f    *fake
	i    int
	addr string // of the data port
	ipc  string

	mu          sync.Mutex
	replicas    map[uint64]*fakeReplica
	setUps      []*hdfspb.OpWriteBlockProto
	packets     []transfer.Header // as they came, heartbeats too
	reads       int
	refuse      hdfspb.Status // of the next set-up, once
	refuseUntil time.Time
	onPacket    func(transfer.Header) fakeVerdict // decides about each packet
	onRead      func(sent int) bool               // false: goes silent
	finished    map[uint64]bool                   // blocks finalized
}

type fakeReplica struct {
	gs   uint64
	data []byte
	flip int64 // offset of a byte that is sent wrong; -1: none
}

// fakeVerdict is what a datanode does with a packet.
type fakeVerdict int

const (
	takePacket  fakeVerdict = iota
	holdPacket              // neither stored nor acked, nor anything after it
	failPacket              // acked with an error
	leaveClient             // the connection is cut
	restartSoon             // it says that it restarts, and goes
)

func newFakeDN(f *fake, i int) *fakeDN {
	d := &fakeDN{f: f, i: i, replicas: map[uint64]*fakeReplica{}, finished: map[uint64]bool{}}
	host := f.net.Host(d.name())
	l, err := host.Listen("tcp", ":0")
	require.NoError(f.t, err)
	d.addr = l.Addr().String()
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { d.serve(c) })
		}
	})
	ipc, err := host.Listen("tcp", ":0")
	require.NoError(f.t, err)
	d.ipc = ipc.Addr().String()
	s, err := rpc.NewServer(rpc.ServerOptions{}, rpc.Protocol{Name: datanodeProtocol, Version: 1, Methods: []rpc.Method{
		rpc.Handle("getReplicaVisibleLength", d.visibleLength),
	}})
	require.NoError(f.t, err)
	s.Serve(ipc)
	f.t.Cleanup(func() {
		require.NoError(f.t, l.Close())
		require.NoError(f.t, s.Close())
		f.net.Down(d.name())
		conns.Wait()
	})
	return d
}

func (d *fakeDN) name() string { return fmt.Sprintf("dn%d", d.i+1) }
func (d *fakeDN) uuid() string { return d.name() + "-uuid" }

func (d *fakeDN) info() *hdfspb.DatanodeInfoProto {
	ip, port := hostPort(d.addr)
	_, ipc := hostPort(d.ipc)
	return &hdfspb.DatanodeInfoProto{Id: &hdfspb.DatanodeIDProto{
		IpAddr: &ip, HostName: proto.String(d.name()), DatanodeUuid: proto.String(d.uuid()),
		XferPort: &port, InfoPort: proto.Uint32(0), IpcPort: &ipc,
	}}
}

// with runs fn under the datanode's lock.
func (d *fakeDN) with(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn()
}

func (d *fakeDN) cut(block uint64, n int) {
	d.with(func() { d.replicas[block].data = d.replicas[block].data[:n] })
}

func (d *fakeDN) visibleLength(_ context.Context, _ *rpc.Call, r *hdfspb.GetReplicaVisibleLengthRequestProto) (*hdfspb.GetReplicaVisibleLengthResponseProto, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.replicas[r.GetBlock().GetBlockId()]
	if x == nil {
		return nil, dfs.Errorf(dfs.ClassReplicaNotFound, "Replica not found for block %d", r.GetBlock().GetBlockId())
	}
	return &hdfspb.GetReplicaVisibleLengthResponseProto{Length: proto.Uint64(uint64(len(x.data)))}, nil
}

func (d *fakeDN) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		op, err := transfer.ReadOp(r)
		if err != nil {
			return
		}
		switch op {
		case transfer.OpReadBlock:
			var req hdfspb.OpReadBlockProto
			if transfer.ReadMessage(r, &req) != nil || !d.read(c, r, &req) {
				return
			}
		case transfer.OpWriteBlock:
			var req hdfspb.OpWriteBlockProto
			if transfer.ReadMessage(r, &req) == nil {
				d.write(c, r, &req)
			}
			return
		default:
			return
		}
	}
}

// read serves one read and reports whether the connection may be used again.
func (d *fakeDN) read(c net.Conn, r *bufio.Reader, req *hdfspb.OpReadBlockProto) bool {
	d.mu.Lock()
	d.reads++
	x, silent := d.replicas[req.GetHeader().GetBaseHeader().GetBlock().GetBlockId()], d.onRead
	var data []byte
	flip := int64(-1)
	if x != nil {
		data, flip = append(data, x.data...), x.flip
	}
	d.mu.Unlock()
	if x == nil || req.GetOffset()+req.GetLen() > uint64(len(data)) {
		transfer.WriteResponse(c, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR.Enum(), Message: proto.String("no such replica")})
		return false
	}
	if silent != nil && !silent(0) {
		io.Copy(io.Discard, r)
		return false
	}
	sum := transfer.Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
	first := req.GetOffset() / 512 * 512
	transfer.WriteResponse(c, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum(), ReadOpChecksumInfo: &hdfspb.ReadOpChecksumInfoProto{
		Checksum: sum.Proto(), ChunkOffset: &first,
	}})
	end := min((req.GetOffset()+req.GetLen()+511)/512*512, uint64(len(data)))
	buf := transfer.NewPacketBuffer(16*4, 16*512)
	seqno, sent := int64(0), 0
	for off := first; off < end; seqno++ {
		n := copy(buf.Data(), data[off:end])
		sums := sum.Sum(buf.Sums()[:0], buf.Data()[:n])
		if at := flip - int64(off); at >= 0 && at < int64(n) {
			buf.Data()[at] ^= 1
		}
		if _, err := c.Write(buf.Finish(transfer.Header{Offset: int64(off), Seqno: seqno}, n, len(sums))); err != nil {
			return false
		}
		off += uint64(n)
		if sent += n; silent != nil && !silent(sent) {
			io.Copy(io.Discard, r)
			return false
		}
	}
	c.Write(buf.Finish(transfer.Header{Offset: int64(end), Seqno: seqno, Last: true}, 0, 0))
	var status hdfspb.ClientReadStatusProto
	return transfer.ReadMessage(r, &status) == nil
}

// write is one hop of a pipeline.
func (d *fakeDN) write(c net.Conn, r *bufio.Reader, req *hdfspb.OpWriteBlockProto) {
	d.mu.Lock()
	d.setUps = append(d.setUps, req)
	refuse := d.refuse
	if time.Now().Before(d.refuseUntil) {
		refuse = hdfspb.Status_ERROR
	}
	d.refuse = hdfspb.Status_SUCCESS
	d.mu.Unlock()
	fail := func(s hdfspb.Status, bad string) {
		transfer.WriteResponse(c, &hdfspb.BlockOpResponseProto{Status: &s, FirstBadLink: &bad, Message: proto.String("refused")})
	}
	if refuse != hdfspb.Status_SUCCESS {
		fail(refuse, d.addr)
		return
	}
	var mirror net.Conn
	var back *bufio.Reader
	if t := req.GetTargets(); len(t) > 0 {
		next := proto.CloneOf(req)
		next.Targets = t[1:]
		addr := net.JoinHostPort(t[0].GetId().GetIpAddr(), strconv.Itoa(int(t[0].GetId().GetXferPort())))
		var err error
		if mirror, err = d.f.net.Host(d.name()).Dial(context.Background(), "tcp", addr); err != nil {
			fail(hdfspb.Status_ERROR, addr)
			return
		}
		defer mirror.Close()
		back = bufio.NewReader(mirror)
		var resp hdfspb.BlockOpResponseProto
		if err = transfer.WriteOp(mirror, transfer.OpWriteBlock, next); err == nil {
			err = transfer.ReadMessage(back, &resp)
		}
		if err != nil || resp.GetStatus() != hdfspb.Status_SUCCESS {
			fail(hdfspb.Status_ERROR, max(resp.GetFirstBadLink(), addr))
			return
		}
	}
	if !d.begin(req) {
		fail(hdfspb.Status_ERROR, d.addr)
		return
	}
	transfer.WriteResponse(c, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum(), FirstBadLink: proto.String("")})
	if req.GetStage() == recoverClose {
		return
	}
	d.receive(c, r, mirror, back, req)
}

// begin makes the replica ready for what the stage asks.
func (d *fakeDN) begin(req *hdfspb.OpWriteBlockProto) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := req.GetHeader().GetBaseHeader().GetBlock()
	x := d.replicas[b.GetBlockId()]
	switch req.GetStage() {
	case setUpCreate:
		d.replicas[b.GetBlockId()] = &fakeReplica{gs: b.GetGenerationStamp(), flip: -1}
		return true
	case recoverStreams:
		if x == nil || d.finished[b.GetBlockId()] || uint64(len(x.data)) < req.GetMinBytesRcvd() {
			return false
		}
	default:
		if x == nil || uint64(len(x.data)) != req.GetMinBytesRcvd() {
			return false
		}
	}
	x.gs, x.data = req.GetLatestGenerationStamp(), x.data[:req.GetMinBytesRcvd()]
	d.finished[b.GetBlockId()] = req.GetStage() == recoverClose
	return true
}

// receive stores packets, passes them on, and acks them with what comes back.
func (d *fakeDN) receive(c net.Conn, r *bufio.Reader, mirror net.Conn, back *bufio.Reader, req *hdfspb.OpWriteBlockProto) {
	block := req.GetHeader().GetBaseHeader().GetBlock().GetBlockId()
	sum := transfer.Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
	packets := transfer.NewPacketReader(r)
	for {
		p, err := packets.Next()
		if err != nil {
			return
		}
		var verdict fakeVerdict
		d.with(func() {
			d.packets = append(d.packets, p.Header)
			if d.onPacket != nil {
				verdict = d.onPacket(p.Header)
			}
		})
		a := transfer.Ack{Seqno: p.Seqno}
		switch verdict {
		case holdPacket:
			io.Copy(io.Discard, r)
			return
		case leaveClient:
			return
		case failPacket:
			a.Add(hdfspb.Status_ERROR)
		case restartSoon:
			a.Seqno = transfer.RestartSeqno
			a.Add(hdfspb.Status_OOB_RESTART)
		default:
			if sum.Verify(p.Data, p.Sums) != nil {
				return
			}
			a.Add(hdfspb.Status_SUCCESS)
		}
		if mirror != nil && verdict == takePacket {
			var down transfer.Ack
			_, err := mirror.Write(p.Raw())
			if err == nil {
				err = transfer.ReadAck(back, &down)
			}
			if err != nil {
				down = transfer.Ack{}
				down.Add(hdfspb.Status_ERROR)
			}
			for i := range down.Replies {
				a.Add(down.Status(i))
			}
		}
		if verdict == takePacket && !p.Heartbeat() && !d.store(block, p) {
			return
		}
		if _, err := c.Write(transfer.AppendAck(nil, &a)); err != nil || p.Last || verdict != takePacket {
			return
		}
	}
}

// store refuses packets that leave a gap.
func (d *fakeDN) store(block uint64, p *transfer.Packet) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.replicas[block]
	if p.Offset > int64(len(x.data)) {
		return false
	}
	if end := p.Offset + int64(len(p.Data)); end > int64(len(x.data)) {
		x.data = append(x.data[:p.Offset], p.Data...)
	} else {
		copy(x.data[p.Offset:], p.Data)
	}
	d.finished[block] = p.Last
	return true
}
