package namespace

import (
	"reflect"
	"sync"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A shared coalescer is used by all engines of this process that have the same store.
type shared struct {
	updates *coalescer
	engines int
}

// coalescers contains a shared coalescer for each store that an engine uses.
var coalescers = struct {
	sync.Mutex
	of map[storage.Store]*shared
}{of: map[storage.Store]*shared{}}

// Share lets n share transactions with the other namespaces of its store on which Share was
// called, until leave is called. Call Share before using n. After leave, updates of n still
// share transactions with those of the namespaces that have not left.
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
