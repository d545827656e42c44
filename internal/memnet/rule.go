package memnet

import (
	"syscall"
	"time"
)

// Any stands for every host in a verb, the host itself excepted: rules made with it spare what a host sends to itself.
const Any = "*"

// Rule is what happens to bytes on the way from one host to another.
type Rule struct {
	Stall     bool          // nothing arrives, nothing fails; after the rule is gone everything does arrive
	Blackhole bool          // bytes vanish though writes succeed; a connection that lost some stays dead in that direction
	Delay     time.Duration // bytes arrive so much later
	Corrupt   func([]byte)  // changes bytes in place; called with each write's bytes (a copy), by many goroutines
}

func (r Rule) zero() bool { return !r.Stall && !r.Blackhole && r.Delay <= 0 && r.Corrupt == nil }

// silent reports whether nothing that is sent arrives.
func (r Rule) silent() bool { return r.Stall || r.Blackhole }

func (r Rule) merge(o Rule) Rule {
	r.Stall = r.Stall || o.Stall
	r.Blackhole = r.Blackhole || o.Blackhole
	r.Delay = max(r.Delay, o.Delay)
	if r.Corrupt == nil {
		r.Corrupt = o.Corrupt
	}
	return r
}

// corrupted is b, or a changed copy.
func (r Rule) corrupted(b []byte) []byte {
	if r.Corrupt == nil {
		return b
	}
	b = append([]byte(nil), b...)
	r.Corrupt(b)
	return b
}

// pair is a way from one host to another.
type pair struct{ from, to string }

func (p pair) back() pair { return pair{p.to, p.from} }

// Partition lets nothing pass between the hosts of a and those of b, in either direction: open connections stall, dials
// wait, nothing fails until someone's patience ends.
func (n *Network) Partition(a, b []string) {
	n.change(cross(a, b), func(r *Rule) { r.Stall = true })
}

// Stall lets nothing pass in one direction.
func (n *Network) Stall(from, to string) {
	n.change([]pair{{from, to}}, func(r *Rule) { r.Stall = true })
}

// Blackhole loses what is sent in one direction, and tells nobody.
func (n *Network) Blackhole(from, to string) {
	n.change([]pair{{from, to}}, func(r *Rule) { r.Blackhole = true })
}

// Delay makes bytes in one direction arrive that much later; 0 ends it.
func (n *Network) Delay(from, to string, d time.Duration) {
	n.change([]pair{{from, to}}, func(r *Rule) { r.Delay = d })
}

// Corrupt changes bytes in one direction on their way, see Rule; nil ends it.
func (n *Network) Corrupt(from, to string, f func([]byte)) {
	n.change([]pair{{from, to}}, func(r *Rule) { r.Corrupt = f })
}

// Heal ends every rule.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.rules)
	n.refreshLocked()
}

// HealBetween ends the rules that were made for hosts of a towards hosts of b, and back.
func (n *Network) HealBetween(a, b []string) {
	n.change(cross(a, b), func(r *Rule) { *r = Rule{} })
}

// Cut resets every connection between two hosts, either of which may be Any, and says how many open ends that were. Both
// ends notice at once, whatever the rules are.
func (n *Network) Cut(a, b string) int {
	n.mu.Lock()
	var hit []endpoint
	for e := range n.conns {
		if p := e.wayLocked(); p.matches(a, b) || p.matches(b, a) {
			hit = append(hit, e)
		}
	}
	n.mu.Unlock()
	for _, e := range hit {
		e.cut(syscall.ECONNRESET)
	}
	return len(hit)
}

func (p pair) matches(a, b string) bool { return (a == Any || a == p.from) && (b == Any || b == p.to) }

func cross(a, b []string) []pair {
	var ps []pair
	for _, x := range a {
		for _, y := range b {
			ps = append(ps, pair{x, y}, pair{y, x})
		}
	}
	return ps
}

func (n *Network) change(ps []pair, f func(*Rule)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range ps {
		r := n.rules[p]
		if f(&r); r.zero() {
			delete(n.rules, p)
		} else {
			n.rules[p] = r
		}
	}
	n.refreshLocked()
}

// refreshLocked brings the rules to everything that goes by them.
func (n *Network) refreshLocked() {
	for e := range n.conns {
		e.refreshLocked()
	}
	n.wakeLocked()
}

// ruleLocked is what holds on the way p.
func (n *Network) ruleLocked(p pair) Rule {
	r := n.rules[p]
	if p.from == p.to {
		return r
	}
	r.Stall = r.Stall || n.paused[p.from] || n.paused[p.to]
	if len(n.rules) == 0 {
		return r
	}
	return r.merge(n.rules[pair{p.from, Any}]).merge(n.rules[pair{Any, p.to}]).merge(n.rules[pair{Any, Any}])
}
