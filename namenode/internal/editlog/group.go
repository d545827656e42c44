package editlog

import (
	"context"
	"errors"
)

// A Group is a Journal that several namenodes keep together. One of them at a time leads: only it appends, all apply.
type Group interface {
	Journal
	// Role is this member's part, as far as it knows.
	Role() Role
	// Changed is closed when Role changes next.
	Changed() <-chan struct{}
	// Fence returns nil when a majority, asked after the call began, knew of no leader newer than this member. What
	// this member had applied by then is the newest state there is. Elsewhere it returns ErrNotLeader.
	Fence(ctx context.Context) error
	// Elect makes this member stand for election at once, and returns when it leads. Its first edit is still to come.
	Elect(ctx context.Context) error
	// Transfer hands the leadership over, to the member that has most of the log where to is "".
	Transfer(ctx context.Context, to string) error
	// Members is the configuration that this member knows.
	Members() []Member
	// Add takes a member in, which gets the state and the log from the leader and votes once it has them. Remove
	// excludes one. Both are for the leader.
	Add(ctx context.Context, m Member) error
	Remove(ctx context.Context, id string) error
	Progress() Progress
}

// Role is the part that a member of a Group has.
type Role struct {
	Leads  bool
	Term   uint64
	Leader string // id of the member that leads; "" when none is known
}

// Member is one of a Group.
type Member struct {
	ID    string // of its store: one that has lost its store comes back under another id
	Addr  string // host:port of its transport
	Voter bool
}

// Progress says how much a member has of the log.
type Progress struct {
	Term      uint64 // of the last entry
	Last      uint64 // index of the last entry
	Committed uint64
	Applied   uint64
}

var (
	// ErrNotLeader is returned by a member that does not lead: nothing was done.
	ErrNotLeader = errors.New("editlog: this member does not lead")
	// ErrUnknown is returned when a member has ceased to lead with an op under way: whether it is carried out is for
	// the next leader to say.
	ErrUnknown = errors.New("editlog: whether the op is carried out is unknown")
)
