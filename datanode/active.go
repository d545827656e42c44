package datanode

import "sync"

// allegiance says which namenode is obeyed. Its lock is also held while a command is taken up: once a newer claim is heard,
// no command of the namenode before has an effect.
type allegiance struct {
	mu     sync.Mutex
	active *actor // nil: nobody is obeyed
	claim  int64  // the transaction id with which it claimed that, or the last one did
	reign  uint64 // counts the changes of active: commands of one reign are void in the next
}

// hear takes what a namenode says of itself. One that claims to be active is obeyed from now on if its transaction id is
// greater than that of any claim before; an equal one may be an old active that does not know better. The result is the
// reign in which commands that came with it are valid, 0 where they are not.
func (d *DataNode) hear(a *actor, active bool, txid int64) uint64 {
	l := &d.allegiance
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case active && l.active != a:
		if txid <= l.claim {
			a.log.Warn("datanode: a namenode claims to be active, a newer claim is known", "txid", txid, "known", l.claim)
			return 0
		}
		a.log.Info("datanode: obeying a namenode", "txid", txid)
		l.turnLocked(a)
		l.claim = txid
	case active:
		l.claim = max(l.claim, txid)
	case l.active == a:
		a.log.Info("datanode: the active namenode gave that up", "txid", txid)
		l.turnLocked(nil)
	}
	return l.validLocked(a)
}

func (l *allegiance) turnLocked(to *actor) {
	l.active = to
	l.reign++
}

func (l *allegiance) validLocked(a *actor) uint64 {
	if l.active != a {
		return 0
	}
	return l.reign
}

// reign tells the reign in which commands of a are valid just now, 0: in none.
func (d *DataNode) reign(a *actor) uint64 {
	d.allegiance.mu.Lock()
	defer d.allegiance.mu.Unlock()
	return d.allegiance.validLocked(a)
}

// during calls f, which must not wait for anything, if the reign has not ended.
func (d *DataNode) during(reign uint64, f func()) bool {
	d.allegiance.mu.Lock()
	defer d.allegiance.mu.Unlock()
	if reign == 0 || reign != d.allegiance.reign {
		return false
	}
	f()
	return true
}

// forsake obeys a no longer.
func (d *DataNode) forsake(a *actor) {
	l := &d.allegiance
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == a {
		l.turnLocked(nil)
	}
}

// obeyed gives the active namenode, nil if none is known.
func (d *DataNode) obeyed() *actor {
	d.allegiance.mu.Lock()
	defer d.allegiance.mu.Unlock()
	return d.allegiance.active
}
