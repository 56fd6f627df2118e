package durable_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// importGroup returns a group of the job "one".
func importGroup(p job.GroupPolicy) *job.Group {
	p.Name = "import"
	return job.NewGroup(p, "one")
}

// counters returns what is recorded of a group: units pending, succeeded, failed,
// and the number of ends that were counted.
func counters(t *testing.T, m *memory.Store, run, id string) [4]int {
	t.Helper()
	fields := body(t, m, storage.Key{Kind: storage.KindGroup, Run: run, ID: id})
	progress, _ := fields["progress"].(map[string]any)
	n := func(v any) int {
		f, _ := v.(float64)
		return int(f)
	}
	return [4]int{n(progress["pending"]), n(progress["succeeded"]), n(progress["failed"]), n(fields["seq"])}
}

// A crash at any point loses no end of a unit, counts none twice, and grants no
// retry twice.
func TestGroupCrashedEverywhere(t *testing.T) {
	units := []string{"a", "b", "c/1", "d", "e"}
	var outcome job.Outcome[int]
	copyShard := idempotent("copy", 2, time.Second)
	crashEverywhere(t, func(*memory.Store, int) func(context.Context) error {
		fails := map[string]int{"b": 1, "d": 9}
		return func(ctx context.Context) (err error) {
			g := importGroup(job.GroupPolicy{
				Workers: 2, OnUnitFailure: job.FailureDeadLetter, Budget: &job.BudgetPolicy{Retries: 10},
			})
			outcome, err = durable.Group(ctx, g, units, func(ctx context.Context, unit string) (int, error) {
				return callID(ctx, copyShard, unit, func(ctx context.Context) (int, error) {
					info, _ := durable.Current(ctx)
					if info.Attempt <= fails[unit] {
						return 0, errors.New("unavailable")
					}
					return len(unit), nil
				})
			}, nil)
			return err
		}
	}, func(t *testing.T, p *process, n int) {
		m := p.store.Store.(*memory.Store)
		if got := counters(t, m, "one", "import"); got != [4]int{0, 4, 1, 5} {
			t.Errorf("crash at point %d: counters %v, want 4 successes and a failure", n, got)
		}
		if got := slices.Sorted(maps.Keys(outcome.Results)); strings.Join(got, " ") != "a b c/1 e" ||
			len(outcome.Errors) != 1 || !errors.Is(outcome.Errors["d"], retry.ErrAttempts) ||
			len(outcome.DeadLetters) != 1 || outcome.String() != "all_dcs_reported" {
			t.Errorf("crash at point %d: outcome %+v", n, outcome)
		}
		wantStep(t, p.Engine, "one", "/import/d", storage.StatusDead)
		granted := 0
		for a, err := range p.Admin().History(t.Context(), admin.Filter{Run: "one"}) {
			if err != nil {
				t.Fatal(err)
			}
			if a.Wait > 0 {
				granted++
			}
		}
		budget := body(t, m, storage.Key{Kind: storage.KindBudget, Run: "one", ID: "import"})
		if got, _ := budget["consumed"].(float64); int(got) != granted {
			t.Errorf("crash at point %d: the budget has counted %v retries, the history has %d", n, got, granted)
		}
		if err := p.run("one", func(context.Context) error { return errors.New("called again") }); err != nil {
			t.Errorf("crash at point %d: %v", n, err)
		}
	})
}

// Units that have ended are not executed again; their results come from the store.
func TestGroupResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var calls []string
		for round := range 3 {
			p := startProcess(t, m)
			var out job.Outcome[string]
			err := p.run("one", func(ctx context.Context) (err error) {
				op := func(ctx context.Context, unit string) (string, error) {
					calls = append(calls, unit)
					switch {
					case unit == "c" && round == 0:
						p.kill()
						return "", context.Cause(ctx)
					case unit == "b":
						return "", errors.New("broken")
					case unit == "large":
						return strings.Repeat("x", 5000), nil
					}
					return "result of " + unit, nil
				}
				units := []string{"large", "a", "b", "c", "d"}
				if out, err = durable.Group(ctx, importGroup(job.GroupPolicy{Workers: 1}), units, op, nil); err != nil {
					return err
				}
				if round == 1 {
					return errors.New("the run fails after the group")
				}
				return nil
			})
			if (err != nil) != (round < 2) {
				t.Fatalf("round %d: %v", round, err)
			}
			if round == 0 {
				continue
			}
			unit, ok := errors.AsType[*durable.UnitError](out.Errors["b"])
			if !ok || unit.Unit != "b" || unit.Text != "broken" || len(out.Errors) != 1 ||
				len(out.Results) != 4 || out.Results["d"] != "result of d" || len(out.Results["large"]) != 5000 {
				t.Errorf("round %d: %+v", round, out)
			}
		}
		if got := strings.Join(calls, " "); got != "large a b c c d" {
			t.Errorf("calls %s", got)
		}
	})
}

// A list that has changed: added units are executed, removed ones are reported.
func TestGroupWithAnotherList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var calls []string
		var p *process
		run := func(units string, kill string) (out job.Outcome[int]) {
			p = startProcess(t, m)
			calls = nil
			_ = p.run("one", func(ctx context.Context) (err error) {
				op := func(ctx context.Context, unit string) (int, error) {
					if calls = append(calls, unit); unit == kill {
						p.kill()
						return 0, context.Cause(ctx)
					}
					return 1, nil
				}
				out, err = durable.Group(ctx, importGroup(job.GroupPolicy{Workers: 1}), strings.Fields(units), op, nil)
				return errors.Join(err, errors.New("again"))
			})
			return out
		}
		want := func(out job.Outcome[int], called, results, removed string) {
			t.Helper()
			got := []string{
				strings.Join(calls, " "), strings.Join(slices.Sorted(maps.Keys(out.Results)), " "),
				strings.Join(out.Removed, " "),
			}
			if w := []string{called, results, removed}; !slices.Equal(got, w) {
				t.Errorf("called, results, removed: got %q, want %q", got, w)
			}
		}
		run("a b c d", "c")
		// a has ended, c and d have not: c is removed, as is a.
		want(run("b d e d", ""), "d e", "a b d e", "a c")
		if got := counters(t, m, "one", "import"); got != [4]int{0, 4, 0, 4} {
			t.Errorf("counters %v", got)
		}
		if got := p.saw(events.EventUnitRemoved); len(got) != 2 || got[1].Step != "/import/c" {
			t.Errorf("events %+v", got)
		}
		want(run("b d e", ""), "", "a b d e", "a c") // the same units
		want(run("a b c d e f", ""), "c f", "a b c d e f", "")
		if got := counters(t, m, "one", "import"); got != [4]int{0, 6, 0, 6} {
			t.Errorf("counters %v", got)
		}
	})
}

// The deadline and the timeout count from the first start, by the clock of the
// store, and a provisional result is passed on once.
func TestGroupDeadlineOutlivesTheProcess(t *testing.T) {
	for _, tt := range []struct {
		policy job.GroupPolicy
		want   string
		err    error
	}{
		{job.GroupPolicy{BestEffort: &job.BestEffort{Deadline: time.Minute, Late: job.LateUpdate}},
			"deadline_expired (completed: 1)", nil},
		{job.GroupPolicy{Timeout: time.Minute}, "waiting_for_all_dcs", retry.ErrTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			start := time.Now()
			early := 0
			var p *process
			var out job.Outcome[int]
			run := func() error {
				p = startProcess(t, m)
				return p.run("one", func(ctx context.Context) (err error) {
					out, err = durable.Group(ctx, importGroup(tt.policy), []string{"a", "b"},
						func(ctx context.Context, unit string) (int, error) {
							if unit == "b" {
								<-ctx.Done()
								return 0, context.Cause(ctx)
							}
							return 1, nil
						}, func(job.Outcome[int]) { early++ })
					return err
				})
			}
			time.AfterFunc(20*time.Second, func() { p.kill() })
			if err := run(); err == nil {
				t.Fatal("the process did not die")
			}
			err := run()
			if got := time.Since(start); got != time.Minute || !errors.Is(err, tt.err) || out.String() != tt.want ||
				len(out.Results) != 1 {
				t.Errorf("got %v, %+v after %v", err, out, got)
			}
			if want := map[bool]int{true: 1}[tt.policy.BestEffort != nil]; early != want {
				t.Errorf("%d provisional results, want %d", early, want)
			}
			wantStep(t, p.Engine, "one", "/import/b", storage.StatusAbandoned)
		})
	}
}

// A provisional result that a process was passing on when it died is passed on
// again.
func TestGroupPassesOnProvisionalResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var early []job.Outcome[int]
		for round := range 2 {
			p := startProcess(t, m)
			_ = p.run("one", func(ctx context.Context) error {
				g := importGroup(job.GroupPolicy{BestEffort: &job.BestEffort{Late: job.LateUpdate}})
				_, err := durable.Group(ctx, g, []string{"a", "b"}, func(ctx context.Context, unit string) (int, error) {
					if unit == "b" {
						time.Sleep(time.Minute)
					}
					return 1, ctx.Err()
				}, func(o job.Outcome[int]) {
					if early = append(early, o); round == 0 {
						p.kill()
					}
				})
				return err
			})
		}
		if len(early) != 2 || len(early[1].Results) != 1 || early[0].Decision != early[1].Decision {
			t.Errorf("provisional results %+v", early)
		}
	})
}
