package bench

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/gen"
)

// checks say, by scenario, what has to be true of a library for its figure to
// mean anything: that what is paid for is there. The clock is a bubble's.
var checks = map[string]func(t *testing.T, s Subject){
	"Retry": func(t *testing.T, s Subject) {
		succeeds(t, s.Retry())
		retries(t, s.Retry())
	},
	"Guarded": func(t *testing.T, s Subject) {
		succeeds(t, s.Guarded())
		retries(t, s.Guarded())
		opens(t, s.Guarded())
	},
	"FailOnce": func(t *testing.T, s Subject) { succeeds(t, s.FailOnce()) },
	"Permanent": func(t *testing.T, s Subject) {
		call, start, before := s.Permanent(), time.Now(), failures.Load()
		// The call turns the sign.
		if _, err := call(context.Background(), counted); !errors.Is(err, errTransient) {
			t.Errorf("got %v, want %v", err, errTransient)
		}
		if n, waited := failures.Load()-before, time.Since(start); n != 1 || waited > 0 {
			t.Errorf("%d attempts, %v of waiting; want 1 and none", n, waited)
		}
	},
	"Timeout": func(t *testing.T, s Subject) {
		succeeds(t, s.Timeout(fetchErr, attemptTimeout))
		ends(t, s, context.Background(), attemptTimeout, attemptTimeout)
	},
	"TimeoutDone": func(t *testing.T, s Subject) {
		succeeds(t, s.Timeout(fetchDone, attemptTimeout))
		ends(t, s, context.Background(), attemptTimeout, attemptTimeout)
	},
	"Deadline": func(t *testing.T, s Subject) {
		ctx, cancel := Scenario{Name: "Deadline"}.under(context.Background())
		defer cancel()
		ends(t, s, ctx, longTimeout, longTimeout/2)
	},
	"Breaker": func(t *testing.T, s Subject) {
		succeeds(t, s.Breaker())
		opens(t, s.Breaker())
	},
	"FailureRate": func(t *testing.T, s Subject) {
		for _, check := range []func(*testing.T, Call){succeeds, opensByRate, forgets} {
			DefaultShared = NewShared()
			check(t, s.FailureRate())
		}
	},
	"Budget": func(t *testing.T, s Subject) {
		succeeds(t, s.Budget())
		// That of failsafe-go limits retries that are under way at once, and
		// these take no time: it never binds here.
		if s.Name != "failsafe-go" {
			spends(t, s.Budget())
		}
	},
	"Full": func(t *testing.T, s Subject) {
		succeeds(t, s.Full())
		retries(t, s.Full())
		opens(t, s.Full())
	},
}

func TestScenarios(t *testing.T) {
	t.Cleanup(func() { DefaultShared = NewShared() })
	for _, sc := range Scenarios {
		for _, s := range subjects() {
			if sc.Of(s) == nil {
				continue
			}
			t.Run(sc.Name+"/"+s.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					DefaultShared = NewShared()
					if s.Name == "direct" && sc.Name != "Permanent" {
						succeeds(t, sc.Of(s)())
					} else {
						checks[sc.Name](t, s)
					}
					// The goroutines of some libraries run on for a time.
					time.Sleep(3 * longTimeout)
				})
			})
		}
	}
}

// succeeds checks that calls succeed without a wait worth the name: there are
// libraries whose shortest delay is a nanosecond.
func succeeds(t *testing.T, call Call) {
	t.Helper()
	start := time.Now()
	for range 3 {
		if got, err := call(context.Background(), 41); got != 42 || err != nil {
			t.Errorf("got %d, %v; want 42, nil", got, err)
		}
	}
	if waited := time.Since(start); waited > time.Microsecond {
		t.Errorf("waited %v", waited)
	}
}

// retries checks that a call that fails is tried as often as is the policy,
// with its delays.
func retries(t *testing.T, call Call) {
	t.Helper()
	start, before := time.Now(), failures.Load()
	if _, err := call(context.Background(), -counted); !errors.Is(err, errTransient) {
		t.Errorf("got %v, want %v", err, errTransient)
	}
	n, waited := failures.Load()-before, time.Since(start)
	if n != attempts || waited < 2*initialDelay || waited > 4*initialDelay {
		t.Errorf("%d attempts, %v of waiting; want %d, and %v or about that", n, waited, attempts, 3*initialDelay)
	}
}

// opens checks that a breaker refuses calls after failures.
func opens(t *testing.T, call Call) {
	t.Helper()
	for range 10 {
		call(context.Background(), -counted)
	}
	before := failures.Load()
	_, err := call(context.Background(), -counted)
	if n := failures.Load() - before; err == nil || n > 0 {
		t.Errorf("%d attempts after 10 failures, error %v; want none, and an error", n, err)
	}
}

// opensByRate checks that a breaker refuses calls once half of them have failed,
// and not before.
func opensByRate(t *testing.T, call Call) {
	t.Helper()
	const successes = minCalls/2 + 2
	for range successes {
		call(context.Background(), 41)
	}
	if n := failUntilRefused(call); n != successes {
		t.Errorf("%d attempts failed after %d successes; want as many", n, successes)
	}
}

// forgets checks that failures count only within the window.
func forgets(t *testing.T, call Call) {
	t.Helper()
	// Between half of them and all, since a call may make three attempts.
	for range minCalls / attempts {
		call(context.Background(), -counted)
	}
	time.Sleep(window + window/10)
	if n := failUntilRefused(call); n != minCalls {
		t.Errorf("%d attempts failed after failures that are too old to count; want %d", n, minCalls)
	}
}

// failUntilRefused fails until a call makes no attempt, and returns the number
// of attempts.
func failUntilRefused(call Call) int64 {
	start := failures.Load()
	for range 10 * minCalls {
		before := failures.Load()
		call(context.Background(), -counted)
		if failures.Load() == before {
			break
		}
	}
	return failures.Load() - start
}

// spends checks that a budget refuses retries when many calls fail at once.
func spends(t *testing.T, call Call) {
	t.Helper()
	const calls = 200
	before := failures.Load()
	var all sync.WaitGroup
	for range calls {
		all.Go(func() { call(context.Background(), -counted) })
	}
	all.Wait()
	if n := failures.Load() - before; n <= calls || n > calls*attempts/2 {
		t.Errorf("%d attempts of %d calls; want some retries, and far from all", n, calls)
	}
}

// ends checks that an attempt which hangs ends at a time.
func ends(t *testing.T, s Subject, ctx context.Context, limit, want time.Duration) {
	t.Helper()
	start := time.Now()
	var own context.Context
	hang := func(ctx context.Context, in int) (int, error) {
		own = ctx
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(2 * limit):
			return in, nil
		}
	}
	_, err := s.Timeout(hang, limit)(ctx, 41)
	if got := time.Since(start); err == nil || got != want {
		t.Errorf("ended after %v with error %v, want an error after %v", got, err, want)
	}
	if s.Name == "retrygen" && want < limit && own != ctx {
		t.Errorf("the attempt has a context of its own, though the caller's ends sooner")
	}
}

// TestAllocations holds the wrappers to what they may allocate.
func TestAllocations(t *testing.T) {
	request := t.Context()
	sooner, cancel := Scenario{Name: "Deadline"}.under(request)
	defer cancel()
	once := new(flaky)
	for _, c := range []struct {
		name string
		ctx  context.Context
		call Call
		want float64
	}{
		{"success", request, retryFetch, 0},
		{"breaker", request, retryBroken, 0},
		{"budget", request, retryPaid, 0},
		{"breaker and budget", request, retryGuarded, 0},
		{"permanent error", request, retryPermanent, 0},
		{"retry", context.Background(), once.retryFetch, 0},
		// The mark of the retry is that of the call before.
		{"retry of a request", request, once.retryFetch, 0},
		{"caller's deadline sooner", sooner, func(ctx context.Context, in int) (int, error) {
			return retryLimitedLong(ctx, fetchErr, in)
		}, 0},
		// As context.WithTimeout.
		{"attempt timeout", request, func(ctx context.Context, in int) (int, error) {
			return retryLimited(ctx, fetchErr, in)
		}, 4},
		{"breaker, budget and attempt timeout", request, retryEverything, 4},
	} {
		if got := testing.AllocsPerRun(100, func() { c.call(c.ctx, in) }); got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.want)
		}
	}
}

// TestFresh holds the committed wrappers against retry.yaml, and against what
// the generator makes of it now.
func TestFresh(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	result, err := gen.Generate(t.Context(), gen.Config{Dir: dir, Patterns: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Failed) > 0 {
		t.Errorf("problems: %+v", result.Problems)
	}
	for _, f := range result.Files {
		if f.Changed() {
			t.Errorf("%s is not fresh: run go generate", f.Path)
		}
	}
}
