package namespace

import "encoding/binary"

// retryCache remembers the answers to calls that must be carried out at most once. It is bounded by age and number.
// When there are too many, the oldest go first, but the few of a client with few calls are moved aside for a while: a
// busy neighbour shall not make it forget them within a second.
type retryCache struct {
	index   map[callKey]*retryEntry
	clients map[[16]byte]int // entries of each
	queue   []*retryEntry    // oldest first; never changed in place but at its ends
	spared  []*retryEntry    // likewise: older than queue, of small clients
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

// Of the places in the cache, one in spareShare is for spared entries; a client with no more than one in smallShare of
// them is a small one.
const (
	spareShare = 4
	smallShare = 1024
)

// count notes an entry that has been put into one of the queues.
func (c *retryCache) count(e *retryEntry) {
	if c.index == nil {
		c.index, c.clients = map[callKey]*retryEntry{}, map[[16]byte]int{}
	}
	c.index[e.key] = e
	c.clients[e.key.client]++
}

func (c *retryCache) drop(e *retryEntry) {
	if c.index[e.key] == e {
		delete(c.index, e.key)
	}
	if c.clients[e.key.client]--; c.clients[e.key.client] == 0 {
		delete(c.clients, e.key.client)
	}
}

// trim lets go of entries that are too old or too many.
func (c *retryCache) trim(p *Params, now int64) {
	for len(c.spared) > 0 && now-c.spared[0].time >= p.RetryTTL {
		c.drop(c.spared[0])
		c.spared = c.spared[1:]
	}
	for len(c.queue) > 0 && now-c.queue[0].time >= p.RetryTTL {
		c.drop(c.queue[0])
		c.queue = c.queue[1:]
	}
	for int64(len(c.queue)+len(c.spared)) > p.RetryMax {
		if e := c.pop(); int64(c.clients[e.key.client]) <= max(1, p.RetryMax/smallShare) {
			c.spared = append(c.spared, e)
		} else {
			c.drop(e)
		}
		if int64(len(c.spared)) > p.RetryMax/spareShare {
			c.drop(c.spared[0])
			c.spared = c.spared[1:]
		}
	}
}

// pop takes the oldest entry of the queue, or of the spared ones when that is empty.
func (c *retryCache) pop() *retryEntry {
	from := &c.queue
	if len(*from) == 0 {
		from = &c.spared
	}
	e := (*from)[0]
	*from = (*from)[1:]
	return e
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
	return p.n.answer(op, p.now)
}

// answer finds the answer to a call. The caller holds the indexes.
func (n *Namespace) answer(op *Op, now int64) *Result {
	e := n.retry.index[callKey{op.ClientID, op.CallID}]
	if e == nil || now-e.time >= n.params.Load().RetryTTL {
		return nil
	}
	return &e.res
}

// remember keeps the answer to a call. The caller holds the indexes.
func (n *Namespace) remember(op *Op, res *Result, now int64) {
	if !op.remembered() {
		return
	}
	e := &retryEntry{key: callKey{op.ClientID, op.CallID}, time: now, res: *res}
	n.retry.count(e)
	n.retry.queue = append(n.retry.queue, e)
	n.retry.trim(n.params.Load(), now)
}

// Answered gives the answer to a call that was carried out before, as the retry cache has it. Check looks there too;
// this is for calls that are refused for other reasons unless they were answered already.
func (n *Namespace) Answered(op *Op) (Result, bool) {
	if !op.remembered() {
		return Result{}, false
	}
	n.lock.share()
	defer n.lock.unshare()
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	if r := n.answer(op, max(op.Time, n.counters.time)); r != nil {
		return *r, true
	}
	return Result{}, false
}
