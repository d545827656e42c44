package namenode

import (
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/rpc"
)

// What Options.Hook is made of. A Hook sees each call before its handler, which next runs; it may answer something else,
// sooner, later, or after as long as it likes; before it waits it calls Call.Yield. An answer of next shares parts with
// others: a hook that wants to change one makes a copy.
type (
	Hook   = rpc.Hook
	Call   = rpc.Call
	Next   = rpc.Next
	Answer = proto.Message
)

// ErrDrop is what a Hook returns to cut the call's connection without an answer.
var ErrDrop = rpc.ErrDrop
