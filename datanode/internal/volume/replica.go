package volume

import (
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// replica is what is known of one replica. Its fields are guarded by Set.mu. Its files may be changed only by who has
// claimed it, or by its writer as far as appending goes.
type replica struct {
	id  dfs.BlockID
	vol *Volume

	gs      dfs.GenStamp
	state   dfs.ReplicaState
	was     dfs.ReplicaState // RUR: the state before
	trial   dfs.GenStamp     // RUR: the recovery id
	len     int64            // bytes on the disk
	acked   int64            // RBW: bytes that the whole pipeline has; others may read these
	metaLen int64            // length of the checksum file
	sum     uint32           // of the last chunk where that is not whole and the replica is open or was
	check   Checksum         // zero until the checksum file was read
	synced  bool             // was made durable once, so the rest will be when it is finalized
	safe    int64            // bytes that may be durable, and must not become unreadable

	moved  int           // counts renames and rewrites: who read the files outside the lock sees that they changed
	doomed bool          // is being deleted: it does not exist for anybody else
	busy   chan struct{} // not nil while claimed, closed at release
	grew   chan struct{} // not nil while somebody waits for more bytes, closed then
	writer *Writer
}

// block is the replica as the namenode sees it.
func (r *replica) block() dfs.Block { return dfs.Block{ID: r.id, GenStamp: r.gs, Len: r.len} }

// place is the state whose directory holds the files.
func (r *replica) place() dfs.ReplicaState {
	if r.state == dfs.ReplicaRUR {
		return r.was
	}
	return r.state
}

func (r *replica) files() files { return r.vol.layout.files(r.id, r.gs, r.place()) }

// visible is how many bytes a reader may ask for, -1 for none at all.
func (r *replica) visible() int64 {
	switch r.place() {
	case dfs.ReplicaFinalized:
		return r.len
	case dfs.ReplicaRBW:
		return r.acked
	}
	return -1
}

// wakeLocked tells who waits that the replica has grown or changed.
func (r *replica) wakeLocked() {
	if r.grew != nil {
		close(r.grew)
		r.grew = nil
	}
}

func (r *replica) String() string {
	s := fmt.Sprintf("%s (%s, %d bytes", dfs.Block{ID: r.id, GenStamp: r.gs}, r.state, r.len)
	if r.state == dfs.ReplicaRUR {
		s += fmt.Sprintf(", recovery id %d, was %s", r.trial, r.was)
	}
	return s + ")"
}

// Info describes a replica for those who only look.
type Info struct {
	dfs.Block
	State    dfs.ReplicaState
	Original dfs.ReplicaState // the state before recovery, where State is RUR; else State
	Visible  int64            // bytes that readers may ask for, -1 for none
	Storage  string           // storage id
	Data     string           // path of the block file
	Meta     string           // path of the checksum file
	Checksum Checksum         // zero where the checksum file was not read yet
}

func (r *replica) info() Info {
	f := r.files()
	return Info{
		Block: r.block(), State: r.state, Original: r.place(), Visible: r.visible(),
		Storage: r.vol.id, Data: f.data, Meta: f.meta, Checksum: r.check,
	}
}
