package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// stage says what a pipeline is set up for.
type stage = hdfspb.OpWriteBlockProto_BlockConstructionStage

// pipeline is the block that is being written and the datanodes that take it, the first of which the client speaks to.
// The streamer's goroutine owns it; one goroutine of its own reads acks while it is connected.
type pipeline struct {
	w     *Writer
	block *hdfspb.ExtendedBlockProto // with the generation stamp in force
	token *hdfspb.TokenProto
	nodes []*hdfspb.DatanodeInfoProto
	types []hdfspb.StorageTypeProto
	ids   []string
	acked int64 // bytes of the block that every datanode has
	sent  int64

	conn   *dataConn // nil: not connected
	acks   chan ack  // of conn; closed when its reader has ended
	unhook func() bool
}

// ack is what became of a packet: good, or the fault that ends the connection.
type ack struct {
	seqno int64
	fault *fault
}

// fault is what breaks a pipeline, and at which node.
type fault struct {
	node       int
	restarting bool // it told us so: it will be back
	err        error
}

func (f *fault) Error() string { return f.err.Error() }

// Unwrap gives the cause.
func (f *fault) Unwrap() error { return f.err }

// newPipeline takes over the datanodes and the block that the namenode chose.
func newPipeline(w *Writer, b *hdfspb.LocatedBlockProto) *pipeline {
	p := &pipeline{
		w:     w,
		block: b.GetB(),
		token: b.GetBlockToken(),
		nodes: b.GetLocs(),
		types: b.GetStorageTypes(),
		ids:   b.GetStorageIDs(),
	}
	for len(p.types) < len(p.nodes) {
		p.types = append(p.types, hdfspb.StorageTypeProto_DISK)
	}
	for len(p.ids) < len(p.nodes) {
		p.ids = append(p.ids, "")
	}
	p.acked = int64(b.GetB().GetNumBytes())
	p.sent = p.acked
	return p
}

// drop takes a datanode out.
func (p *pipeline) drop(i int) *hdfspb.DatanodeInfoProto {
	d := p.nodes[i]
	p.nodes = append(p.nodes[:i:i], p.nodes[i+1:]...)
	p.types = append(p.types[:i:i], p.types[i+1:]...)
	p.ids = append(p.ids[:i:i], p.ids[i+1:]...)
	return d
}

// names lists the datanodes for errors and logs.
func (p *pipeline) names() string {
	s := make([]string, len(p.nodes))
	for i, d := range p.nodes {
		s[i] = nodeName(d)
	}
	return "[" + strings.Join(s, " ") + "]"
}

// timeout is how long the first datanode may be silent: those behind it must find each other out before.
func (p *pipeline) timeout() time.Duration {
	return p.w.c.opt.DatanodeTimeout + time.Duration(len(p.nodes))*nodeGrace
}

// connect sets the pipeline up. stamp is the generation stamp that replicas get, 0 for that of the block.
func (p *pipeline) connect(s stage, stamp uint64) *fault {
	ctx := p.w.ctx
	conn, err := p.w.c.dial(ctx, p.nodes[0])
	if err != nil {
		return &fault{err: fmt.Errorf("no connection to datanode %s: %w", nodeName(p.nodes[0]), err)}
	}
	unhook := p.w.c.endWith(ctx, conn)
	if f := p.setUp(conn, s, stamp); f != nil {
		unhook()
		conn.Close()
		return f
	}
	p.conn, p.unhook = conn, unhook
	p.acks = make(chan ack, p.w.c.opt.Window+16)
	go p.readAcks(conn, len(p.nodes), p.acks)
	return nil
}

func (p *pipeline) setUp(conn *dataConn, s stage, stamp uint64) *fault {
	block := proto.CloneOf(p.block)
	block.NumBytes = proto.Uint64(uint64(p.w.blockSize))
	err := transfer.WriteOp(conn, transfer.OpWriteBlock, &hdfspb.OpWriteBlockProto{
		Header: &hdfspb.ClientOperationHeaderProto{
			BaseHeader: &hdfspb.BaseHeaderProto{Block: block, Token: p.token},
			ClientName: &p.w.holder,
		},
		Targets:               p.nodes[1:],
		Stage:                 s.Enum(),
		PipelineSize:          proto.Uint32(uint32(len(p.nodes))),
		MinBytesRcvd:          proto.Uint64(uint64(p.acked)),
		MaxBytesRcvd:          proto.Uint64(uint64(p.sent)),
		LatestGenerationStamp: &stamp,
		RequestedChecksum:     p.w.sum.Proto(),
		StorageType:           p.types[0].Enum(),
		TargetStorageTypes:    p.types[1:],
		AllowLazyPersist:      proto.Bool(p.w.lazyPersist),
		StorageId:             &p.ids[0],
		TargetStorageIds:      p.ids[1:],
	})
	if err == nil {
		err = conn.expect(p.timeout())
	}
	var resp hdfspb.BlockOpResponseProto
	if err == nil {
		err = transfer.ReadMessage(conn.r, &resp)
	}
	if err != nil {
		return &fault{err: fmt.Errorf("no answer of datanode %s to the set-up of the pipeline %s: %w", nodeName(p.nodes[0]), p.names(), err)}
	}
	if resp.GetStatus() == hdfspb.Status_SUCCESS {
		return nil
	}
	f := &fault{restarting: resp.GetStatus() == hdfspb.Status_OOB_RESTART}
	for i, d := range p.nodes {
		if nodeName(d) == resp.GetFirstBadLink() {
			f.node = i
		}
	}
	f.err = fmt.Errorf("datanode %s of the pipeline %s cannot be set up: %w", nodeName(p.nodes[f.node]), p.names(), opError(&resp))
	return f
}

// readAcks passes on acks until one tells of a fault or the connection fails. Then it closes the connection, since the
// streamer may be stuck in a write to it.
func (p *pipeline) readAcks(conn *dataConn, nodes int, acks chan<- ack) {
	defer close(acks)
	give := func(f *fault) { conn.Close(); acks <- ack{fault: f} }
	timeout := p.w.c.opt.DatanodeTimeout + time.Duration(nodes)*nodeGrace
	var a transfer.Ack
	for {
		err := conn.expect(timeout)
		if err == nil {
			err = transfer.ReadAck(conn.r, &a)
		}
		if err != nil {
			give(&fault{err: fmt.Errorf("no ack of the pipeline's first datanode: %w", err)})
			return
		}
		if i, status := a.Bad(); i >= 0 {
			f := &fault{node: min(i, nodes-1), restarting: status == hdfspb.Status_OOB_RESTART}
			f.err = fmt.Errorf("the ack of packet %d says %v for datanode %d of the pipeline", a.Seqno, status, i)
			give(f)
			return
		}
		if a.Seqno >= 0 || a.Seqno == transfer.HeartbeatSeqno {
			acks <- ack{seqno: a.Seqno}
		}
	}
}

// disconnect closes the connection and waits for the goroutine that reads it.
func (p *pipeline) disconnect() {
	if p.conn == nil {
		return
	}
	p.unhook()
	p.conn.Close()
	for range p.acks {
	}
	p.conn, p.acks = nil, nil
}

// current gives the block with its length and the generation stamp in force.
func (p *pipeline) current() *hdfspb.ExtendedBlockProto {
	b := proto.CloneOf(p.block)
	b.NumBytes = proto.Uint64(uint64(p.acked))
	return b
}

// restamp asks for a new generation stamp for the block.
func (p *pipeline) restamp() (uint64, error) {
	var resp hdfspb.UpdateBlockForPipelineResponseProto
	err := p.w.c.nn.call(p.w.ctx, "updateBlockForPipeline", &hdfspb.UpdateBlockForPipelineRequestProto{
		Block:      p.current(),
		ClientName: &p.w.holder,
	}, &resp)
	if err != nil {
		return 0, err
	}
	p.token = resp.GetBlock().GetBlockToken()
	return resp.GetBlock().GetB().GetGenerationStamp(), nil
}

// announce tells the namenode which datanodes have the block under the new generation stamp.
func (p *pipeline) announce(stamp uint64) error {
	old, next := p.current(), p.current()
	next.GenerationStamp = &stamp
	nodes := make([]*hdfspb.DatanodeIDProto, len(p.nodes))
	for i, d := range p.nodes {
		nodes[i] = d.GetId()
	}
	err := p.w.c.nn.call(p.w.ctx, "updatePipeline", &hdfspb.UpdatePipelineRequestProto{
		ClientName: &p.w.holder,
		OldBlock:   old,
		NewBlock:   next,
		NewNodes:   nodes,
		StorageIDs: p.ids,
	}, &hdfspb.UpdatePipelineResponseProto{})
	if err == nil {
		p.block.GenerationStamp = &stamp
	}
	return err
}

// rebuild sets the pipeline up again, or for the first time for an append: new generation stamp, set-up, announcement. A
// *fault may be survived by dropping its node, any other error is final.
func (p *pipeline) rebuild(s stage) error {
	stamp, err := p.restamp()
	if err != nil {
		return err
	}
	if f := p.connect(s, stamp); f != nil {
		return f
	}
	return p.announce(stamp)
}

// asFault gives the *fault in err, or nil.
func asFault(err error) *fault {
	var f *fault
	errors.As(err, &f)
	return f
}
