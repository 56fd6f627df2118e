package durabletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A crash is where a process dies, or where a reply is lost: at a point of its
// store, in the function of a step, or in a wait.
type crash struct {
	point, call, wait int  // from 1; 0: not there
	reply             bool // only the reply of the store is lost
	hold              bool // successes wait for other transactions: see durable.Hold
}

func (c crash) String() string {
	hold := ""
	if c.hold {
		hold = "hold-"
	}
	if c.reply {
		return fmt.Sprintf("%sreply%d", hold, c.point)
	}
	return fmt.Sprintf("%spoint%d-call%d-wait%d", hold, c.point, c.call, c.wait)
}

// call calls a step without an id of its own.
func call(ctx context.Context, s *genapi.StepPolicy, fn func(context.Context) (string, error)) (string, error) {
	return genapi.Call(ctx, s, genapi.ID(), genapi.Digest{}, fn)
}

// A victim executes a run in a namespace of its own, with a crash.
type victim struct {
	*tester
	crash crash
	f     *Faulty

	mu      sync.Mutex
	calls   map[string][]int // numbers of the attempts, by step
	charged string           // the result of fetch with which charge was called
	waits   int
}

func (s *tester) victim(c crash) *victim {
	v := &victim{tester: s, crash: c, calls: map[string][]int{}}
	if v.f = CrashAt(s.Store, c.point); c.reply {
		v.f = LoseReply(s.Store, c.point)
	}
	return v
}

// engine returns an engine with a short lease.
func (v *victim) engine(s storage.Store) *durable.Engine {
	lease := time.Second
	if v.crash.reply {
		lease = time.Minute // nobody waits for its end, and a slow machine does not lose it
	}
	e, err := durable.New(s, durable.Namespace(v.crash.String()), durable.Lease(lease), durable.OnEvent(v.observe))
	if err != nil {
		v.t.Error(err)
	}
	return e
}

// observe crashes in a wait.
func (v *victim) observe(_ context.Context, ev events.Event) {
	if ev.Kind != events.EventFailed {
		return
	}
	v.mu.Lock()
	v.waits++
	now := v.waits == v.crash.wait
	v.mu.Unlock()
	if now {
		v.f.Crash()
	}
}

// called notes a call of the function of a step, and crashes in it.
func (v *victim) called(ctx context.Context) durable.Info {
	info, _ := durable.Current(ctx)
	v.mu.Lock()
	v.calls[info.Step] = append(v.calls[info.Step], info.Attempt)
	n := 0
	for _, calls := range v.calls {
		n += len(calls)
	}
	v.mu.Unlock()
	if n == v.crash.call {
		v.f.Crash()
	}
	return info
}

// numbers returns the attempts of a step that were called.
func (v *victim) numbers(step string) []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.calls[step])
}

func victimPolicy(name string, idempotent bool) *genapi.StepPolicy {
	return &genapi.StepPolicy{
		Name: name, Idempotent: idempotent, ResumeSpread: retry.None,
		Policy: &retry.Policy{Name: name, RetryUnknown: true,
			Schedule: retry.Schedule{MaxAttempts: 5, InitialDelay: 2 * time.Millisecond}},
	}
}

var (
	fetchPolicy  = victimPolicy("fetch", true)
	chargePolicy = victimPolicy("charge", false)
	mailPolicy   = victimPolicy("mail", true)
)

// work is the function of the run: a step without a policy, an idempotent one
// that fails twice, one that must not be repeated, and an idempotent one.
func (v *victim) work(ctx context.Context) (string, error) {
	orders, err := durable.Step(ctx, "orders", nil, func(ctx context.Context) ([]string, error) {
		v.called(ctx)
		return []string{"a", "b"}, nil
	})
	if err != nil {
		return "", err
	}
	fetched, err := call(ctx, fetchPolicy, func(ctx context.Context) (string, error) {
		v.called(ctx)
		if len(v.numbers("fetch")) <= 2 {
			return "", errors.New("unavailable")
		}
		return fmt.Sprint("fetched", len(v.numbers("fetch"))), nil
	})
	if err != nil {
		return "", err
	}
	receipt, err := call(ctx, chargePolicy, func(ctx context.Context) (string, error) {
		v.mu.Lock()
		v.charged = fetched
		v.mu.Unlock()
		v.called(ctx)
		return "receipt", nil
	})
	if err != nil {
		return "", err
	}
	mailed, err := call(ctx, mailPolicy, func(ctx context.Context) (string, error) {
		v.called(ctx)
		return "mailed", nil
	})
	return fmt.Sprint(orders, fetched, receipt, mailed), err
}

func (v *victim) run(ctx context.Context, e *durable.Engine) (string, error) {
	options := []durable.RunOption{durable.Budget(job.BudgetPolicy{Retries: 20, PerUnit: 5})}
	if v.crash.hold {
		options = append(options, durable.Hold())
	}
	return durable.Run(ctx, e, "job", v.work, options...)
}

// die executes the run until it ends or the process dies, and reports whether
// it has died.
func (v *victim) die(ctx context.Context) bool {
	ctx, cancel := v.f.Context(ctx)
	defer cancel()
	e := v.engine(v.f)
	done := make(chan error, 1)
	go func() {
		_, err := v.run(ctx, e)
		done <- err
		dead, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Close(dead) // fails after a crash
	}()
	select {
	case err := <-done:
		if err != nil && !v.f.Failed() {
			v.t.Errorf("%v: %v without a crash", v.crash, err)
		}
	case <-ctx.Done():
	}
	return v.f.Failed()
}

// recover executes the run in another engine until it has succeeded. An operator
// resolves what is in doubt: they know whether it was called.
func (v *victim) recover(ctx context.Context) *durable.Engine {
	e := v.engine(v.Store)
	for range 5 {
		got, err := v.run(ctx, e)
		if err == nil {
			if want := "[a b]" + v.charged + "receiptmailed"; got != want {
				v.t.Errorf("%v: the run returned %q, want %q: what charge was called with must stay", v.crash, got, want)
			}
			return e
		}
		paused, ok := errors.AsType[*durable.PausedError](err)
		if !ok {
			v.t.Errorf("%v: the run after the crash: %v", v.crash, err)
			return e
		}
		for _, step := range paused.Steps {
			how := admin.Retry()
			if len(v.numbers(step)) > 0 {
				how = admin.Succeeded("receipt")
			}
			if err := e.Admin().Resolve(ctx, "job", step, how); err != nil {
				v.t.Errorf("%v: %v", v.crash, err)
			}
		}
	}
	v.t.Errorf("%v: the run does not end", v.crash)
	return e
}

// check checks what must hold after all crashes.
func (v *victim) check(ctx context.Context, e *durable.Engine) {
	for _, step := range []string{"fetch", "charge", "mail"} {
		calls := v.numbers(step)
		if !slices.IsSorted(calls) || len(slices.Compact(slices.Clone(calls))) != len(calls) {
			v.t.Errorf("%v: attempts %v of %s were called: a number twice", v.crash, calls, step)
		}
	}
	if calls := v.numbers("charge"); len(calls) != 1 {
		v.t.Errorf("%v: charge was called in attempts %v, want once", v.crash, calls)
	}
	grants := v.checkHistory(ctx, e, "fetch") + v.checkHistory(ctx, e, "mail")
	budget := storage.Key{Kind: storage.KindBudget, Space: v.crash.String(), Run: "job"}
	records, err := v.Get(ctx, []storage.Key{budget})
	if err != nil {
		v.t.Fatal(err)
	}
	var body struct{ Consumed int }
	if err := json.Unmarshal(records[0].Body, &body); err != nil || body.Consumed != grants {
		v.t.Errorf("%v: the budget has counted %d retries, %v; the history has %d", v.crash, body.Consumed, err, grants)
	}
}

// checkHistory checks the history of an idempotent step, and returns the number of its
// retries.
func (v *victim) checkHistory(ctx context.Context, e *durable.Engine, step string) (grants int) {
	last := 0
	var outcomes []string
	for a, err := range e.Admin().Attempts(ctx, "job", step) {
		if err != nil {
			v.t.Fatal(err)
		}
		if a.Attempt != last+1 {
			v.t.Errorf("%v: attempt %d of %s follows %d in its history", v.crash, a.Attempt, step, last)
		}
		last = a.Attempt
		if outcomes = append(outcomes, string(a.Outcome)); a.Wait > 0 {
			grants++
		}
	}
	if n := strings.Count(fmt.Sprint(outcomes), "succeeded"); n != 1 {
		v.t.Errorf("%v: the outcomes of %s are %v, want one success", v.crash, step, outcomes)
	}
	return grants
}

// waves calls f for 1, 2, … in waves of 16 at once, until f returns false.
func waves(f func(n int) bool) {
	const wave = 16
	for first := 1; ; first += wave {
		var wg sync.WaitGroup
		var more [wave]bool
		for i := range wave {
			wg.Go(func() { more[i] = f(first + i) })
		}
		wg.Wait()
		if slices.Contains(more[:], false) {
			return
		}
	}
}
