package durable_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A shop is a run with a group, whose units call a step that fails while they are
// broken.
type shop struct {
	p      *process
	policy job.GroupPolicy
	units  []string
	step   *genapi.StepPolicy

	mu     sync.Mutex
	broken string // units
	called []string
}

func newShop(t *testing.T, p job.GroupPolicy, units, broken string) *shop {
	p.Name = "import"
	s := &shop{p: startProcess(t, memory.New()), policy: p, units: strings.Fields(units), broken: broken}
	s.step = idempotent("load", 1, 0)
	s.step.OnExhausted = genapi.ExhaustedDeadLetter
	return s
}

// run executes the run, and returns the outcome of the group and the units that
// were called.
func (s *shop) run(t *testing.T) (out job.Outcome[string], called string) {
	t.Helper()
	s.called = nil
	err := s.p.run("one", func(ctx context.Context) (err error) {
		out, err = durable.Group(ctx, job.NewGroup(s.policy, "one"), s.units, s.op, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.called)
	return out, strings.Join(s.called, " ")
}

func (s *shop) op(ctx context.Context, unit string) (string, error) {
	return call(ctx, s.step, func(ctx context.Context) (string, error) {
		s.mu.Lock()
		s.called = append(s.called, unit)
		broken := strings.Contains(s.broken, unit)
		s.mu.Unlock()
		if unit == "slow" {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		if broken {
			return "", errors.New("broken")
		}
		return unit, nil
	})
}

func (s *shop) want(t *testing.T, called, results, decision string) {
	t.Helper()
	out, got := s.run(t)
	r := strings.Join(slices.Sorted(maps.Keys(out.Results)), " ")
	if got != called || r != results || out.String() != decision {
		t.Errorf("called %q, results %q, %s; want %q, %q, %s", got, r, out, called, results, decision)
	}
}

// A group that failures have stopped goes on with all units when one of them is
// requeued.
func TestRequeueUnitOfStoppedGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, job.GroupPolicy{Workers: 1, MaxFailures: 2}, "a b c d e f", "b c e")
		s.want(t, "a b c", "a", "max_failures_reached (2/2)")
		wantStep(t, s.p.Engine, "one", "/import/d", storage.StatusAbandoned)
		s.broken = "e"
		if err := s.p.Admin().Requeue(t.Context(), "one", "/import/b"); err != nil {
			t.Fatal(err)
		}
		s.want(t, "b d e", "a b d", "max_failures_reached (2/2)")
		s.broken = ""
		for _, unit := range []string{"c", "e"} {
			if err := s.p.Admin().Requeue(t.Context(), "one", "/import/"+unit); err != nil {
				t.Fatal(err)
			}
		}
		s.want(t, "c e f", "a b c d e f", "all_dcs_reported")
	})
}

// A group whose deadline has passed executes the unit that is requeued, and no
// other.
func TestRequeueUnitAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, job.GroupPolicy{Workers: 2, BestEffort: &job.BestEffort{MinSuccess: 3, Deadline: time.Minute}},
			"a slow b c", "b c")
		s.want(t, "a b c slow", "a", "deadline_expired (completed: 1)")
		s.broken = ""
		time.Sleep(time.Hour)
		if err := s.p.Admin().Requeue(t.Context(), "one", "/import/c"); err != nil {
			t.Fatal(err)
		}
		s.want(t, "c", "a c", "deadline_expired (completed: 2)")
		m := s.p.store.Store.(*memory.Store)
		if got := counters(t, m, "one", "import"); got != [4]int{1, 2, 1, 4} {
			t.Errorf("counters %v", got)
		}
		wantStep(t, s.p.Engine, "one", "/import/slow", storage.StatusAbandoned)
		// One that was added is executed, too.
		s.units = append(s.units, "new")
		_ = s.p.Admin().Requeue(t.Context(), "one", "/import/b")
		s.want(t, "b new", "a b c new", "min_dcs_reached (4/3)")
	})
}

// A crash while a group is opened again, after one of its units was requeued, loses
// none of the units that were abandoned.
func TestRequeueUnitCrashedEverywhere(t *testing.T) {
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t, job.GroupPolicy{Workers: 1, MaxFailures: 2}, "a b c d e", "b c")
			s.want(t, "a b c", "a", "max_failures_reached (2/2)")
			s.broken = ""
			for _, unit := range []string{"b", "c"} {
				if err := s.p.Admin().Requeue(t.Context(), "one", "/import/"+unit); err != nil {
					t.Fatal(err)
				}
			}
			m := s.p.store.Store
			dying := durabletest.CrashAt(m, n)
			ctx, cancel := dying.Context(t.Context())
			defer cancel()
			_ = newEngine(t, dying).Run(ctx, "one", func(ctx context.Context) error {
				_, err := durable.Group(ctx, job.NewGroup(s.policy, "one"), s.units, s.op, nil)
				return err
			})
			died = dying.Failed()
			s.p = startProcess(t, m)
			s.run(t)
			if got := counters(t, m.(*memory.Store), "one", "import"); got != [4]int{0, 5, 0, 7} {
				t.Errorf("crash at point %d: counters %v, want 5 successes", n, got)
			}
		})
	}
}
