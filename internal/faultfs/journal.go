package faultfs

// The bounds of what a power loss can undo. Beyond them the oldest changes become durable, as they do on a real disk
// after some seconds.
const (
	maxChanges = 4096
	maxHeld    = 64 << 20 // bytes of removed files
)

// change is one operation on names that is not durable yet. from is unset when the node was made by it, to when it was
// removed; a move has both. old is the file that a move replaced.
type change struct {
	from, to   slot
	node, old  *node
	prev, next *change
}

// String says what was done, by the names in the directories.
func (c *change) String() string {
	switch {
	case c.from.dir == nil:
		return "creation of " + c.to.name
	case c.to.dir == nil:
		return "removal of " + c.from.name
	case c.old != nil:
		return "rename of " + c.from.name + " over " + c.to.name
	}
	return "rename of " + c.from.name + " to " + c.to.name
}

// removed is the node whose bytes the change took away, if any.
func (c *change) removed() *node {
	if c.to.dir == nil {
		return c.node
	}
	return c.old
}

// journal is the list of the changes that are not durable, in order. Disk.mu guards it.
type journal struct {
	first, last *change
	len         int
	held        int64 // bytes of files that are removed but would come back
}

func (j *journal) add(c *change) {
	c.prev = j.last
	if j.last != nil {
		j.last.next = c
	} else {
		j.first = c
	}
	j.last = c
	j.len++
	c.count(1)
}

func (j *journal) drop(c *change) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		j.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		j.last = c.prev
	}
	j.len--
	c.count(-1)
}

// count keeps node.changes of all nodes that the change is about.
func (c *change) count(d int) {
	for _, n := range [...]*node{c.node, c.from.dir, c.to.dir} {
		if n != nil {
			n.changes += d
		}
	}
}

// recordLocked carries out a change and remembers it.
func (d *Disk) recordLocked(c *change) {
	if c.from.dir != nil {
		delete(c.from.dir.children, c.from.name)
		c.from.dir.touch()
	}
	if c.to.dir != nil {
		c.to.dir.children[c.to.name] = c.node
		c.to.dir.touch()
	}
	n := c.removed()
	if n != nil && n == c.node && !n.dir && n.changes == 1 && n.born != nil {
		// Neither its making nor its removal is durable: as if it had never been.
		d.journal.drop(n.born)
		n.born = nil
		d.unlinkLocked(n)
		return
	}
	if c.from.dir == nil {
		c.node.born = c
	}
	d.journal.add(c)
	if n != nil {
		n.held = true
		d.unlinkLocked(n)
	}
	for d.journal.len > maxChanges || d.journal.held > maxHeld {
		d.commitLocked(d.journal.first)
	}
}

// commitLocked makes the oldest change durable.
func (d *Disk) commitLocked(c *change) {
	d.journal.drop(c)
	if c.node.born == c {
		c.node.born = nil
	}
	n := c.removed()
	if n == nil {
		return
	}
	n.mu.Lock()
	n.held = false
	if n.reaped {
		d.journal.held -= n.memory()
		n.dropLocked(&d.pool)
	}
	n.mu.Unlock()
}

// syncLocked makes durable all changes up to the last one that gave the node its name or, of a directory, changed an
// entry. Changes become durable in order, as in a journaling file system.
func (d *Disk) syncLocked(n *node) {
	for c := d.journal.last; c != nil && n.changes > 0; c = c.prev {
		if c.node == n || c.from.dir == n || c.to.dir == n {
			for d.journal.first != c {
				d.commitLocked(d.journal.first)
			}
			d.commitLocked(c)
		}
	}
}

// undoLocked takes a change back; it is the last one.
func (d *Disk) undoLocked(c *change) {
	d.journal.drop(c)
	if c.to.dir != nil {
		delete(c.to.dir.children, c.to.name)
		if c.old != nil {
			c.to.dir.children[c.to.name] = c.old
			d.relinkLocked(c.old)
		}
	}
	if c.from.dir != nil {
		c.from.dir.children[c.from.name] = c.node
		d.relinkLocked(c.node)
		return
	}
	d.unlinkLocked(c.node)
}

// relinkLocked gives a node back the name that it had.
func (d *Disk) relinkLocked(n *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.linked {
		return
	}
	n.linked, n.held = true, false
	delete(d.orphans, n)
	if n.reaped {
		n.reaped = false
		d.journal.held -= n.memory()
		d.space.force(n.size)
	}
}

// unlinkLocked is for a node that has just lost its name: its bytes go when nobody has it open.
func (d *Disk) unlinkLocked(n *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.linked = false
	if n.dir {
		return
	}
	if n.opens > 0 {
		d.orphans[n] = struct{}{}
		return
	}
	d.reapLocked(n)
}

// reap is for the last handle of a file without name. Somebody else may have been faster.
func (d *Disk) reap(n *node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := d.orphans[n]; ok && n.opens == 0 {
		d.reapLocked(n)
	}
}

// reapLocked gives back what a file without name and without handles holds; Disk.mu and n.mu are held. Bytes that
// would come back with its name are kept, but no longer charged.
func (d *Disk) reapLocked(n *node) {
	delete(d.orphans, n)
	d.space.force(-n.size)
	if n.held && n.synced > 0 {
		n.reaped = true
		d.journal.held += n.memory()
		return
	}
	n.dropLocked(&d.pool)
}
