package namespace

import "encoding/binary"

// retryCache remembers the answers to calls that must be carried out at most once.
type retryCache struct {
	index map[callKey]*retryEntry
	queue []*retryEntry // in the order of ops; never changed in place but at its ends
}

type callKey struct {
	client [16]byte
	call   int32
}

type retryEntry struct {
	key  callKey
	time int64
	res  Result
}

func (c *retryCache) add(e *retryEntry) {
	if c.index == nil {
		c.index = map[callKey]*retryEntry{}
	}
	c.index[e.key] = e
	c.queue = append(c.queue, e)
}

// remembered reports whether the answer to an op belongs into the retry cache.
func (o *Op) remembered() bool {
	return o.CallID >= 0 && o.ClientID != [16]byte{} && kindTable[o.Kind()].retry
}

func hashCall(o *Op) uint64 {
	h := binary.LittleEndian.Uint64(o.ClientID[:8])*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(o.ClientID[8:])
	h = (h ^ uint64(uint32(o.CallID))) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// recall gives the answer to a call that was carried out before.
func (p *planner) recall(op *Op) *Result {
	if !op.remembered() {
		return nil
	}
	if p.locked {
		p.n.lock.readIndex()
		defer p.n.lock.unreadIndex()
	} else if p.seen.has(p.wave, hashCall(op)) {
		p.again = true
	}
	e := p.n.retry.index[callKey{op.ClientID, op.CallID}]
	if e == nil || p.now-e.time >= p.params.RetryTTL {
		return nil
	}
	return &e.res
}

// remember keeps the answer to a call, and lets go of old ones. The caller holds the indexes.
func (n *Namespace) remember(op *Op, res *Result, now int64) {
	if !op.remembered() {
		return
	}
	p := n.params.Load()
	c := &n.retry
	c.add(&retryEntry{key: callKey{op.ClientID, op.CallID}, time: now, res: *res})
	for len(c.queue) > 0 && (int64(len(c.queue)) > p.RetryMax || now-c.queue[0].time >= p.RetryTTL) {
		old := c.queue[0]
		c.queue = c.queue[1:]
		if c.index[old.key] == old {
			delete(c.index, old.key)
		}
	}
}
