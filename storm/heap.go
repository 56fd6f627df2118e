package storm

// A kind is the kind of an event of the engine.
type kind uint8

const (
	arrives  kind = iota // a call of an open load begins; ref is the load
	returns              // the pause of a user ends; ref is the load
	expires              // the time limit of an attempt passes; ref is the call
	answers              // an attempt gets an answer that needs no worker; ref is the call
	retries              // the wait before an attempt ends; ref is the call
	turns                // a rate may have a slot for the first waiting call; ref is the call
	turned               // a waiting call has received a slot; ref is the call
	permits              // a waiting call receives a permit; ref is the call
	givesUp              // the wait for a permit ends without one; ref is the call
	worked               // a worker has spent the time that a request takes; ref is the request
	changes              // an event of the system begins or ends
	ticks                // a second ends
	kindBits = 4
)

// An entry is an event at a certain time. It is small and contains no pointers, so that the
// heap can move entries quickly. gen is compared with the generation of the object that ref
// refers to. If they differ, the object has ended, and the entry has no effect.
type entry struct {
	at    int64  // nanoseconds
	order uint64 // order of entries at the same time; the lowest bits contain the kind
	ref   uint32
	gen   uint32
}

func (e *entry) kind() kind { return kind(e.order & (1<<kindBits - 1)) }

func (e *entry) before(f *entry) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// A heap has four children per entry. It is half as deep as a binary heap, and the children of
// an entry are in one or two cache lines.
type heap struct {
	entries []entry
	pushed  uint64
}

func (h *heap) push(at int64, k kind, ref, gen uint32) {
	h.pushed++
	e := entry{at, h.pushed<<kindBits | uint64(k), ref, gen}
	h.entries = append(h.entries, e)
	list := h.entries
	i := len(list) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&list[parent]) {
			break
		}
		list[i] = list[parent]
		i = parent
	}
	list[i] = e
}

// pop removes the first entry. The heap must not be empty.
func (h *heap) pop() entry {
	list := h.entries
	first, last := list[0], list[len(list)-1]
	list = list[:len(list)-1]
	h.entries = list
	n := len(list)
	if n == 0 {
		return first
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if list[c].before(&list[least]) {
				least = c
			}
		}
		if !list[least].before(&last) {
			break
		}
		list[i] = list[least]
		i = least
	}
	list[i] = last
	return first
}

// A slab holds values in pages, which never move, and reuses the places of freed values. Place
// 0 is never used.
type slab[T any] struct {
	pages []*[pageSize]T
	free  []uint32
	used  uint32 // places that were ever used
}

const pageSize = 1 << 10

func (s *slab[T]) new() (uint32, *T) {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i, s.at(i)
	}
	s.used++
	if int(s.used/pageSize) >= len(s.pages) {
		s.pages = append(s.pages, new([pageSize]T))
	}
	return s.used, s.at(s.used)
}

func (s *slab[T]) at(i uint32) *T { return &s.pages[i/pageSize][i%pageSize] }

func (s *slab[T]) release(i uint32) { s.free = append(s.free, i) }

// live returns the number of values in use.
func (s *slab[T]) live() int { return int(s.used) - len(s.free) }
