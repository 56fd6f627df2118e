package durable_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A unit and its step that are dead letters are requeued, one or the other or
// both: the step is executed again, and the group counts the unit again.
func TestRequeueUnits(t *testing.T) {
	requeue := func(step string) func(*testing.T, *durable.Engine) error {
		return func(t *testing.T, e *durable.Engine) error {
			return e.Admin().Requeue(t.Context(), "one", step, admin.RequeueBy(ada))
		}
	}
	for name, c := range map[string]struct {
		step    *genapi.StepPolicy
		requeue func(*testing.T, *durable.Engine) error
	}{
		"unit, its step has failed":        {careful("load", 1, 0), requeue("/import/b")},
		"unit, its step is a dead letter":  {letterPolicy("load", 1), requeue("/import/b")},
		"step that has failed":             {careful("load", 1, 0), requeue("/import:/b:load")},
		"step that is a dead letter":       {letterPolicy("load", 1), requeue("/import:/b:load")},
		"all dead letters":                 {letterPolicy("load", 1), requeueAll},
		"all dead letters, one is a unit":  {careful("load", 1, 0), requeueAll},
		"discarded by mistake, then again": {letterPolicy("load", 1), discardAndRequeue},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				var j journal
				failures := 1
				run := func() (out job.Outcome[int]) {
					err := p.run("one", func(ctx context.Context) (err error) {
						out, err = durable.Group(ctx, importGroup(job.GroupPolicy{OnUnitFailure: job.FailureDeadLetter}),
							[]string{"a", "b", "c"}, func(ctx context.Context, unit string) (int, error) {
								return call(ctx, c.step, func(ctx context.Context) (int, error) {
									if j.add(ctx); unit == "b" && failures > 0 {
										failures--
										return 0, errors.New("connection refused")
									}
									return 1, nil
								})
							}, nil)
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
					return out
				}
				if out := run(); len(out.Results) != 2 || len(out.DeadLetters) != 1 || out.DeadLetters[0].Unit != "b" {
					t.Fatalf("got %+v", out)
				}
				wantStep(t, p.Engine, "one", "/import/b", storage.StatusDead)
				if err := c.requeue(t, p.Engine); err != nil {
					t.Fatal(err)
				}
				if out := run(); len(out.Results) != 3 || len(out.DeadLetters) > 0 || len(out.Errors) > 0 {
					t.Errorf("got %+v, want three results", out)
				}
				j.want(t, "/import:/a:load", 1)
				j.want(t, "/import:/b:load", 1, 2)
				wantListed(t, p.Engine, admin.Filter{DeadLetter: true})
				wantStep(t, p.Engine, "one", "/import/b", storage.StatusSucceeded)
			})
		})
	}
}

// requeueAll requeues all dead letters. Each is reported once, and none as left.
func requeueAll(t *testing.T, e *durable.Engine) error {
	got, err := requeueDead(t, e, admin.Filter{})
	if !slices.Equal(got, []string{"one:/import/b"}) {
		t.Errorf("got %q, want the unit", got)
	}
	return err
}

func discardAndRequeue(t *testing.T, e *durable.Engine) error {
	return errors.Join(
		e.Admin().Discard(t.Context(), "one", "/import/b", ada), e.Admin().Requeue(t.Context(), "one", "/import/b"),
	)
}

// A step of a nested group is requeued with all units in which it is called, and a
// unit with all failed steps below it.
func TestRequeueNestedUnits(t *testing.T) {
	for _, requeued := range []string{
		"//page:import:/a:import:/y:load", "//page:import:/a:import/y", "/page:import/a",
	} {
		t.Run(requeued, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				var j journal
				failing := true
				g := importGroup(job.GroupPolicy{OnUnitFailure: job.FailureDeadLetter})
				leaf := func(ctx context.Context, unit string) (int, error) {
					return call(ctx, careful("load", 1, 0), func(ctx context.Context) (int, error) {
						if j.add(ctx); failing && unit == "y" {
							return 0, errors.New("connection refused")
						}
						return 1, nil
					})
				}
				inner := func(ctx context.Context, _ string) (int, error) {
					out, err := durable.Group(ctx, g, []string{"x", "y"}, leaf, nil)
					if len(out.Errors) > 0 {
						return 0, errors.New("a unit has failed")
					}
					return len(out.Results), err
				}
				run := func() (out job.Outcome[int]) {
					err := p.run("one", func(ctx context.Context) (err error) {
						out, err = durable.Group(durable.Scope(ctx, "page"), g, []string{"a"}, inner, nil)
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
					return out
				}
				if out := run(); len(out.DeadLetters) != 1 {
					t.Fatalf("got %+v, want a dead letter", out)
				}
				failing = false
				if err := p.Admin().Requeue(t.Context(), "one", requeued); err != nil {
					t.Fatal(err)
				}
				if out := run(); out.Results["a"] != 2 {
					t.Errorf("got %+v, want two results of the unit", out)
				}
				j.want(t, "//page:import:/a:import:/x:load", 1)
				j.want(t, "//page:import:/a:import:/y:load", 1, 2)
				wantListed(t, p.Engine, admin.Filter{DeadLetter: true})
			})
		})
	}
}
