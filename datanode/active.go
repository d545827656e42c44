package datanode

// hear takes what a namenode says of itself. One that claims to be active is obeyed from now on if its transaction id
// is greater than that of any claim before; an equal one may be an old active that does not know better.
func (d *DataNode) hear(a *actor, active bool, txid int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case active && d.active != a:
		if txid <= d.claim {
			a.log.Warn("datanode: a namenode claims to be active, a newer claim is known", "txid", txid, "known", d.claim)
			return
		}
		a.log.Info("datanode: obeying a namenode", "txid", txid)
		d.active, d.claim = a, txid
	case active:
		d.claim = max(d.claim, txid)
	case d.active == a:
		a.log.Info("datanode: the active namenode gave that up", "txid", txid)
		d.active = nil
	}
}

// forsake obeys a no longer.
func (d *DataNode) forsake(a *actor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active == a {
		d.active = nil
	}
}

// obeyed gives the active namenode, nil if none is known.
func (d *DataNode) obeyed() *actor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.active
}
