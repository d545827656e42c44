package memnet

import "time"

// mark says that the stream up to a position arrives at a time.
type mark struct {
	pos int64
	at  time.Time
}

// publishLocked sends everything queued on its way, as the rule has it.
func (p *pipe) publishLocked() {
	end := p.end + p.ended
	switch {
	case p.lost || p.rule.Stall || p.ready == end:
	case p.rule.Delay <= 0 && len(p.marks) == 0:
		p.ready = end
		p.rd.Broadcast()
	default:
		at := time.Now().Add(max(p.rule.Delay, 0))
		if n := len(p.marks); n > 0 {
			last := &p.marks[n-1]
			if last.pos == end {
				return
			}
			if !at.After(last.at) {
				last.pos = end
				return
			}
		}
		p.marks = append(p.marks, mark{end, at})
		p.readAlarm.set(p.marks[0].at)
	}
}

// settleLocked lets arrive what is due.
func (p *pipe) settleLocked() {
	if len(p.marks) == 0 {
		return
	}
	now := time.Now()
	due := 0
	for due < len(p.marks) && !p.marks[due].at.After(now) {
		p.ready = p.marks[due].pos
		due++
	}
	if due > 0 {
		p.marks = append(p.marks[:0], p.marks[due:]...)
		p.rd.Broadcast()
	}
	if len(p.marks) > 0 {
		p.readAlarm.set(p.marks[0].at)
	}
}

// tick is the read alarm's: bytes may be due, or a reader's deadline.
func (p *pipe) tick() {
	p.mu.Lock()
	p.readAlarm.armed = false
	p.settleLocked()
	p.rd.Broadcast()
	tell := p.tellLocked()
	p.mu.Unlock()
	tell()
}

// apply makes r the rule, for bytes on their way too: a stall holds them, a black hole swallows them.
func (p *pipe) apply(r Rule) {
	p.mu.Lock()
	p.settleLocked()
	p.rule = r
	switch {
	case r.Blackhole:
		p.lost = p.lost || p.ready < p.end+p.ended
		p.marks = nil
		p.wr.Broadcast()
	case r.Stall:
		p.marks = nil
	default:
		p.publishLocked()
	}
	tell := p.tellLocked()
	p.mu.Unlock()
	tell()
}

// tellLocked gives what to call, once unlocked, when the writer's close has just arrived.
func (p *pipe) tellLocked() func() {
	if p.told || p.arrived == nil || p.ready < p.end+2 {
		return func() {}
	}
	p.told = true
	f, reset := p.arrived, p.reset
	return func() { f(reset) }
}

// alarm is a timer set only when someone waits, and never put off: it may go off early, and is then set again.
type alarm struct {
	f     func()
	timer *time.Timer
	armed bool
	at    time.Time
}

func (a *alarm) set(at time.Time) {
	if at.IsZero() || a.armed && !at.Before(a.at) {
		return
	}
	a.armed, a.at = true, at
	if d := time.Until(at); a.timer == nil {
		a.timer = time.AfterFunc(d, a.f)
	} else {
		a.timer.Reset(d)
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.armed = false
	}
}

func expired(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }
