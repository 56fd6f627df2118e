package durable_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A reborn store has an incarnation that changes, as after a failover.
type reborn struct {
	storage.Store
	incarnation atomic.Value
	during      atomic.Value // the incarnation from the next update with a query or a run on
}

func newReborn(incarnation string) *reborn {
	r := &reborn{Store: memory.New()}
	r.incarnation.Store(incarnation)
	r.during.Store("")
	return r
}

func (r *reborn) Guarantee() storage.Guarantee {
	g := r.Store.Guarantee()
	g.Incarnation = r.incarnation.Load().(string)
	return g
}

func (r *reborn) Update(ctx context.Context, sel storage.Select, decide decision) error {
	claims := sel.Queries != nil ||
		slices.ContainsFunc(sel.Keys, func(key storage.Key) bool { return key.Kind == storage.KindRun })
	return r.Store.Update(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
		if next := r.during.Load().(string); next != "" && claims {
			r.incarnation.Store(next) // the connection of this transaction is new
		}
		return decide(tx)
	})
}

func nothing(context.Context) error { return nil }

// After the store may have lost updates, no run is claimed until an operator
// accepts that. What is executed goes on.
func TestIncarnationChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newReborn("one")
		p := startProcess(t, s)
		durable.Handle(p.Engine, "double", double)
		defer work(t, p.Engine)()
		var j journal
		err := p.run("began before", func(ctx context.Context) error {
			for i := range 3 {
				s.incarnation.Store("two") // while the run is executed
				if _, err := callID(ctx, idempotent("charge", 3, time.Second), i, failing(&j, 0)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("got %v; attempts of a run that was claimed before must end", err)
		}

		for _, e := range []*durable.Engine{p.Engine, newEngine(t, s)} {
			err := e.Run(t.Context(), "later", func(context.Context) error {
				t.Error("the run was executed")
				return nil
			})
			wantError(t, err, durable.ErrIncarnation)
			if text := err.Error(); !strings.Contains(text, `"one"`) || !strings.Contains(text, `"two"`) || len(text) > 200 {
				t.Errorf("the error %q does not have both incarnations in 200 bytes", text)
			}
		}
		start(t, p.Engine, "double", "job")
		time.Sleep(time.Minute)
		wantRun(t, p.Engine, "job", storage.StatusOpen)
		reported := slices.ContainsFunc(p.saw(events.EventStoreError), func(ev events.Event) bool {
			return errors.Is(ev.Err, durable.ErrIncarnation)
		})
		if !reported {
			t.Error("the worker has not reported ErrIncarnation")
		}

		if err := newEngine(t, s).Admin().Accept(t.Context(), admin.By("ada", "compared")); err != nil {
			t.Fatal(err)
		}
		kept := 0
		for a, err := range p.Admin().Audit(t.Context(), storage.KindIncarnation, "", "") {
			if kept++; err != nil || a.Action != admin.ActionAccepted || a.By != admin.By("ada", "compared") {
				t.Errorf("the audit is %+v, %v", a, err)
			}
		}
		if kept != 1 {
			t.Errorf("the audit has %d entries, want 1", kept)
		}
		if got, err := durable.Await[int](t.Context(), p.Engine, "job"); got != 2 || err != nil {
			t.Errorf("accepted: got %d, %v; want 2", got, err)
		}
		if err := p.run("later", nothing); err != nil {
			t.Errorf("accepted: %v", err)
		}
		s.incarnation.Store("three") // what was accepted is one change
		wantError(t, p.run("last", nothing), durable.ErrIncarnation)
	})
}

// A failover between the check and the transaction of a claim stops the claim.
func TestIncarnationChangesDuringClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newReborn("one")
		e := newEngine(t, s)
		durable.Handle(e, "double", double)
		start(t, e, "double", "job")
		if err := e.Run(t.Context(), "first", nothing); err != nil {
			t.Fatal(err)
		}
		s.during.Store("two")
		wantError(t, e.Run(t.Context(), "second", nothing), durable.ErrIncarnation)
		s.during.Store("")
		s.incarnation.Store("one")
		if err := e.Run(t.Context(), "third", nothing); err != nil {
			t.Error(err) // the same as before
		}
		s.during.Store("two")
		defer work(t, e)()
		time.Sleep(time.Minute)
		if r := wantRun(t, e, "job", storage.StatusOpen); r.Fence != 0 {
			t.Errorf("got the fence %d, want a run that was never claimed", r.Fence)
		}
	})
}

// A store that cannot know its incarnation has no record of it.
func TestIncarnationUnknown(t *testing.T) {
	m := memory.New()
	if err := newEngine(t, m).Run(t.Context(), "one", nothing); err != nil {
		t.Fatal(err)
	}
	records, _, err := m.List(t.Context(), storage.Query{Kind: storage.KindIncarnation})
	if len(records) > 0 || err != nil {
		t.Errorf("got %+v, %v; want no record", records, err)
	}
}
