package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A unit that waits for longer than ParkAfter parks alone. The run is parked when
// no unit can go on.
func TestGroupParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		load := idempotent("load", 3, 10*time.Minute)
		load.ParkAfter = time.Minute
		run := func() (out job.Outcome[int], err error) {
			err = p.run("one", func(ctx context.Context) (err error) {
				out, err = durable.Group(ctx, importGroup(job.GroupPolicy{Workers: 1}), []string{"a", "b", "c"},
					func(ctx context.Context, unit string) (int, error) {
						switch unit {
						case "a":
							return call(ctx, load, failing(&j, 1))
						case "b":
							time.Sleep(9 * time.Minute)
						}
						return 1, ctx.Err()
					}, nil)
				return err
			})
			return out, err
		}
		start := time.Now()
		_, err := run()
		parked := wantAs[*durable.ParkedError](t, err)
		if got := time.Since(start); got != 9*time.Minute || parked.Until.Sub(start) != 10*time.Minute {
			t.Errorf("parked after %v until %v", got, parked.Until.Sub(start))
		}
		if got := len(steps(t, p.Engine, "one")); got != 4 {
			t.Errorf("%d steps are recorded, want 3 units and one of a unit", got)
		}
		time.Sleep(time.Minute)
		out, err := run()
		if err != nil || len(out.Results) != 3 {
			t.Errorf("got %+v, %v", out, err)
		}
		j.want(t, "/import:/a:load", 1, 2)
	})
}

// A parked unit goes on while others keep the process busy.
func TestGroupContinuesParkedUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		load := idempotent("load", 3, 10*time.Minute)
		load.ParkAfter = time.Minute
		start := time.Now()
		err := p.run("one", func(ctx context.Context) error {
			out, err := durable.Group(ctx, importGroup(job.GroupPolicy{}), []string{"a", "b"},
				func(ctx context.Context, unit string) (int, error) {
					if unit == "a" {
						return call(ctx, load, failing(&j, 1))
					}
					time.Sleep(time.Hour)
					return 1, ctx.Err()
				}, nil)
			if len(out.Results) != 2 {
				t.Errorf("got %+v", out)
			}
			return err
		})
		if got := time.Since(start); err != nil || got != time.Hour {
			t.Errorf("got %v after %v", err, got)
		}
	})
}

// A step in doubt pauses the run when the other units have ended.
func TestGroupPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		pay := careful("pay", 3, time.Second)
		var p *process
		var ended atomic.Int32
		run := func() error {
			p = startProcess(t, m)
			return p.run("one", func(ctx context.Context) error {
				_, err := durable.Group(ctx, importGroup(job.GroupPolicy{}), []string{"a", "b", "c"},
					func(ctx context.Context, unit string) (int, error) {
						if unit == "a" {
							return call(ctx, pay, func(ctx context.Context) (int, error) {
								if len(p.saw(events.EventRecovered)) == 0 {
									p.kill()
								}
								return 1, ctx.Err()
							})
						}
						time.Sleep(time.Minute)
						ended.Add(1)
						return 1, ctx.Err()
					}, nil)
				return err
			})
		}
		_ = run()
		paused := wantAs[*durable.PausedError](t, run())
		if !slices.Equal(paused.Steps, []string{"/import:/a:pay"}) || ended.Load() != 4 {
			t.Errorf("paused for %q after %d ends", paused.Steps, ended.Load())
		}
		if err := p.Admin().Resolve(t.Context(), "one", "/import:/a:pay", admin.Succeeded(7)); err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Error(err)
		}
	})
}

// Whatever the function of the run makes of the error of a group, the run does not
// succeed before the group has ended.
func TestGroupHoldsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		err := p.run("one", func(ctx context.Context) error {
			_, _ = durable.Group(ctx, importGroup(job.GroupPolicy{}), []string{"a"},
				func(ctx context.Context, unit string) (int, error) {
					ctx, cancel := context.WithCancel(ctx)
					time.AfterFunc(time.Second, cancel)
					var j journal
					_, _ = call(ctx, idempotent("load", 3, time.Minute), failing(&j, 1))
					return 1, nil // drops the error
				}, nil)
			return nil
		})
		unfinished := wantAs[*durable.UnfinishedError](t, err)
		if !slices.Equal(unfinished.Steps, []string{"/import", "/import:/a:load"}) {
			t.Errorf("unfinished %q", unfinished.Steps)
		}
		wantRun(t, p.Engine, "one", storage.StatusOpen)
	})
}

// Groups nest, have scopes, and are plain parts of a step.
func TestGroupsNest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var calls atomic.Int32
		g := importGroup(job.GroupPolicy{})
		leaf := func(ctx context.Context, unit string) (int, error) {
			return callID(ctx, idempotent("load", 3, time.Second), unit, func(context.Context) (int, error) {
				return int(calls.Add(1)), nil
			})
		}
		inner := func(ctx context.Context, unit string) (int, error) {
			out, err := durable.Group(ctx, g, []string{"x", "y"}, leaf, nil)
			return len(out.Results), err
		}
		err := p.run("one", func(ctx context.Context) error {
			for _, scope := range []string{"first", "second"} {
				out, err := durable.Group(durable.Scope(ctx, scope), g, []string{"a", "b"}, inner, nil)
				if err != nil || out.Results["a"] != 2 || out.Results["b"] != 2 {
					return fmt.Errorf("%v, %w", out, err)
				}
			}
			_, err := call(ctx, idempotent("step", 3, time.Second), func(ctx context.Context) (int, error) {
				out, err := durable.Group(ctx, g, []string{"a"}, inner, nil)
				return out.Results["a"], err
			})
			return err
		})
		if err != nil || calls.Load() != 10 {
			t.Errorf("%d calls, %v", calls.Load(), err)
		}
		wantStep(t, p.Engine, "one", "//first:import:/a:import:/x:load/x", storage.StatusSucceeded)
		wantStep(t, p.Engine, "one", "//first:import:/a:import/x", storage.StatusSucceeded)
		wantStep(t, p.Engine, "one", "/first:import/a", storage.StatusSucceeded)
		for group, want := range map[string]string{
			"first:import": "a b", "/first:import:/a:import": "x y", "import": "", "first": "",
		} {
			var units []string
			for s, err := range p.Admin().Steps(t.Context(), admin.Filter{Run: "one", Group: group}) {
				if units = append(units, s.Unit); err != nil || s.Group != group {
					t.Errorf("the filter of group %q selects %+v, %v", group, s, err)
				}
			}
			if got := strings.Join(units, " "); got != want {
				t.Errorf("group %q has the units %q, want %q", group, got, want)
			}
		}
	})
}

// Two calls of a group at a time, a group without a name, and one without a run are
// errors, and call nothing.
func TestGroupErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		never := func(context.Context, string) (int, error) {
			t.Error("called")
			return 0, nil
		}
		g := importGroup(job.GroupPolicy{})
		_, err := durable.Group(t.Context(), g, []string{"a"}, never, nil)
		wantError(t, err, durable.ErrNoRun)
		err = p.run("one", func(ctx context.Context) error {
			_, err := durable.Group(ctx, job.NewGroup(job.GroupPolicy{}, ""), []string{"a"}, never, nil)
			wantError(t, err, durable.ErrID)
			_, err = durable.Group(durable.Scope(ctx, "long"), g, []string{strings.Repeat("x", 1100)}, never, nil)
			wantError(t, err, durable.ErrID)
			_, err = durable.Group(ctx, g, []string{"a"}, func(context.Context, string) (int, error) {
				_, err := durable.Group(ctx, g, []string{"a"}, never, nil) // with the context of the run
				wantError(t, err, durable.ErrConflict)
				return 1, nil
			}, nil)
			return err
		})
		wantAs[*durable.UnfinishedError](t, err) // two groups have not ended
	})
}

// LoseReply loses each reply of the store once: the counters are exact.
func TestGroupAfterLostReplies(t *testing.T) {
	for n, failed := 1, true; failed; n++ {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			s := durabletest.LoseReply(m, n)
			e := newEngine(t, s)
			var out job.Outcome[int]
			var events []string
			run := func() error {
				return e.Run(t.Context(), "one", func(ctx context.Context) (err error) {
					g := importGroup(job.GroupPolicy{BestEffort: &job.BestEffort{MinSuccess: 2, Late: job.LateUpdate}})
					g.Observe(func(_ context.Context, ev job.Event) { events = append(events, ev.Kind.String()) })
					out, err = durable.Group(ctx, g, []string{"a", "b", "c"}, func(_ context.Context, unit string) (int, error) {
						time.Sleep(time.Duration(unit[0]) * time.Second)
						if unit == "b" {
							return 0, errors.New("broken")
						}
						return 1, nil
					}, func(job.Outcome[int]) {})
					return err
				})
			}
			err := run()
			if failed = s.Failed(); errors.Is(err, storage.ErrUnknown) {
				err = run() // the first renewal of the lease
			}
			if got := counters(t, m, "one", "import"); err != nil || got != [4]int{0, 2, 1, 3} || len(out.Results) != 2 {
				t.Errorf("lost reply %d: %v, %+v, counters %v", n, err, out, got)
			}
			if len(events) != 1 {
				t.Errorf("lost reply %d: events %v", n, events)
			}
		})
	}
}

// Within a step, GroupEach passes the units on in the order of their ids, and an
// error ends it, as in a run.
func TestGroupEachWithinStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		units := strings.Fields("h g f e d c b a")
		stop := errors.New("stop")
		each := func(ctx context.Context, limit int) (got []string, err error) {
			_, err = durable.GroupEach(ctx, importGroup(job.GroupPolicy{}), units,
				func(_ context.Context, unit string) (int, error) {
					if unit == "d" {
						return 0, errors.New("broken")
					}
					return 1, nil
				}, func(unit string, _ int, _ error) error {
					if got = append(got, unit); len(got) == limit {
						return stop
					}
					return nil
				})
			return got, err
		}
		err := p.run("one", func(ctx context.Context) error {
			_, err := durable.Step(ctx, "all", nil, func(ctx context.Context) (int, error) {
				if got, err := each(ctx, 0); err != nil || !slices.IsSorted(got) || len(got) != len(units) {
					t.Errorf("got %q, %v; want all units in order", got, err)
				}
				if got, err := each(ctx, 3); !errors.Is(err, stop) || len(got) != 3 {
					t.Errorf("got %q, %v; want three units and the error", got, err)
				}
				return 0, nil
			})
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// An attempt of a unit that is executing when the run is paused or parked ends, and
// is recorded.
func TestGroupHaltsWithoutDoubt(t *testing.T) {
	for name, halt := range map[string]func(context.Context, *durable.Engine){
		"paused": func(ctx context.Context, e *durable.Engine) { _ = e.Admin().Pause(ctx, "one") },
		"parked": func(ctx context.Context, _ *durable.Engine) {
			wait := careful("wait", 3, time.Hour)
			wait.ParkAfter = time.Minute
			_, _ = call(ctx, wait, func(context.Context) (int, error) { return 0, errors.New("unavailable") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				err := p.run("one", func(ctx context.Context) error {
					time.AfterFunc(time.Second, func() { halt(ctx, p.Engine) })
					_, err := durable.Group(ctx, importGroup(job.GroupPolicy{Workers: 1}), []string{"a", "b"},
						func(ctx context.Context, _ string) (int, error) {
							return call(ctx, careful("pay", 3, time.Second), func(ctx context.Context) (int, error) {
								select {
								case <-time.After(time.Minute):
									return 1, nil
								case <-ctx.Done():
									return 0, context.Cause(ctx)
								}
							})
						}, nil)
					return err
				})
				if err == nil {
					t.Error("the run has succeeded")
				}
				wantStep(t, p.Engine, "one", "/import:/a:pay", storage.StatusSucceeded)
				wantStep(t, p.Engine, "one", "/import/a", storage.StatusSucceeded)
				wantStep(t, p.Engine, "one", "/import/b", storage.StatusOpen)
			})
		})
	}
}
