// Package memnet is a network in memory that breaks on demand: listeners and connections that behave as TCP's do, between
// hosts that are names. The same verbs work on real sockets, see [Network.Wrap].
//
// Its nouns:
//
//   - a [Network] holds hosts, addresses and rules;
//   - a [Host] dials and listens; its Dial and Listen are the dfs.DialFunc and dfs.ListenFunc of one node;
//   - a [Rule] is what happens on the way from one host to another: nothing arrives, everything is lost, bytes are late
//     or changed. Rules work on connections that are open already;
//   - a pipe is one direction of a connection: a bounded queue of bytes, those that have arrived and those on their way.
//
// What is like TCP: a dial that nobody listens to is refused; writes return once the bytes are queued and block when the
// reader is too far behind; what was written before a close arrives before the end; closing with bytes unread resets the
// connection; the first write to a peer that has closed vanishes, the next one is a broken pipe; deadlines; half-close.
// What is not: no connection ever fails for silence, so that a partition lasts as long as the test wants it to.
//
// The package starts no goroutine for connections in memory: waiting is sync.Cond, which testing/synctest counts as idle,
// and late bytes are woken by timers. A wrapped connection that a rule applies to gets one goroutine that reads it, which
// ends before the connection's Close returns.
package memnet
