package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

var errDown = errors.New("connection refused")

// down is a call that fails, and counts.
func down(calls *int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		*calls++
		return 0, errDown
	}
}

func TestSharedBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		s := genapi.StepPolicy{
			Name: "ping",
			Policy: &retry.Policy{Name: "ping", RetryUnknown: true,
				Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second, Base: 1}},
			Breaker: &breaker.Policy{Name: "server", Failures: 3, OpenFor: 10 * time.Second},
		}
		calls := 0
		ping := func(run string, fn func(context.Context) (int, error)) error {
			e := newEngine(t, store) // another process
			return e.Run(t.Context(), run, func(ctx context.Context) error {
				_, err := genapi.Call(ctx, &s, genapi.ID(), genapi.Digest{}, fn)
				return err
			})
		}
		if err := ping("one", down(&calls)); !errors.Is(err, retry.ErrAttempts) || calls != 3 {
			t.Fatalf("%d calls, err = %v; want 3 and ErrAttempts", calls, err)
		}
		if err := ping("two", down(&calls)); !errors.Is(err, retry.ErrBreakerOpen) || calls != 3 {
			t.Errorf("%d calls, err = %v; want the open breaker to refuse the call of another engine", calls, err)
		}
		time.Sleep(11 * time.Second)
		if err := ping("three", func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Errorf("the probe: %v", err)
		}
		if err := ping("four", func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Errorf("after the probe: %v", err)
		}
	})
}

// TestOneProbe: of many steps that a half-open breaker could admit, one is
// executed.
func TestOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		s := genapi.StepPolicy{
			Name: "ping",
			Policy: &retry.Policy{
				Name: "ping", RetryOn: []retry.Class{retry.ClassNetwork, retry.ClassBreakerOpen},
				Schedule: retry.Schedule{MaxAttempts: 100, InitialDelay: 12 * time.Second, Base: 1},
			},
			Breaker: &breaker.Policy{Name: "server", Failures: 1, OpenFor: 10 * time.Second},
		}
		var mu sync.Mutex
		inside, most, healthy := 0, 0, time.Now().Add(20*time.Second)
		err := e.Run(t.Context(), "one", func(ctx context.Context) error {
			var wg sync.WaitGroup
			errs := make([]error, 50)
			for i := range errs {
				wg.Go(func() {
					_, errs[i] = genapi.Call(ctx, &s, genapi.ID(i), genapi.Digest{}, func(ctx context.Context) (int, error) {
						mu.Lock()
						inside++
						if time.Now().After(healthy.Add(-15*time.Second)) && time.Now().Before(healthy) {
							most = max(most, inside)
						}
						mu.Unlock()
						time.Sleep(time.Second)
						mu.Lock()
						defer mu.Unlock()
						inside--
						if time.Now().Before(healthy) {
							return 0, errDown
						}
						return i, nil
					})
				})
			}
			wg.Wait()
			return errors.Join(errs...)
		})
		if err != nil {
			t.Fatal(err)
		}
		if most != 1 {
			t.Errorf("%d probes at a time, want 1", most)
		}
	})
}

func TestBudgetOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		p := retry.Policy{Name: "ping", RetryUnknown: true,
			Schedule: retry.Schedule{MaxAttempts: 10, InitialDelay: time.Second, Base: 1}}
		var out bytes.Buffer
		consumed := 0
		log := events.Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
		observe := func(ctx context.Context, ev events.Event) {
			if ev.Kind != events.EventJob {
				return
			}
			if ev.Job.Kind == job.EventBudgetConsumed {
				consumed++
			}
			log(ctx, ev)
		}
		run := func(limit int) (calls int, errs []error) {
			e := newEngine(t, store, durable.OnEvent(observe))
			_ = e.Run(t.Context(), "one", func(ctx context.Context) error {
				for _, name := range []string{"a", "b"} {
					_, err := durable.Step(ctx, name, &p, down(&calls))
					errs = append(errs, err)
				}
				return nil
			}, durable.Budget(job.BudgetPolicy{Name: "day", Retries: limit, PerUnit: 3}))
			return calls, errs
		}
		calls, errs := run(4)
		// Three retries of a, which its own limit ends; one of b, then the run has none left.
		if calls != 4+2 {
			t.Errorf("%d calls, want 6", calls)
		}
		for _, err := range errs {
			if !errors.Is(err, job.ErrBudget) {
				t.Errorf("err = %v, want job.ErrBudget", err)
			}
		}
		if consumed != 4 {
			t.Errorf("%d retries were reported as taken from the budget, want 4", consumed)
		}
		const want = `level=WARN msg=RetryBudgetExhausted group=day job_id=one reason="workflow_budget_exhausted (3/3)" unit=a
level=WARN msg=RetryBudgetExhausted group=day job_id=one reason="job_budget_exhausted (4/4)" unit=b
`
		if got := regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(out.String(), ""); got != want {
			t.Errorf("logged\n%swant\n%s", got, want)
		}
	})
}

func TestSharedRatioBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		s := genapi.StepPolicy{
			Name: "ping",
			Policy: &retry.Policy{Name: "ping", RetryUnknown: true,
				Schedule: retry.Schedule{MaxAttempts: 10, InitialDelay: time.Second, Base: 1}},
			Budget: &budget.Policy{Name: "server", Burst: 5, MinPerSecond: budget.NoRefill, Ratio: 0.5},
		}
		calls := 0
		for i := range 4 { // as many engines
			e := newEngine(t, store)
			_ = e.Run(t.Context(), fmt.Sprint(i), func(ctx context.Context) error {
				_, err := genapi.Call(ctx, &s, genapi.ID(), genapi.Digest{}, down(&calls))
				if !errors.Is(err, retry.ErrBudget) {
					t.Errorf("err = %v, want ErrBudget", err)
				}
				return nil
			})
		}
		if calls != 4+5 {
			t.Errorf("%d calls, want 4 and the 5 retries that the budget has", calls)
		}
	})
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
		e := newEngine(t, memory.New(), durable.OnEvent(events.Log(l)))
		p := retry.Policy{Name: "ping", RetryUnknown: true,
			Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second, Base: 1}}
		_ = e.Run(t.Context(), "one", func(ctx context.Context) error {
			for i := range 3 {
				attempts := 0
				_, _ = durable.Step(ctx, fmt.Sprint("s", i), &p, func(context.Context) (int, error) {
					if attempts++; i == 0 && attempts == 2 {
						return 1, nil
					}
					return 0, fmt.Errorf("dial tcp 10.0.0.%d:80: connection refused", i)
				})
			}
			return nil
		})
		got, err := e.Admin().Stats(t.Context(), admin.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Attempts != 8 || got.Retries != 5 || got.Failures != 7 || got.Waited != 5*time.Second {
			t.Errorf("got %+v", got)
		}
		if got.Success != (admin.Durations{Count: 1, Total: time.Second, Max: time.Second}) {
			t.Errorf("success %+v", got.Success)
		}
		want := []string{"network dial tcp #: connection refused 7 3"}
		var patterns []string
		for _, p := range got.Patterns {
			patterns = append(patterns, fmt.Sprint(p.Class, " ", p.Text, " ", p.Attempts, " ", p.Steps))
		}
		if !slices.Equal(patterns, want) {
			t.Errorf("patterns %q, want %q", patterns, want)
		}
		if text := out.String(); strings.Count(text, `msg="step exhausted"`) != 2 {
			t.Errorf("the log lacks the exhausted steps:\n%s", text)
		}
		only, err := e.Admin().Stats(t.Context(), admin.Filter{Status: []storage.Status{storage.StatusSucceeded}})
		if err != nil || only.Attempts != 2 {
			t.Errorf("the succeeded ones: %+v, %v", only, err)
		}
	})
}

// A step that is requeued is counted from zero for its policy. What was spent on it
// before stays in the statistics.
func TestStatsAfterRequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		down := oneStep(careful("charge", 3, time.Second), func(context.Context) (int, error) {
			return 0, errors.New("down")
		})
		var before admin.Stats
		for n := 1; n <= 3; n++ {
			_ = p.run("one", down)
			got, err := p.Admin().Stats(t.Context(), admin.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				before = got
			}
			waited := time.Duration(n) * before.Waited
			if got.Attempts != n*3 || got.Failures != n*3 || got.Retries != n*3-1 || got.Waited != waited {
				t.Errorf("after %d executions: %+v, want %d attempts and %v of waits", n, got, n*3, waited)
			}
			if err := p.Admin().Requeue(t.Context(), "one", "charge"); err != nil {
				t.Fatal(err)
			}
		}
		if before.Waited == 0 {
			t.Error("nothing was waited")
		}
	})
}

// A dead letter that a breaker has exhausted says so, and is found by its class: the
// error of the last attempt alone would not say why there was no other.
func TestRefusalsAreTold(t *testing.T) {
	for name, test := range map[string]struct {
		retryOn []retry.Class
		calls   int // of a run that fails before
		text    string
	}{
		"at once":            {nil, 0, "refused by breaker bank; the last attempt: down"},
		"before any attempt": {nil, 1, "refused by breaker bank"},
		"again and again": {
			[]retry.Class{retry.ClassAny, retry.ClassBreakerOpen}, 1, "4 refused by breaker bank",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				charge := careful("charge", 4, time.Second)
				charge.OnExhausted = genapi.ExhaustedDeadLetter
				charge.Policy.RetryOn = test.retryOn
				charge.Breaker = &breaker.Policy{Name: "bank", Failures: 1, OpenFor: time.Minute}
				down := func(context.Context) (int, error) { return 0, errors.New("down") }
				for range test.calls {
					probe := careful("probe", 1, 0)
					probe.Breaker = charge.Breaker
					_ = p.run("probe", oneStep(probe, down))
				}
				_ = p.run("one", oneStep(charge, down))
				letter := wantStep(t, p.Engine, "one", "charge", storage.StatusDead)
				if letter.Class != retry.ClassBreakerOpen || letter.Error != test.text ||
					letter.Eligibility != admin.EligibleReprocess {
					t.Errorf("got %+v, want class %s and error %q", letter, retry.ClassBreakerOpen, test.text)
				}
				found := 0
				for _, err := range p.Admin().Steps(t.Context(), admin.Filter{
					DeadLetter: true, Class: []retry.Class{retry.ClassBreakerOpen},
				}) {
					if found++; err != nil {
						t.Fatal(err)
					}
				}
				if found != 1 {
					t.Errorf("%d dead letters have the class, want 1", found)
				}
			})
		})
	}
}
