package storm

// A kind says what happens at an event of the engine.
type kind uint8

const (
	arrives  kind = iota // a call of an open load begins; ref is the load
	returns              // a user has thought; ref is the load
	expires              // the limit of an attempt passes; ref is the call
	answers              // an attempt gets an answer that took no time of a worker; ref is the call
	retries              // the wait before an attempt ends; ref is the call
	turns                // a rate may have a slot for the first call that waits; ref is the call
	turned               // a call that waits has got a slot; ref is the call
	permits              // a call that waits gets a permit; ref is the call
	givesUp              // the wait for a permit ends without one; ref is the call
	worked               // a worker has spent the time of a request; ref is the request
	changes              // an event of the system begins or ends
	ticks                // a second ends
	kindBits = 4
)

// An entry is something that happens at a time. It is small and has no pointers, so that
// the heap moves fast. gen is compared with the generation of what ref refers to: if they
// differ, it is about something that has ended, and nothing happens.
type entry struct {
	at    int64  // nanoseconds
	order uint64 // of entries at the same time, and the kind in the lowest bits
	ref   uint32
	gen   uint32
}

func (e *entry) kind() kind { return kind(e.order & (1<<kindBits - 1)) }

func (e *entry) before(f *entry) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// A heap has four children for each entry: it is half as deep as a binary one, and the
// children are in one or two cache lines.
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

// A slab holds values in pages, which are never moved, and reuses the places of those that
// were freed. The place 0 is never used.
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
