package namespace

import (
	"reflect"
	"sync"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A shared coalescer is that of the engines of one store in this process.
type shared struct {
	updates *coalescer
	engines int
}

// coalescers has those of the stores that engines use now.
var coalescers = struct {
	sync.Mutex
	of map[storage.Store]*shared
}{of: map[storage.Store]*shared{}}

// Share lets the updates of n share transactions with those of the other namespaces of
// its store that share, until leave is called. Updates that are in progress then, and
// later ones, go on by themselves. It is called before n is used.
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
