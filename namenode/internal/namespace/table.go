package namespace

import "iter"

// table maps ids that were handed out in sequence to values other than zero. It takes little more than a value an id;
// pages that nothing is left in are let go.
type table[K ~int64, V comparable] struct {
	pages map[int64]*page[V]
	count int
}

const pageSize = 64

type page[V comparable] struct {
	used  int
	slots [pageSize]V
}

func newTable[K ~int64, V comparable]() table[K, V] {
	return table[K, V]{pages: map[int64]*page[V]{}}
}

func (t *table[K, V]) len() int { return t.count }

// get gives the value of an id, zero when there is none.
func (t *table[K, V]) get(id K) V {
	if p := t.pages[int64(id)/pageSize]; p != nil {
		return p.slots[uint64(id)%pageSize]
	}
	var zero V
	return zero
}

// set gives an id its value; zero takes it out.
func (t *table[K, V]) set(id K, v V) {
	var zero V
	p := t.pages[int64(id)/pageSize]
	if p == nil {
		if v == zero {
			return
		}
		p = new(page[V])
		t.pages[int64(id)/pageSize] = p
	}
	slot := &p.slots[uint64(id)%pageSize]
	switch {
	case *slot == zero && v != zero:
		p.used++
		t.count++
	case *slot != zero && v == zero:
		p.used--
		t.count--
		if p.used == 0 {
			delete(t.pages, int64(id)/pageSize)
		}
	}
	*slot = v
}

func (t *table[K, V]) remove(id K) {
	var zero V
	t.set(id, zero)
}

// all gives ids and values in no order.
func (t *table[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		var zero V
		for k, p := range t.pages {
			for i, v := range p.slots {
				if v != zero && !yield(K(k*pageSize+int64(i)), v) {
					return
				}
			}
		}
	}
}
