package namenode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
)

// fakeGroup is the log that the members of a test share, with a leader that the test chooses. What is appended is
// committed at once, and applied by every member that is not cut off.
type fakeGroup struct {
	mu       sync.Mutex
	term     uint64
	leader   *fakeMember // nil: nobody
	log      [][]byte
	members  []*fakeMember
	identity editlog.Identity
}

// fakeMember is one member of a fakeGroup.
type fakeMember struct {
	g  *fakeGroup
	id string
	sm editlog.StateMachine

	// Guarded by g.mu.
	role    editlog.Role
	changed chan struct{}
	applied int
	cut     bool // off from the others: it hears of nothing, and believes what it did
	ended   error
	fences  int
	kinds   []string                    // of the ops appended here
	before  func(kind string)           // called, without the lock, before an op is appended
	after   func(kind string) error     // called, without the lock, before the result is returned; may replace it by an error
	fence   func(context.Context) error // instead of the question to the others
}

var _ editlog.Group = (*fakeMember)(nil)

// join adds a member.
func (g *fakeGroup) join(id string, sm editlog.StateMachine) *fakeMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := &fakeMember{g: g, id: id, sm: sm, changed: make(chan struct{})}
	g.members = append(g.members, m)
	m.tellLocked()
	return m
}

// lead makes m the leader of a new term; nil: there is none from now on.
func (g *fakeGroup) lead(m *fakeMember) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = m
	if m != nil {
		g.term++
	}
	for _, o := range g.members {
		o.tellLocked()
	}
}

// tellLocked brings a member up to the group.
func (m *fakeMember) tellLocked() {
	if m.cut || m.ended != nil {
		return
	}
	m.catchUpLocked()
	role := editlog.Role{Leads: m.g.leader == m, Term: m.g.term}
	if m.g.leader != nil {
		role.Leader = m.g.leader.id
	}
	if role != m.role {
		m.becomeLocked(role)
	}
}

func (m *fakeMember) becomeLocked(role editlog.Role) {
	m.role = role
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *fakeMember) catchUpLocked() {
	for ; m.applied < len(m.g.log); m.applied++ {
		op, err := m.sm.Decode(m.g.log[m.applied])
		if err != nil {
			panic(fmt.Sprintf("op %d: %v", m.applied, err))
		}
		m.sm.Apply([]editlog.Op{op})
	}
}

// setCut cuts the member off, or brings it back.
func (m *fakeMember) setCut(cut bool) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.cut = cut
	m.tellLocked()
}

func (m *fakeMember) set(change func()) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	change()
}

func (m *fakeMember) Role() editlog.Role {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	return m.role
}

func (m *fakeMember) Changed() <-chan struct{} {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	return m.changed
}

func (m *fakeMember) Append(ctx context.Context, op editlog.Op) (any, error) {
	m.g.mu.Lock()
	before, after := m.before, m.after
	m.g.mu.Unlock()
	if before != nil {
		before(op.KindName())
	}
	result, err := m.append(ctx, op)
	if err == nil && after != nil {
		if err := after(op.KindName()); err != nil {
			return nil, err
		}
	}
	return result, err
}

func (m *fakeMember) append(ctx context.Context, op editlog.Op) (any, error) {
	g := m.g
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case m.ended != nil:
		return nil, m.ended
	case !m.role.Leads:
		return nil, editlog.ErrNotLeader
	case m.cut:
		if err := m.deposedLocked(ctx); err != nil {
			return nil, err
		}
		return nil, editlog.ErrUnknown
	}
	m.kinds = append(m.kinds, op.KindName())
	g.log = append(g.log, op.AppendTo(nil))
	m.applied = len(g.log)
	result := m.sm.Apply([]editlog.Op{op})[0]
	for _, o := range g.members {
		if o != m && !o.cut && o.ended == nil {
			o.catchUpLocked()
		}
	}
	return result, nil
}

// deposedLocked waits until a leader that is cut off hears of it.
func (m *fakeMember) deposedLocked(ctx context.Context) error {
	changed := m.changed
	m.g.mu.Unlock()
	defer m.g.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *fakeMember) TryAppend(editlog.Op) (any, bool, error) { return nil, false, nil }

func (m *fakeMember) Fence(ctx context.Context) error {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.fences++
	switch {
	case m.ended != nil:
		return m.ended
	case !m.role.Leads:
		return editlog.ErrNotLeader
	case m.fence != nil:
		fence := m.fence
		m.g.mu.Unlock()
		defer m.g.mu.Lock()
		return fence(ctx)
	case m.cut:
		if err := m.deposedLocked(ctx); err != nil {
			return err
		}
		return editlog.ErrNotLeader
	}
	return nil
}

func (m *fakeMember) Elect(context.Context) error {
	if m.isCut() {
		return errors.New("no answer from the others")
	}
	m.g.lead(m)
	return nil
}

func (m *fakeMember) isCut() bool {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	return m.cut
}

func (m *fakeMember) Transfer(_ context.Context, to string) error {
	if !m.Role().Leads {
		return editlog.ErrNotLeader
	}
	m.g.mu.Lock()
	others := m.g.members
	m.g.mu.Unlock()
	for _, o := range others {
		if o != m && !o.isCut() && (to == "" || to == o.id) {
			m.g.lead(o)
			return nil
		}
	}
	return errors.New("there is no other member")
}

func (m *fakeMember) Members() []editlog.Member { return nil }

func (m *fakeMember) Add(context.Context, editlog.Member) error { return errors.New("fixed members") }

func (m *fakeMember) Remove(context.Context, string) error { return errors.New("fixed members") }

func (m *fakeMember) Progress() editlog.Progress { return editlog.Progress{} }

func (m *fakeMember) Checkpoint(context.Context) error {
	snapshot, err := m.sm.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	_, err = snapshot.WriteTo(io.Discard)
	return err
}

func (m *fakeMember) Stats() editlog.Stats { return editlog.Stats{} }

func (m *fakeMember) Close() error { m.end(editlog.ErrClosed); return nil }

func (m *fakeMember) Kill() { m.end(editlog.ErrClosed) }

// end makes every later call fail with err.
func (m *fakeMember) end(err error) { m.set(func() { m.ended = err }) }
