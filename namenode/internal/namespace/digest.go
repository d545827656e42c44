package namespace

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Digest is equal for equal states and, for all practical purposes, only for these: tree, blocks, leases (they follow
// from the files), snapshots, counters, parameters and retry cache. How the state came about and how it lies in memory
// do not matter.
func (n *Namespace) Digest() uint64 {
	_, digest := n.DigestAt()
	return digest
}

// DigestAt is Digest with the transaction id of the state that it is of.
func (n *Namespace) DigestAt() (txid, digest uint64) {
	i := n.freeze()
	d := digester{names: i.names, known: map[*inode]uint64{}}
	d.owner = func(b []byte, number uint32) []byte { return appendString(b, d.names[number]) }
	b := appendCounters(nil, i.counters)
	b = (&SetParams{i.params}).appendTo(b)
	b = binary.BigEndian.AppendUint64(b, d.tree(i.root))
	i.kept.Scan(func(_ dfs.BlockID, k keptBlock) bool {
		b = appendBlockInfo(b, k.BlockInfo)
		for _, s := range k.holders {
			b = appendInt(b, s)
		}
		return true
	})
	for _, list := range [][]*retryEntry{i.spared, i.retry} {
		b = appendUint(b, uint64(len(list)))
		for _, e := range list {
			b = append(b, e.key.client[:]...)
			b = appendResult(appendInt(appendInt(b, e.key.call), e.time), &e.res)
		}
	}
	return i.counters.tx, hash(b)
}

func hash(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// digester hashes trees from the leaves up. Subtrees that snapshots share are hashed once.
type digester struct {
	recorder
	names []string
	known map[*inode]uint64
}

func (d *digester) tree(in *inode) uint64 {
	if h, ok := d.known[in]; ok {
		return h
	}
	var below []byte
	if t := in.snaps(); t != nil {
		for _, s := range t.list {
			below = binary.BigEndian.AppendUint64(below, d.tree(s.root))
		}
	}
	if in.isDir() {
		in.dir.each(func(c *inode) bool {
			below = binary.BigEndian.AppendUint64(below, d.tree(c))
			return true
		})
	}
	d.b = d.b[:0]
	d.inode(in)
	h := hash(append(d.b, below...))
	d.known[in] = h
	return h
}
