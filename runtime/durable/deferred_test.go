package durable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A trail has the transactions and the calls of a run, in their order.
type trail struct {
	mu    sync.Mutex
	lines []string
}

func (d *trail) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// over returns a store that writes its transactions into the trail.
func (d *trail) over(s storage.Store) storage.Store {
	return &hooked{s, func(ctx context.Context, sel storage.Select, decide decision, next update) error {
		line := ""
		err := next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
			w, err := decide(tx)
			line = writesLine(w)
			return w, err
		})
		if err == nil && line != "" {
			d.add(line)
		}
		return err
	}}
}

// writesLine returns the steps and the runs without an owner that are written.
func writesLine(w storage.Writes) string {
	puts := slices.SortedFunc(slices.Values(w.Put), func(a, b storage.Record) int {
		return cmp.Or(-cmp.Compare(a.Key.Kind, b.Key.Kind), a.Key.Compare(b.Key))
	})
	var parts []string
	for _, r := range puts {
		switch {
		case r.Key.Kind == storage.KindStep:
			parts = append(parts, fmt.Sprint(r.Key.ID, " ", r.Status))
		case r.Key.Kind == storage.KindRun && r.Owner == "":
			parts = append(parts, fmt.Sprint("run ", r.Key.Run, " ", r.Status))
		}
	}
	return strings.Join(parts, ", ")
}

// do calls a step that writes its calls into the trail.
func (d *trail) do(ctx context.Context, s *genapi.StepPolicy) (int, error) {
	return call(ctx, s, func(ctx context.Context) (int, error) {
		info, _ := durable.Current(ctx)
		d.add(fmt.Sprint("call ", info.Step))
		return info.Attempt, nil
	})
}

// steps returns the function of a run that calls some steps in turn.
func (d *trail) steps(all ...*genapi.StepPolicy) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, s := range all {
			if _, err := d.do(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// A success waits for the next transaction of its run. It is recorded before, if something
// is executed without one.
func TestHold(t *testing.T) {
	a, b := idempotent("a", 3, time.Second), idempotent("b", 3, time.Second)
	unrecorded := idempotent("b", 3, time.Second)
	unrecorded.Record = genapi.RecordFailures
	before := func(then func(ctx context.Context, d *trail) error) func(*trail) func(context.Context) error {
		return func(d *trail) func(context.Context) error {
			return func(ctx context.Context) error {
				if _, err := d.do(ctx, a); err != nil {
					return err
				}
				return then(ctx, d)
			}
		}
	}
	of := func(all ...*genapi.StepPolicy) func(*trail) func(context.Context) error {
		return func(d *trail) func(context.Context) error { return d.steps(all...) }
	}
	for _, c := range []struct {
		name string
		fn   func(*trail) func(context.Context) error
		want string
	}{
		{"two steps", of(a, b), `
			a executing
			call a
			a succeeded, b executing
			call b
			b succeeded, run one succeeded`},
		{"a step that is not idempotent", of(careful("a", 3, time.Second), b), `
			a executing
			call a
			a succeeded
			b executing
			call b
			b succeeded, run one succeeded`},
		{"before a step that is not idempotent", of(a, careful("b", 3, time.Second)), `
			a executing
			call a
			a succeeded, b executing
			call b
			b succeeded
			run one succeeded`},
		{"before a step without a policy", of(a, &genapi.StepPolicy{Name: "b"}), `
			a executing
			call a
			a succeeded
			call b
			b succeeded
			run one succeeded`},
		{"before a step with record: failures", of(a, unrecorded), `
			a executing
			call a
			a succeeded
			call b
			run one succeeded`},
		{"slow code between", before(func(ctx context.Context, d *trail) error {
			time.Sleep(6 * time.Millisecond)
			d.add("slow")
			return d.steps(b)(ctx)
		}), `
			a executing
			call a
			a succeeded
			slow
			b executing
			call b
			b succeeded, run one succeeded`},
		{"before a sleep", before(func(ctx context.Context, d *trail) error {
			return durable.Sleep(ctx, "sleep", time.Minute)
		}), `
			a executing
			call a
			a succeeded, sleep waiting
			sleep succeeded
			run one succeeded`},
		{"before a wait that parks", before(func(ctx context.Context, d *trail) error {
			_, err := durable.Wait[int](ctx, "approval", time.Hour)
			return err
		}), `
			a executing
			call a
			a succeeded, approval waiting
			run one parked`},
		{"before a child", before(func(ctx context.Context, d *trail) error {
			return durable.Start(ctx, engineOf(ctx), "nobody", "child", 1)
		}), `
			a executing
			call a
			a succeeded
			%start/child succeeded, run child open
			run one succeeded`},
		{"before a group", before(func(ctx context.Context, d *trail) error {
			g := job.NewGroup(job.GroupPolicy{Name: "g"}, "")
			_, err := durable.Group(ctx, g, []string{"u"}, func(ctx context.Context, _ string) (int, error) {
				return d.do(ctx, b)
			}, nil)
			return err
		}), `
			a executing
			call a
			/g/u open, a succeeded
			/g:/u:b executing
			call /g:/u:b
			/g:/u:b succeeded
			/g/u succeeded
			run one succeeded`},
		{"an error", before(func(context.Context, *trail) error { return errors.New("broken") }), `
			a executing
			call a
			a succeeded, run one failed`},
		{"called again", before(func(ctx context.Context, d *trail) error {
			_, err := d.do(ctx, a)
			if !errors.Is(err, durable.ErrRepeated) {
				return fmt.Errorf("got %v, want ErrRepeated", err)
			}
			return nil
		}), `
			a executing
			call a
			a succeeded, run one succeeded`},
		{"the caller has gone", before(func(ctx context.Context, d *trail) error {
			inner, cancel := context.WithCancel(ctx)
			cancel()
			_, err := d.do(inner, b)
			return err
		}), `
			a executing
			call a
			a succeeded, run one failed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d trail
				p := startProcess(t, d.over(memory.New()))
				ctx := context.WithValue(p.ctx, engineKey{}, p.Engine)
				err := p.Run(ctx, "one", c.fn(&d), durable.Hold())
				if strings.Contains(c.want, "one succeeded") && err != nil {
					t.Error(err)
				}
				want := strings.Split(strings.ReplaceAll(strings.TrimSpace(c.want), "\t", ""), "\n")
				if !slices.Equal(d.lines, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(d.lines, "\n"), strings.Join(want, "\n"))
				}
			})
		})
	}
}

// engineKey is the key of the engine of a run in its context.
type engineKey struct{}

func engineOf(ctx context.Context) *durable.Engine { return ctx.Value(engineKey{}).(*durable.Engine) }

// While another step is executed, which may use what a step has returned, nothing waits.
func TestHoldConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d trail
		p := startProcess(t, d.over(memory.New()))
		err := p.run("one", func(ctx context.Context) error {
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := call(ctx, idempotent("long", 1, 0), func(context.Context) (int, error) {
					time.Sleep(time.Second)
					return 1, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			time.Sleep(time.Millisecond)
			if err := d.steps(idempotent("a", 1, 0), idempotent("b", 1, 0))(ctx); err != nil {
				return err
			}
			wg.Wait()
			return nil
		}, durable.Hold())
		want := []string{
			"long executing", "a executing", "call a", "a succeeded", "b executing", "call b", "b succeeded",
			"long succeeded, run one succeeded",
		}
		if err != nil || !slices.Equal(d.lines, want) {
			t.Errorf("got %q and error %v, want %q", d.lines, err, want)
		}
	})
}

// Workers hold successes of the runs of a handler, and report them when they are recorded.
func TestHoldHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d trail
		p := startProcess(t, d.over(memory.New()))
		p.forward = func(_ context.Context, ev events.Event) {
			if ev.Kind != events.EventCreated {
				d.add(fmt.Sprint("event ", ev.Kind, " ", ev.Step))
			}
		}
		steps := d.steps(idempotent("a", 1, 0), idempotent("b", 1, 0))
		durable.Handle(p.Engine, "job", func(ctx context.Context, _ int) (int, error) {
			return 1, steps(ctx)
		}, durable.Hold())
		if err := durable.Start(t.Context(), p.Engine, "job", "one", 1); err != nil {
			t.Fatal(err)
		}
		defer work(t, p.Engine)()
		if _, err := durable.Await[int](t.Context(), p.Engine, "one"); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"run one open", "event began ", "a executing", "event attempt started a", "call a",
			"a succeeded, b executing", "event step succeeded a", "event attempt started b", "call b",
			"b succeeded, run one succeeded", "event step succeeded b", "event completed ",
		}
		if !slices.Equal(d.lines, want) {
			t.Errorf("got %q, want %q", d.lines, want)
		}
		err := durable.Start(t.Context(), p.Engine, "job", "two", 1, durable.Hold())
		wantError(t, err, durable.ErrConflict)
	})
}

// What a crash loses: a result that code between the steps has seen. No step was called
// with it.
func TestHoldNotCoveredBetweenSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var seen, given []int
		for round := range 2 {
			p := startProcess(t, m)
			err := p.run("one", func(ctx context.Context) error {
				got, err := call(ctx, idempotent("a", 3, 0), func(ctx context.Context) (int, error) {
					info, _ := durable.Current(ctx)
					return info.Attempt, nil
				})
				if err != nil {
					return err
				}
				if seen = append(seen, got); round == 0 {
					p.kill()
				}
				return oneStep(idempotent("b", 3, 0), func(context.Context) (int, error) {
					given = append(given, got)
					return 1, nil
				})(ctx)
			}, durable.Hold())
			if (err != nil) != (round == 0) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if !slices.Equal(seen, []int{1, 2}) || !slices.Equal(given, []int{2}) {
			t.Errorf("the function has seen %v, step b was called with %v; want [1 2] and [2]", seen, given)
		}
	})
}

// If the run is canceled or paused meanwhile, the success is recorded, and no step starts.
func TestHoldOperated(t *testing.T) {
	for name, operate := range map[string]func(context.Context, *admin.Client) error{
		"canceled": func(ctx context.Context, c *admin.Client) error { return c.Cancel(ctx, "one") },
		"paused":   func(ctx context.Context, c *admin.Client) error { return c.Pause(ctx, "one") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				var d trail
				p, operator := startProcess(t, d.over(m)), newEngine(t, m)
				err := p.run("one", func(ctx context.Context) error {
					if _, err := d.do(ctx, idempotent("a", 3, 0)); err != nil {
						return err
					}
					if err := operate(ctx, operator.Admin()); err != nil {
						return err
					}
					_, err := d.do(ctx, idempotent("b", 3, 0))
					return err
				}, durable.Hold())
				want := []string{"a executing", "call a", "a succeeded", "run one " + name}
				if err == nil || !slices.Equal(d.lines, want) {
					t.Errorf("got %q and error %v, want %q and an error", d.lines, err, want)
				}
			})
		})
	}
}

// The process of a held success cannot reach the store, and another one executes the run:
// the success is kept as evidence, and nothing follows it. The context of a function that
// waits ends.
func TestHoldFenced(t *testing.T) {
	for name, want := range map[string]error{"goes on": storage.ErrStore, "waits": durable.ErrFenced} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { holdFenced(t, want) }) })
	}
}

func holdFenced(t *testing.T, want error) {
	m := memory.New()
	var cut atomic.Bool
	p := startProcess(t, &hooked{m, func(ctx context.Context, sel storage.Select, decide decision, next update) error {
		if cut.Load() {
			return storage.ErrStore
		}
		return next(ctx, sel, decide)
	}})
	var j journal
	work := func(ctx context.Context) error {
		_, err := call(ctx, idempotent("a", 3, time.Second), failing(&j, 0))
		if err != nil {
			return err
		}
		if len(j.attempts("a")) == 1 {
			cut.Store(true)
			time.AfterFunc(2*time.Minute, func() { cut.Store(false) })
			if want == durable.ErrFenced {
				<-ctx.Done()
				return context.Cause(ctx)
			}
		}
		_, err = call(ctx, idempotent("b", 3, 0), failing(&j, 0))
		return err
	}
	done := make(chan error)
	go func() { done <- p.run("one", work, durable.Hold()) }()
	time.Sleep(time.Minute)
	other := newEngine(t, m)
	if err := other.Run(t.Context(), "one", work, durable.Hold()); err != nil {
		t.Error(err)
	}
	wantError(t, <-done, want)
	j.want(t, "a", 1, 2)
	j.want(t, "b", 1)
	wantHistory(t, other, "one", "a", "1 lost, then 1s", "1 succeeded, late", "2 succeeded")
}
