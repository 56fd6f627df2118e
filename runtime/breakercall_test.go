package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// A panic or Goexit in a probe gives the leave back: failsafe-go refuses an
// hour later.
func TestProbeThatNeverReturns(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("probe") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, breaker.Policy{})
				time.Sleep(31 * time.Second)
				var wait sync.WaitGroup
				wait.Add(1)
				go func() {
					defer wait.Done()
					defer func() { _ = recover() }()
					op := func(context.Context) error { end(); return nil }
					_ = protect(t.Context(), b, nil, Policy{Schedule: Schedule{MaxAttempts: 1}}, op)
				}()
				wait.Wait()
				err := protect(t.Context(), b, nil, Policy{}, func(context.Context) error { return nil })
				if err != nil || b.State() != breaker.Closed {
					t.Errorf("got %v, %v; want the next probe to close the breaker", err, b.State())
				}
			})
		})
	}
}

// The end of the caller's context neither opens the breaker nor closes it.
func TestCallersEndIsNeutral(t *testing.T) {
	b := breaker.New(breaker.Policy{Failures: 1})
	ctx, cancel := context.WithCancel(t.Context())
	err := protect(ctx, b, nil, Policy{}, func(ctx context.Context) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) || b.State() != breaker.Closed || b.Save().Failures != 0 {
		t.Errorf("got %v, %+v", err, b.Save())
	}
}

func TestAttemptTimeoutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Policy{Failures: 3, Count: []string{string(ClassTimeout)}})
		p := Policy{AttemptTimeout: time.Second, Schedule: Schedule{InitialDelay: None}}
		err := protect(t.Context(), b, nil, p, func(ctx context.Context) error { <-ctx.Done(); return errFailed })
		if !errors.Is(err, ErrAttempts) || b.State() != breaker.Open {
			t.Errorf("got %v, breaker %v", err, b.State())
		}
	})
}

// Whatever error an operation makes of its own timeout, the service was too
// slow: even an error that blames the caller.
func TestAttemptTimeoutCountsWithAnyError(t *testing.T) {
	const canceled = 1 // of gRPC
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{errFailed, context.Canceled, status(499), status(404)} {
			read := func(error) (Facts, bool) { return Facts{GRPC: canceled}, true }
			for _, grpc := range []func(error) (Facts, bool){nil, read} {
				b := breaker.New(breaker.Policy{Failures: 1})
				p := Policy{AttemptTimeout: time.Second, Schedule: Schedule{MaxAttempts: 1}, Facts: grpc}
				_ = protect(t.Context(), b, nil, p, func(ctx context.Context) error { <-ctx.Done(); return err })
				if b.State() != breaker.Open {
					t.Errorf("%v, a code: %v: the breaker is %v", err, grpc != nil, b.State())
				}
			}
		}
	})
}

func TestPermanentErrorsAreNeutral(t *testing.T) {
	b := breaker.New(breaker.Policy{Failures: 1})
	err := protect(t.Context(), b, nil, Policy{}, func(context.Context) error { return status(404) })
	if err != status(404) || b.State() != breaker.Closed {
		t.Errorf("got %v, breaker %v", err, b.State())
	}
}

func TestOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Policy{})
		start, calls := time.Now(), 0
		op := func(context.Context) error { calls++; return nil }
		err := protect(t.Context(), b, nil, Policy{Name: "read"}, op)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != ErrBreakerOpen || e.Attempts != 0 ||
			err.Error() != "read: breaker is open and admits calls again in 30s" {
			t.Errorf("got %v", err)
		}
		if calls != 0 || time.Since(start) != 0 {
			t.Errorf("got %v after %d calls and %v", err, calls, time.Since(start))
		}
	})
}

// An open breaker is waited for where its class is retried, from the first
// attempt on. Refusals use up attempts, but no budget.
func TestOpenBreakerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Policy{}) // for 30s
		p := Policy{
			Name:     "read",
			Schedule: Schedule{Backoff: BackoffFixed, InitialDelay: 20 * time.Second, MaxAttempts: 2},
			RetryOn:  []Class{ClassNetwork, ClassBreakerOpen},
		}
		limit := budget.New(budget.Policy{Burst: 1, MinPerSecond: budget.NoRefill})
		start, calls := time.Now(), 0
		op := func(ctx context.Context) error {
			if calls++; AttemptNumber(ctx) != calls {
				t.Errorf("call %d says that it is attempt %d", calls, AttemptNumber(ctx))
			}
			if calls == 1 {
				return errors.New("connection refused")
			}
			return nil
		}
		err := protect(t.Context(), b, limit, p, op)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != ErrAttempts || e.Attempts != 0 || !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("got %v", err)
		}
		if calls != 0 || time.Since(start) != 20*time.Second {
			t.Errorf("got %v after %d calls and %v", err, calls, time.Since(start))
		}
		p.MaxAttempts = 6
		b = opened(t, breaker.Policy{})
		start = time.Now()
		err = protect(t.Context(), b, limit, p, op)
		// Refused twice, admitted after 40s, refused again, admitted after 80s.
		if err != nil || calls != 2 || b.State() != breaker.Closed || time.Since(start) != 80*time.Second {
			t.Errorf("got %v after %d calls and %v, breaker %v", err, calls, time.Since(start), b.State())
		}
		if left := limit.Left(); left >= 1 {
			t.Errorf("%v retries left: the one after a failure costs one", left)
		}
	})
}

// The limits of the call hold while it waits for a breaker.
func TestWaitForBreakerHasLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func() *breaker.Breaker { return opened(t, breaker.Policy{OpenFor: time.Minute}) }
		escalated := breaker.New(breaker.Policy{})
		escalated.Restore(breaker.Snapshot{State: breaker.Escalated})
		busy := open()
		time.Sleep(61 * time.Second)
		busy.Admit() // a probe that hangs
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for name, tt := range map[string]struct {
			ctx    context.Context
			b      *breaker.Breaker
			policy Policy
			is     error
			waited time.Duration
		}{
			"timeout":   {t.Context(), open(), Policy{Timeout: 10 * time.Second}, ErrDeadline, 9 * time.Second},
			"half-open": {t.Context(), busy, Policy{Timeout: 10 * time.Second}, ErrDeadline, 9 * time.Second},
			"elapsed":   {t.Context(), open(), Policy{MaxElapsed: 10 * time.Second}, ErrElapsed, 10 * time.Second},
			"budget":    {t.Context(), open(), Policy{DelayBudget: 10 * time.Second}, ErrDelayBudget, 10 * time.Second},
			"escalated": {t.Context(), escalated, Policy{Timeout: 10 * time.Second}, ErrEscalated, 0},
			"canceled":  {canceled, open(), Policy{}, context.Canceled, 0},
		} {
			p := tt.policy
			p.Schedule = Schedule{MaxAttempts: Unlimited, Backoff: BackoffFixed, InitialDelay: time.Second}
			p.RetryOn = []Class{ClassAny, ClassBreakerOpen}
			start := time.Now()
			err := protect(tt.ctx, tt.b, nil, p, func(context.Context) error { return nil })
			if _, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, tt.is) || time.Since(start) != tt.waited {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
	})
}

// What a policy does not retry may be the service's fault.
func TestBreakerCountsByDefault(t *testing.T) {
	p := Policy{
		RetryOn: []Class{ClassNetwork},
		Classes: []ErrorClass{{Class: "mine", Is: []error{errFailed}, Action: ActionFail}},
	}
	for err, want := range map[error]bool{
		errors.New("connection refused"):     true,
		status(503):                          true,
		errors.New("timed out"):              true,
		errors.New("no such row"):            false,
		status(404):                          false,
		Permanent(status(503)):               false,
		fmt.Errorf("timeout: %w", errFailed): false,
	} {
		b := breaker.New(breaker.Policy{Failures: 1})
		_ = protect(t.Context(), b, nil, p, func(context.Context) error { return err })
		if got := b.State() == breaker.Open; got != want {
			t.Errorf("%v: the breaker is %v", err, b.State())
		}
	}
}

// A call whose own failure opens the breaker stops, with its own error.
func TestBreakerOpensInside(t *testing.T) {
	b := breaker.New(breaker.Policy{Failures: 2})
	p := Policy{Schedule: Schedule{MaxAttempts: 5, InitialDelay: None}}
	err := protect(t.Context(), b, nil, p, func(context.Context) error { return errFailed })
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != ErrBreakerOpen || e.Attempts != 2 || !errors.Is(err, errFailed) {
		t.Errorf("got %v", err)
	}
}

func TestBreakerOpenIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, calls := breaker.New(breaker.Policy{Failures: 1}), 0
		p := Policy{
			Schedule: Schedule{MaxAttempts: 5, Backoff: BackoffFixed, InitialDelay: 20 * time.Second},
			RetryOn:  []Class{ClassNetwork, ClassBreakerOpen},
		}
		err := protect(t.Context(), b, nil, p, func(context.Context) error {
			if calls++; calls == 1 {
				return errors.New("connection refused")
			}
			return nil
		})
		if err != nil || calls != 2 || b.State() != breaker.Closed {
			t.Errorf("got %v after %d calls, breaker %v", err, calls, b.State())
		}
	})
}

// The last error of an attempt survives refusals that are retried.
func TestBreakerOpenKeepsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Policy{Failures: 1, OpenFor: time.Hour})
		p := Policy{Schedule: Schedule{MaxAttempts: 4}, RetryOn: []Class{ClassNetwork, ClassBreakerOpen}}
		refused := errors.New("connection refused")
		err := protect(t.Context(), b, nil, p, func(context.Context) error { return refused })
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Err != refused || e.Reason != ErrAttempts || e.Attempts != 1 || !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("got %v", err)
		}
	})
}

// TestBreakerRaces lets goroutines do everything at once.
func TestBreakerRaces(t *testing.T) {
	b, limit := breaker.New(breaker.Policy{OpenFor: time.Microsecond}), budget.New(budget.Policy{Burst: 10})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 500 {
				_ = protect(t.Context(), b, limit, Policy{Schedule: Schedule{InitialDelay: None}}, func(context.Context) error {
					if rand.IntN(3) == 0 {
						return errFailed
					}
					return nil
				})
				if left := limit.Left(); left < 0 || left > 10 {
					t.Errorf("%v retries are left of 10", left)
				}
			}
			b.Save()
		})
	}
	wait.Wait()
	for range 3 {
		b.Reset()
		operate(t, b, "success")
	}
	if got := b.State(); got != breaker.Closed {
		t.Errorf("the breaker is %v", got)
	}
}

// The error of a refused call names the breaker and when it admits calls again, and
// has that as data. So has the log.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func() *breaker.Breaker { return opened(t, breaker.Policy{Name: "payments"}) }
		busy := func() *breaker.Breaker {
			b := open()
			time.Sleep(31 * time.Second)
			b.Admit() // a probe that hangs
			return b
		}
		closed := func() *breaker.Breaker { return breaker.New(breaker.Policy{Name: "payments", Failures: 2}) }
		forced := func() *breaker.Breaker {
			b := closed()
			b.ForceOpen()
			return b
		}
		for _, tt := range []struct {
			name    string
			breaker func() *breaker.Breaker
			policy  Policy
			text    string
			refusal Refusal
			logged  string
		}{
			{"open", open, Policy{},
				"breaker payments is open and admits calls again in 30s",
				Refusal{State: breaker.Open, AdmitsIn: 30 * time.Second},
				"attempt=0 breaker=payments breaker_state=open admits_in=30s"},
			{"half-open", busy, Policy{},
				"breaker payments is half-open and waits for the results of other calls", Refusal{State: breaker.HalfOpen},
				"attempt=0 breaker=payments breaker_state=half-open"},
			{"forced open", forced, Policy{RetryOn: []Class{ClassAny, ClassBreakerOpen}}, // which do not wait for it
				"breaker payments was forced open and admits no call until Reset", Refusal{State: breaker.ForcedOpen},
				"attempt=0 breaker=payments breaker_state=forced-open"},
			{"opens inside", closed, Policy{},
				"breaker payments is open and admits calls again in 30s after 2 attempts and 1s of waiting: failed",
				Refusal{State: breaker.Open, AdmitsIn: 30 * time.Second},
				"attempt=2 class=server_error breaker=payments breaker_state=open admits_in=30s err=failed"},
			{"waited for", open, Policy{Schedule: Schedule{MaxAttempts: 2}, RetryOn: []Class{ClassBreakerOpen}},
				"attempts exhausted after 0 attempts and 1s of waiting: breaker payments is open and admits calls again in 29s",
				Refusal{State: breaker.Open, AdmitsIn: 29 * time.Second},
				"attempt=0 class=breaker_open breaker=payments breaker_state=open admits_in=29s " +
					`err="breaker payments is open and admits calls again in 29s"`},
		} {
			var out bytes.Buffer
			ctx := WithObserver(t.Context(), Log(slog.New(slog.NewTextHandler(&out, nil))))
			err := protect(ctx, tt.breaker(), nil, tt.policy, func(context.Context) error { return errFailed })
			if err == nil || err.Error() != tt.text || !errors.Is(err, ErrBreakerOpen) || errors.Is(err, ErrEscalated) {
				t.Errorf("%s: got %v, want %s", tt.name, err, tt.text)
			}
			got, ok := errors.AsType[Refusal](err)
			tt.refusal.Breaker = "payments"
			if tt.refusal.State == breaker.Open {
				tt.refusal.AdmitsAt = time.Now().Add(tt.refusal.AdmitsIn)
			}
			if !ok || got != tt.refusal {
				t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.refusal)
			}
			if logged := strings.TrimSpace(out.String()); !strings.HasSuffix(logged, tt.logged) {
				t.Errorf("%s: logged %s, want %s", tt.name, logged, tt.logged)
			}
		}
	})
}

// The error of an escalated breaker says what to do.
func TestEscalatedBreaker(t *testing.T) {
	b := breaker.New(breaker.Policy{Name: "upstream", Failures: 1, EscalateAfter: 2})
	b.Restore(breaker.Snapshot{State: breaker.HalfOpen, Failures: 1})
	p := Policy{Name: "read", Schedule: Schedule{InitialDelay: None}}
	fails := func(context.Context) error { return errFailed }
	for i, want := range []string{
		"read: breaker upstream is escalated and admits no call until Reset after 1 attempt and 0s of waiting: failed",
		"read: breaker upstream is escalated and admits no call until Reset",
	} {
		err := protect(t.Context(), b, nil, p, fails)
		if err == nil || err.Error() != want || !errors.Is(err, ErrBreakerOpen) || !errors.Is(err, ErrEscalated) {
			t.Errorf("call %d: got %v, want %s", i, err, want)
		}
	}
	b.Reset()
	if err := protect(t.Context(), b, nil, p, func(context.Context) error { return nil }); err != nil {
		t.Errorf("after Reset: %v", err)
	}
	b = new(breaker.Breaker)
	b.Restore(breaker.Snapshot{State: breaker.Escalated})
	err := protect(t.Context(), b, nil, Policy{}, fails)
	if want := "breaker is escalated and admits no call until Reset"; err == nil || err.Error() != want {
		t.Errorf("without names: got %v, want %s", err, want)
	}
}

// A call is slow or fast by the time between its admission and its result.
func TestSlowCallsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 4, OpenFor: 5 * time.Second})
		call := func(takes time.Duration) error {
			return protect(t.Context(), b, nil, Policy{}, func(context.Context) error { time.Sleep(takes); return nil })
		}
		for i, takes := range []time.Duration{0, 2 * time.Second, time.Second, 2 * time.Second} {
			if err := call(takes); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if err := call(0); !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("after two slow calls of four: %v", err)
		}
		time.Sleep(6 * time.Second)
		if err := call(0); err != nil || b.State() != breaker.Closed {
			t.Errorf("after a fast probe: %v, breaker %v", err, b.State())
		}
	})
}

// A breaker that other calls open during a wait refuses the next attempt.
func TestBreakerOpensDuringWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, calls := breaker.New(breaker.Policy{}), 0
		time.AfterFunc(time.Second/2, func() {
			for range 3 {
				permit, _ := b.Admit()
				b.Record(permit, breaker.Failure)
			}
		})
		err := protect(t.Context(), b, nil, Policy{}, func(context.Context) error { calls++; return errFailed })
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != ErrBreakerOpen || e.Err != errFailed || e.Waited != time.Second || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// What a failure shows is decided without a breaker. An ended context, a refusal
// and a loss show nothing.
func TestSampleOfFailure(t *testing.T) {
	p, b := Policy{}, breaker.Policy{}
	call := p.Begin()
	ended, _ := call.Inspect(expired{t.Context(), time.Now()}, errFailed)
	live, _ := call.Inspect(t.Context(), errFailed)
	for name, tt := range map[string]struct {
		failure Failure
		want    breaker.Sample
	}{
		"failed": {live, breaker.Failure}, "ended": {ended, breaker.Neutral}, "lost": {Failure{Lost: true}, breaker.Neutral},
		"refused": {Failure{Err: ErrBreakerOpen, Refused: true}, breaker.Neutral}, "none": {Failure{}, breaker.Neutral},
	} {
		if got := p.Sample(&b, tt.failure); got != tt.want {
			t.Errorf("%s: sample %v, want %v", name, got, tt.want)
		}
	}
}

func TestRefusalOfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Policy{Name: "up"})
		if got := refusalOf(b); got != (Refusal{Breaker: "up"}) {
			t.Errorf("closed: %+v", got)
		}
		for range 3 {
			permit, _ := b.Admit()
			b.Record(permit, breaker.Failure)
		}
		got := refusalOf(b)
		if want := (Refusal{Breaker: "up", State: breaker.Open, AdmitsAt: time.Now().Add(30 * time.Second)}); got != want {
			t.Errorf("open: %+v, want %+v", got, want)
		}
		time.Sleep(time.Until(got.AdmitsAt))
		if _, ok := b.Admit(); ok || got.admits(time.Now()) {
			t.Error("the breaker admits an attempt at that time")
		}
		time.Sleep(1)
		if _, ok := b.Admit(); !ok || !got.admits(time.Now()) || refusalOf(b).State != breaker.HalfOpen {
			t.Error("the breaker admits none after that time")
		}
	})
}

// operate does what a vector says to a breaker.
func operate(t *testing.T, b *breaker.Breaker, op string) {
	t.Helper()
	if wait, ok := strings.CutPrefix(op, "wait "); ok {
		d, err := time.ParseDuration(wait)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
		return
	}
	pass, ok := b.Admit()
	if !ok {
		t.Fatalf("%s: the breaker is %v", op, b.State())
	}
	if op == "fail" {
		b.Record(pass, breaker.Failure)
	} else {
		b.Record(pass, breaker.Success)
	}
}

// opened returns a breaker that has just opened.
func opened(t *testing.T, p breaker.Policy) *breaker.Breaker {
	t.Helper()
	b := breaker.New(p)
	for b.State() == breaker.Closed {
		operate(t, b, "fail")
	}
	return b
}
