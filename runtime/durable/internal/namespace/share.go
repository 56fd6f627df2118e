package namespace

import (
	"reflect"
	"sync"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A shared coalescer has the updates of all engines of a store in this process.
type shared struct {
	updates *coalescer
	engines int
}

// coalescers has one for each store that an engine uses now.
var coalescers = struct {
	sync.Mutex
	of map[storage.Store]*shared
}{of: map[storage.Store]*shared{}}

// Share lets n and the other namespaces of its store that have called Share put their
// updates into the same transactions, until leave is called. It is called before n is used.
// Updates after leave still share transactions with whoever is left.
func (n *Namespace) Share() (leave func()) {
	if !reflect.ValueOf(n.Store).Comparable() {
		return func() {}
	}
	c := &coalescers
	c.Lock()
	defer c.Unlock()
	s := c.of[n.Store]
	if s == nil {
		s = &shared{updates: n.updates}
		c.of[n.Store] = s
	}
	s.engines++
	n.updates = s.updates
	return sync.OnceFunc(func() {
		c.Lock()
		defer c.Unlock()
		if s.engines--; s.engines == 0 {
			delete(c.of, n.Store)
		}
	})
}
