package durable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Ids with the same characters in other parts are ids of different steps.
func TestHistory24IDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		ids := []genapi.StepID{
			genapi.ID("a/b", "c"), genapi.ID("a", "b/c"), genapi.ID("a", "b", "c"), genapi.ID("a/b/c"),
			genapi.ID("a%2Fb", "c"),
			genapi.ID("a\x00b", "c"), genapi.ID("a\xffb", "c"), genapi.ID("", "a"), genapi.ID("a", ""), genapi.ID("a"),
			genapi.ID(), genapi.ID(""), genapi.ID(1), genapi.ID(12), genapi.ID(1, 2), genapi.ID(true),
			genapi.ID(time.Unix(0, 0).UTC()),
		}
		calls := 0
		err := p.run("one", func(ctx context.Context) error {
			for range 2 {
				for i, id := range ids {
					charge := careful("charge", 1, 0)
					charge.Repeat = true
					got, err := genapi.Call(ctx, charge, id, genapi.Arguments(), func(context.Context) (int, error) {
						calls++
						return i, nil
					})
					if err != nil || got != i {
						t.Errorf("id %d: got %d, %v", i, got, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if calls != len(ids) {
			t.Errorf("%d ids led to %d calls", len(ids), calls)
		}
	})
}

// An id that is empty, too long or of another type is an error, and the function
// is not called.
func TestHistory24InvalidIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		err := p.run("one", func(ctx context.Context) error {
			for _, c := range []struct {
				name string
				id   genapi.StepID
			}{
				{"", genapi.ID("a")}, {"charge", genapi.ID(strings.Repeat("k", 5000))}, {"charge", genapi.ID(struct{}{})},
				{"charge", genapi.ID(1.5)},
			} {
				_, err := genapi.Call(ctx, careful(c.name, 1, 0), c.id, genapi.Arguments(), func(context.Context) (int, error) {
					t.Error("the function was called")
					return 0, nil
				})
				wantError(t, err, durable.ErrID)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		for _, id := range []string{"", "a\xff", "a\x00", strings.Repeat("k", 5000)} {
			wantError(t, p.run(id, func(context.Context) error { t.Error("called"); return nil }), durable.ErrID)
		}
	})
}

// In a loop, a step is one step, which returns its result once; with a Scope for
// each iteration, it is many.
func TestHistory25Loop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		poll := careful("poll", 1, 0)
		err := p.run("one", func(ctx context.Context) error {
			for i := range 5 {
				got, err := call(ctx, poll, failing(&j, 0))
				if i == 0 && (got != 101 || err != nil) || i > 0 && !errors.Is(err, durable.ErrRepeated) {
					t.Errorf("iteration %d without a scope: got %d, %v", i, got, err)
				}
				scoped := durable.Scope(durable.Scope(ctx, "page/"), fmt.Sprint(i))
				if _, err := call(scoped, poll, failing(&j, 0)); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if all := steps(t, p.Engine, "one"); len(all) != 6 || len(j.calls) != 6 {
			t.Errorf("got %d calls of the steps %q, want 6", len(j.calls), slices.Sorted(maps.Keys(all)))
		}
		j.want(t, "poll", 1)
	})
}

// Concurrent calls of a step share one execution. When the caller that executes
// it is canceled, another one continues.
func TestHistory25ConcurrentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		s := idempotent("charge", 3, time.Second)
		s.Repeat = true
		err := p.run("one", func(ctx context.Context) error {
			first, cancel := context.WithCancel(ctx)
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := call(first, s, func(ctx context.Context) ([]int, error) {
					j.add(ctx)
					<-ctx.Done()
					return nil, ctx.Err()
				})
				wantError(t, err, context.Canceled)
			})
			synctest.Wait()
			results := make([][]int, 9)
			for i := range results {
				wg.Go(func() {
					var err error
					results[i], err = call(ctx, s, func(ctx context.Context) ([]int, error) {
						j.add(ctx)
						return []int{1, 2}, nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			cancel()
			wg.Wait()
			results[0][0] = 99 // each has a copy
			for _, r := range results[1:] {
				if !slices.Equal(r, []int{1, 2}) {
					t.Errorf("got the result %v, want a copy of 1 and 2", r)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1, 2)
		wantHistory(t, p.Engine, "one", "charge", "1 interrupted, then 1s", "2 succeeded")
	})
}

// A durable call within a step is a part of that step: it is not recorded. Its
// failure in a retry of that step is retried with it, and not by itself.
func TestHistory26DurableInDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		inner, outer := careful("inner", 2, time.Second), careful("outer", 3, time.Minute)
		calls := 0
		err := p.run("one", oneStep(outer, func(ctx context.Context) (int, error) {
			return call(ctx, inner, func(context.Context) (int, error) {
				if calls++; calls < 4 {
					return 0, errors.New("unavailable")
				}
				return 1, nil
			})
		}))
		if err != nil {
			t.Error(err)
		}
		// Twice in the first attempt of the outer step, once in each of its retries.
		if got, want := time.Since(epoch), time.Second+3*time.Minute; got != want || calls != 4 {
			t.Errorf("got %d calls in %v, want 4 in %v", calls, got, want)
		}
		if all := steps(t, p.Engine, "one"); len(all) != 1 {
			t.Errorf("got the steps %q, want outer only", slices.Sorted(maps.Keys(all)))
		}
	})
}

// A function that takes another branch after a crash keeps the results of the
// steps that it calls. Those that it does not call are reported.
func TestHistory27OtherBranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		first, second := startProcess(t, m), startProcess(t, m)
		var j journal
		work := func(branch string) func(context.Context) error {
			return func(ctx context.Context) error {
				if _, err := call(ctx, careful("both", 3, time.Minute), failing(&j, 0)); err != nil {
					return err
				}
				_, err := call(ctx, careful(branch, 3, time.Minute), failing(&j, 1))
				return err
			}
		}
		first.killAfter(time.Second)
		_ = first.run("one", work("left"))
		if err := second.run("one", work("right")); err != nil {
			t.Error(err)
		}
		j.want(t, "both", 1)
		j.want(t, "left", 1)
		j.want(t, "right", 1, 2)
		wantStep(t, second.Engine, "one", "left", storage.StatusAbandoned)
		abandoned := second.saw(events.EventAbandoned)
		if len(abandoned) != 1 || abandoned[0].Step != "left" {
			t.Errorf("got events %+v about abandoned steps, want one about left", abandoned)
		}
	})
}

// A recorded step that is called with another amount is an error, or reported.
func TestHistory28OtherArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		calls := 0
		charge := func(ctx context.Context, s *genapi.StepPolicy, amount int) (int, error) {
			args := genapi.Arguments("amount", amount)
			return genapi.Call(ctx, s, genapi.ID("order-7"), args, func(context.Context) (int, error) {
				calls++
				return amount, nil
			})
		}
		strict := careful("charge", 3, time.Second)
		lenient := *strict
		lenient.OnChanged, lenient.Repeat = genapi.ChangedReport, true
		err := p.run("one", func(ctx context.Context) error {
			if _, err := charge(ctx, strict, 100); err != nil {
				return err
			}
			_, err := charge(ctx, strict, 200)
			changed := wantAs[*durable.ChangedError](t, err)
			if changed.Run != "one" || changed.Step != "charge/order-7" {
				t.Errorf("got %+v, want the run and the step", changed)
			}
			wantError(t, err, durable.ErrChanged)
			if got, err := charge(ctx, &lenient, 200); got != 100 || err != nil {
				t.Errorf("with a report: got %d, %v; want the recorded 100", got, err)
			}
			return nil
		})
		if err != nil || calls != 1 || len(p.saw(events.EventChanged)) != 1 {
			t.Errorf("got error %v, %d calls, %d reports; want 1 call, 1 report", err, calls, len(p.saw(events.EventChanged)))
		}
	})
}

type receipt struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// A result that cannot be recorded, or not read into the type of today, is a
// typed error. The step is not executed again, until somebody says so.
func TestHistory29Results(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		err := p.run("one", func(ctx context.Context) error {
			for range 2 {
				refused(t, ctx, &j, "nan", math.NaN())
				refused(t, ctx, &j, "function", func() {})
				refused(t, ctx, &j, "large", strings.Repeat("x", 2<<20))
			}
			large := strings.Repeat("x", 1<<20-2)
			if got, err := result(ctx, &j, "largest", large); got != large || err != nil {
				t.Errorf("a result of 1 MiB: got %d bytes, %v", len(got), err)
			}
			_, err := result(ctx, &j, "receipt", receipt{"r-1", 100})
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if got := len(j.calls); got != 5 {
			t.Errorf("got %d calls, want one for each step", got)
		}
	})
}

// result calls a step that returns value.
func result[T any](ctx context.Context, j *journal, name string, value T) (T, error) {
	return call(ctx, careful(name, 3, time.Second), func(ctx context.Context) (T, error) {
		j.add(ctx)
		return value, nil
	})
}

// refused checks that a result cannot be recorded.
func refused[T any](t *testing.T, ctx context.Context, j *journal, name string, value T) {
	t.Helper()
	_, err := result(ctx, j, name, value)
	failed := wantAs[*durable.ResultError](t, err)
	wantError(t, err, durable.ErrResult)
	if failed.Step != name || failed.Type != fmt.Sprintf("%T", value) {
		t.Errorf("got step %q and type %q, want %q and %T", failed.Step, failed.Type, name, value)
	}
}

// After a change of the type, a recorded result is an error; a requeued step is
// executed again.
func TestHistory29TypeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		work := func(last error, use func(context.Context) error) func(context.Context) error {
			return func(ctx context.Context) error { return errors.Join(use(ctx), last) }
		}
		old := func(ctx context.Context) error {
			_, err := result(ctx, &j, "receipt", receipt{"r-1", 100})
			return err
		}
		_ = p.run("one", work(errors.New("stops here"), old))
		unknown := func(ctx context.Context) error {
			_, err := result(ctx, &j, "receipt", struct{ ID string }{"r-2"})
			return err
		}
		other := func(ctx context.Context) error {
			_, err := result(ctx, &j, "receipt", 7)
			return err
		}
		wantError(t, p.run("one", work(nil, unknown)), durable.ErrResult)
		wantError(t, p.run("one", work(nil, other)), durable.ErrResult)
		j.want(t, "receipt", 1)
		if err := p.Admin().Requeue(t.Context(), "one", "receipt", admin.Repeat()); err != nil {
			t.Fatal(err)
		}
		if err := p.run("one", work(nil, other)); err != nil {
			t.Error(err)
		}
		j.want(t, "receipt", 1, 2)
	})
}

var (
	errDeclined = errors.New("card declined")
	errOther    = errors.New("other")
)

// The error of a step takes the same branches when it is returned by the call
// that failed, and when it comes from the record.
func TestHistory30ErrorsIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		s := careful("charge", 2, time.Second)
		s.Errors = []error{errDeclined, errOther, io.ErrUnexpectedEOF, os.ErrNotExist}
		targets := append([]error{retry.ErrAttempts, retry.ErrPermanent, retry.ErrEscalated, io.EOF}, s.Errors...)
		var texts []string
		var branches [][]bool
		for range 3 {
			err := p.run("one", oneStep(s, func(context.Context) (int, error) {
				return 0, fmt.Errorf("order 7: %w: %w", errDeclined, &os.PathError{Op: "open", Path: "x", Err: os.ErrNotExist})
			}))
			failed := wantAs[*durable.StepError](t, err)
			texts = append(texts, fmt.Sprintf("%+v", []any{
				failed.Error(), failed.Attempts, failed.Class, failed.Reason, failed.Waited, failed.Escalated, failed.Policy,
			}))
			var taken []bool
			for _, target := range targets {
				taken = append(taken, errors.Is(err, target))
			}
			branches = append(branches, taken)
			wantRun(t, p.Engine, "one", storage.StatusFailed)
		}
		want := []bool{true, false, false, false, true, false, false, true}
		for i := range texts {
			if texts[i] != texts[0] || !slices.Equal(branches[i], want) {
				t.Errorf("run %d: got %s and branches %v, want %s and %v", i, texts[i], branches[i], texts[0], want)
			}
		}
	})
}

// A renamed step is another step, unless its policy lists the old name.
func TestHistory31Renamed(t *testing.T) {
	for _, formerly := range [][]string{nil, {"older", "old"}} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			first, second := startProcess(t, m), startProcess(t, m)
			var j journal
			first.killAfter(time.Second)
			_ = first.run("one", func(ctx context.Context) error {
				if _, err := callID(ctx, careful("old", 3, time.Minute), 1, failing(&j, 0)); err != nil {
					return err
				}
				_, err := callID(ctx, careful("old", 3, time.Minute), 2, failing(&j, 1))
				return err
			})
			renamed := careful("new", 3, time.Minute)
			renamed.Formerly = formerly
			err := second.run("one", func(ctx context.Context) error {
				for i := 1; i <= 2; i++ {
					if _, err := callID(ctx, renamed, i, failing(&j, 0)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if formerly == nil {
				j.want(t, "new/1", 1)
				j.want(t, "new/2", 1)
				wantStep(t, second.Engine, "one", "old/2", storage.StatusAbandoned)
				return
			}
			j.want(t, "old/1", 1)
			j.want(t, "old/2", 1, 2)
			if all := steps(t, second.Engine, "one"); len(all) != 2 {
				t.Errorf("got the steps %q, want the two old ones", slices.Sorted(maps.Keys(all)))
			}
		})
	}
}
