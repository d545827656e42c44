package blocks

import "github.com/minidfs/go-minidfs/internal/dfs"

// Replica is a replica as a datanode reports it.
type Replica struct {
	dfs.Block
	State dfs.ReplicaState
}

// replica is what a datanode last said about its copy of a block. 32 bytes; there are millions.
type replica struct {
	storage *storage
	gen     dfs.GenStamp
	len     int64
	pos     uint32 // of the block in storage.blocks
	state   dfs.ReplicaState
	round   uint8 // of the storage's full report that listed it last
	remarks remarks
}

// remarks are what is known of a replica beside what its datanode said.
type remarks uint8

const (
	isBad    remarks = 1 << iota // a reader or a scanner found it corrupt
	isHeld                       // said before the block changed: not proof against the replica
	isExcess                     // given up: its datanode is about to be told to delete it, or was told
)

func (m remarks) has(r remarks) bool { return m&r != 0 }

// standing is what a replica is worth.
type standing uint8

const (
	building standing = iota // being written, or not heard of since the block changed
	live                     // finalized, of the block's stamp and, once that is fixed, of its length
	corrupt                  // wrong stamp, length or content
	excess                   // live, but more than the file asks for, and given up
)

// standing judges replica r of b, as HDFS does when a datanode reports it.
func (b *block) standing(r *replica) standing {
	switch {
	case r.remarks.has(isBad):
		return corrupt
	case r.state == dfs.ReplicaFinalized && r.gen == b.GenStamp && (b.open() || r.len == b.Len):
		if r.remarks.has(isExcess) {
			return excess
		}
		return live
	case r.remarks.has(isHeld) || b.state == dfs.BlockUnderRecovery:
		return building
	case r.state == dfs.ReplicaFinalized:
		return corrupt
	case b.state == dfs.BlockComplete:
		// A writer's last reports may trail behind its complete: a replica being written is not wrong for that.
		if r.state == dfs.ReplicaRBW && r.gen == b.GenStamp {
			return building
		}
		return corrupt
	}
	return building
}

// count gives the numbers of live and corrupt replicas.
func (b *block) count() (lives, corrupts int) {
	for i := range b.replicas {
		switch b.standing(&b.replicas[i]) {
		case live:
			lives++
		case corrupt:
			corrupts++
		}
	}
	return lives, corrupts
}

// hearLocked takes in that storage s holds replica rep. The caller settles the block that it returns, if any.
func (m *Manager) hearLocked(s *storage, rep Replica) *block {
	b := m.blocks[rep.ID]
	if b == nil {
		if rep.ID > m.lastID {
			m.postponeReportLocked(s, rep)
		} else {
			m.deleteLocked(s.node, rep.Block)
		}
		return nil
	}
	i := b.at(s.node)
	if i >= 0 && b.replicas[i].storage == s {
		s.list(&b.replicas[i])
	}
	if rep.GenStamp > b.GenStamp {
		m.postponeReportLocked(s, rep)
		return nil
	}
	if n := s.node; n.deletions.len() > 0 {
		gen, queued := n.deletions.gen(rep.ID)
		if queued && gen == rep.GenStamp {
			return nil // told to delete it, or about to be
		}
		if queued && gen < rep.GenStamp {
			m.forgetDeletionLocked(n, rep.ID)
		}
	}
	if i < 0 {
		m.addReplicaLocked(b, s, rep)
		return b
	}
	r := &b.replicas[i]
	if !b.open() && r.state == dfs.ReplicaFinalized && rep.State == dfs.ReplicaRBW && r.gen == rep.GenStamp {
		return nil // nobody writes to it again: this was said before it was finalized
	}
	if r.storage != s {
		m.unlinkLocked(r)
		r.storage = s
		s.link(b, r)
	}
	r.remarks &^= isHeld
	if r.gen != rep.GenStamp {
		r.remarks = 0
	}
	r.gen, r.len, r.state = rep.GenStamp, rep.Len, rep.State
	if r.remarks.has(isExcess) {
		m.stillThereLocked(r, rep)
	}
	return b
}

func (m *Manager) addReplicaLocked(b *block, s *storage, rep Replica) {
	if len(b.replicas) == cap(b.replicas) {
		n := len(b.replicas) + 1
		if want := int(b.replication); want > n {
			n = min(want, n+3)
		}
		grown := make([]replica, len(b.replicas), n)
		copy(grown, b.replicas)
		b.replicas = grown
	}
	b.replicas = append(b.replicas, replica{gen: rep.GenStamp, len: rep.Len, state: rep.State, storage: s})
	s.link(b, &b.replicas[len(b.replicas)-1])
}

// dropReplicaLocked forgets the i-th replica of b.
func (m *Manager) dropReplicaLocked(b *block, i int) {
	m.unlinkLocked(&b.replicas[i])
	last := len(b.replicas) - 1
	b.replicas[i] = b.replicas[last]
	b.replicas[last] = replica{}
	b.replicas = b.replicas[:last]
}

// unlinkLocked takes r's block out of the list of its storage.
func (m *Manager) unlinkLocked(r *replica) {
	s := r.storage
	if r.round == s.round {
		s.listed--
	}
	last := len(s.blocks) - 1
	if moved := s.blocks[last]; int(r.pos) != last {
		s.blocks[r.pos] = moved
		moved.replicas[moved.at(s.node)].pos = r.pos
	}
	s.blocks[last] = nil
	s.blocks = s.blocks[:last]
}
