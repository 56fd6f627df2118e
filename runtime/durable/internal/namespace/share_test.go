package namespace

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestShare: the namespaces of one store share transactions from Share to leave, those
// of other stores do not.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := &slowStore{Store: memory.New()}, &slowStore{Store: memory.New()}
		namespaces := []*Namespace{New(s), New(s), New(s), New(other)}
		leave := make([]func(), len(namespaces))
		for i, n := range namespaces {
			leave[i] = n.Share()
		}
		round := func(namespaces []*Namespace) {
			var wg sync.WaitGroup
			for _, n := range namespaces {
				for range 10 {
					wg.Go(func() {
						if err := n.Update(t.Context(), []storage.Key{counterKey(1)}, increment); err != nil {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
		}
		round(namespaces)
		if got := s.batches.Load(); got != 2 { // the first one, and those that came meanwhile
			t.Errorf("got %d transactions of three namespaces, want 2", got)
		}
		leave[0]() // which made the queue of all
		leave[0]()
		round(namespaces[1:3])
		s.want(t, counterKey(1), 50)
		other.want(t, counterKey(1), 10)
		for _, f := range leave {
			f()
		}
		if n := len(coalescers.of); n != 0 {
			t.Errorf("%d stores are kept after all have left", n)
		}
		again := New(s)
		defer again.Share()()
		if again.updates == namespaces[1].updates {
			t.Error("a namespace shares transactions with those that have left")
		}
	})
}
