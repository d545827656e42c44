package editlog

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// The answers to a member that wishes to lead: the leader hands over, or does not.
const (
	wishRefused = iota
	wishGranted
)

// wish asks the leader to hand over to this member; true: it does, or tries to. A leader that is gone says nothing, which
// must not take long.
func (r *Raft) wish(ctx context.Context, leader string) bool {
	for _, s := range r.servers() {
		if s.ID != raft.ServerID(leader) {
			continue
		}
		id, addr, err := splitAddress(s.Address)
		if err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(ctx, preparePatience)
		defer cancel()
		c, err := r.net.connect(ctx, helloWish, id, addr)
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		if deadline, ok := ctx.Deadline(); ok {
			_ = c.SetDeadline(deadline)
		}
		var answer [1]byte
		_, err = c.Write(appendWish(nil, r.opts.ID))
		if err == nil {
			_, err = io.ReadFull(c, answer[:])
		}
		return err == nil && answer[0] == wishGranted
	}
	return false
}

// serveWish hands over to the member that asks.
func (r *Raft) serveWish(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(helloTimeout))
	id, err := readWish(c)
	if err != nil {
		return
	}
	if !r.Role().Leads || r.begin() != nil {
		_, _ = c.Write([]byte{wishRefused})
		return
	}
	defer r.workers.Done()
	if _, err := c.Write([]byte{wishGranted}); err != nil {
		return
	}
	if err := r.transfer(id); err != nil {
		r.opts.Logger.Info("editlog: a member wishes to lead", "member", r.opts.ID, "wishes", id, "err", err)
	}
}

// appendWish is the id of the member that wishes to lead, after its length.
func appendWish(b []byte, id string) []byte { return append(append(b, byte(len(id))), id...) }

func readWish(r io.Reader) (id string, err error) {
	var n [1]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return "", err
	}
	b := make([]byte, n[0])
	_, err = io.ReadFull(r, b)
	return string(b), err
}
