package namespace

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestUpdateBoth(t *testing.T) {
	refused := errors.New("refused")
	refuse := func(storage.Tx) (storage.Writes, error) { return storage.Writes{}, refused }
	for _, c := range []struct {
		name          string
		first, second func(storage.Tx) (storage.Writes, error)
		committed     bool
		err           error
		a, b          uint64 // numbers afterwards
	}{
		{"both", increment, increment, true, nil, 2, 1},
		{"the second one refuses", increment, refuse, true, refused, 1, 0},
		{"the first one refuses", refuse, increment, false, refused, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &slowStore{Store: memory.New()}
				n := New(m)
				a, b := n.Key(storage.KindStep, "run", "a"), n.Key(storage.KindStep, "run", "b")
				first := Decision{Keys: []storage.Key{a}, Decide: c.first}
				second := Decision{Keys: []storage.Key{b, a}, Decide: c.second}
				committed, err := n.UpdateBoth(t.Context(), first, second)
				if committed != c.committed || err != c.err {
					t.Errorf("got %v and error %v, want %v and %v", committed, err, c.committed, c.err)
				}
				m.want(t, a, c.a)
				m.want(t, b, c.b)
			})
		})
	}
}
