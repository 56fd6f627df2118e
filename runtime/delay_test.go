package retry

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// TestBounds compares the bounds of waits, and the waits at the ends of the
// range of samples and in its middle.
func TestBounds(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	below1 := math.Nextafter(1, 0)
	for _, tt := range []struct {
		name                  string
		schedule              Schedule
		k                     int
		previous              time.Duration
		least, base, greatest time.Duration
		middle                time.Duration // the wait for a sample of 0.5
	}{
		{"exponential, first", Schedule{}, 1, 0, s, s, s, s},
		{"exponential, second", Schedule{}, 2, 0, 2 * s, 2 * s, 2 * s, 2 * s},
		{"exponential, capped", Schedule{}, 6, 0, 30 * s, 30 * s, 30 * s, 30 * s},
		{"k below 1", Schedule{Backoff: BackoffLinear, Increment: s}, -1, 0, s, s, s, s},
		{"k below 1, Fibonacci", Schedule{Backoff: BackoffFibonacci}, 0, 0, s, s, s, s},
		{"no delay, infinite base", Schedule{InitialDelay: None, Base: math.Inf(1)}, 9, 0, 0, 0, 0, 0},
		{"a delay of 1ns", Schedule{InitialDelay: 1}, 2, 0, 2, 2, 2, 2},
		{"rounded", Schedule{InitialDelay: 3, Base: 1.5}, 2, 0, 5, 5, 5, 5},
		{"shrinks to nothing", Schedule{Base: 0.001}, 5, 0, 0, 0, 0, 0},
		{"infinite base, first", Schedule{Base: math.Inf(1)}, 1, 0, s, s, s, s},
		{"infinite base, no cap", Schedule{Base: math.Inf(1), MaxDelay: None}, 2, 0, forever, forever, forever, forever},
		{"linear", Schedule{Backoff: BackoffLinear, Increment: 2 * s}, 3, 0, 5 * s, 5 * s, 5 * s, 5 * s},
		{"linear, negative", Schedule{Backoff: BackoffLinear, Increment: -2 * s}, 3, 0, s, s, s, s},
		{"linear, saturated sum", Schedule{Backoff: BackoffLinear, Increment: forever, MaxDelay: None}, 2, 0, forever,
			forever, forever, forever},
		{"linear, saturated product", Schedule{Backoff: BackoffLinear, Increment: forever, MaxDelay: None}, 3, 0, forever,
			forever, forever, forever},
		{"linear, product above 2^64", Schedule{Backoff: BackoffLinear, Increment: 1 << 62, MaxDelay: None}, 5, 0, forever,
			forever, forever, forever},
		{"linear, product of 2^63", Schedule{Backoff: BackoffLinear, Increment: 1 << 62, MaxDelay: None}, 3, 0, forever,
			forever, forever, forever},
		{"Fibonacci", Schedule{Backoff: BackoffFibonacci}, 6, 0, 8 * s, 8 * s, 8 * s, 8 * s},
		{"Fibonacci, saturated", Schedule{Backoff: BackoffFibonacci, InitialDelay: 1, MaxDelay: None}, 94, 0, forever,
			forever, forever, forever},
		{"custom", Schedule{Backoff: BackoffCustom, Delays: []time.Duration{5 * s, 7 * s}}, 2, 0, 7 * s, 7 * s, 7 * s, 7 * s},
		{"custom, negative", Schedule{Backoff: BackoffCustom, Delays: []time.Duration{-5}}, 1, 0, 0, 0, 0, 0},
		{"custom, 0", Schedule{Backoff: BackoffCustom, Delays: []time.Duration{0}}, 1, 0, 0, 0, 0, 0},
		{"custom, past the end", Schedule{Backoff: BackoffCustom, Delays: []time.Duration{5 * s}}, 2, 0, 30 * s, 30 * s,
			30 * s, 30 * s},
		{"no such strategy", Schedule{Backoff: 9}, 1, 0, 30 * s, 30 * s, 30 * s, 30 * s},

		{"full", Schedule{Jitter: JitterFull}, 2, 0, 0, 2 * s, 2 * s, s},
		{"equal", Schedule{Jitter: JitterEqual}, 2, 0, s, 2 * s, 2 * s, 1500 * ms},
		{"proportional", Schedule{Jitter: JitterProportional}, 1, 0, 700 * ms, s, 1300 * ms, s},
		{"proportional, by a factor", Schedule{Jitter: JitterProportional, JitterFactor: 0.5}, 1, 0, 500 * ms, s, 1500 * ms,
			s},
		{"proportional, factor above 1", Schedule{Jitter: JitterProportional, JitterFactor: 3}, 1, 0, 0, s, 4 * s, 2 * s},
		{"proportional, cut at the cap", Schedule{Jitter: JitterProportional, MaxDelay: s}, 1, 0, 700 * ms, s, s, 850 * ms},
		{"additive", Schedule{Jitter: JitterAdditive}, 1, 0, s, s, 1500 * ms, 1250 * ms},
		{"additive, negative factor", Schedule{Jitter: JitterAdditive, JitterFactor: -1}, 1, 0, s, s, s, s},
		{"additive, cut at the cap", Schedule{Jitter: JitterAdditive, MaxDelay: s}, 1, 0, s, s, s, s},
		{"additive, saturated", Schedule{Jitter: JitterAdditive, InitialDelay: forever, MaxDelay: None}, 1, 0, forever,
			forever, forever, forever},
		{"no such jitter", Schedule{Jitter: 9}, 1, 0, s, s, s, s},
		{"the widest band", Schedule{Jitter: JitterFull, InitialDelay: forever, MaxDelay: None}, 1, 0, 0, forever, forever,
			1 << 62},
		{"decorrelated, first", Schedule{Jitter: JitterDecorrelated}, 1, 0, s, s, 3 * s, 2 * s},
		{"decorrelated, after a wait", Schedule{Jitter: JitterDecorrelated}, 2, 5 * s, s, 2 * s, 15 * s, 8 * s},
		{"decorrelated, after 1ns", Schedule{Jitter: JitterDecorrelated}, 3, 1, s, 4 * s, 3 * s, 2 * s},
		{"decorrelated, capped", Schedule{Jitter: JitterDecorrelated}, 2, 20 * s, s, 2 * s, 30 * s, 15500 * ms},
		{"decorrelated, delay above the cap", Schedule{Jitter: JitterDecorrelated, InitialDelay: 40 * s}, 1, 0, 30 * s,
			30 * s, 30 * s, 30 * s},
	} {
		least, base, greatest := tt.schedule.Bounds(tt.k, tt.previous)
		if least != tt.least || base != tt.base || greatest != tt.greatest {
			t.Errorf("%s: bounds %v, %v, %v; want %v, %v, %v", tt.name, least, base, greatest, tt.least, tt.base, tt.greatest)
		}
		for sample, want := range map[float64]time.Duration{0: tt.least, 0.5: tt.middle, 1: tt.greatest} {
			if got := tt.schedule.delay(tt.k, tt.previous, sample); got != want {
				t.Errorf("%s: wait %v for sample %v, want %v", tt.name, got, sample, want)
			}
		}
		if got := tt.schedule.delay(tt.k, tt.previous, below1); got < tt.greatest-1<<10 || got > tt.greatest {
			t.Errorf("%s: wait %v for the greatest sample, want almost %v", tt.name, got, tt.greatest)
		}
	}
}

// Without a previous wait the bounds of decorrelated jitter follow those of
// every retry before.
func TestBoundsFollowTheSchedule(t *testing.T) {
	p := Schedule{Jitter: JitterDecorrelated, MaxDelay: None}
	want := time.Second
	for k := 1; k <= 70; k++ {
		want = mulSaturated(want, 3)
		if least, _, greatest := p.Bounds(k, 0); least != time.Second || greatest != want {
			t.Errorf("retry %d: %v to %v, want 1s to %v", k, least, greatest, want)
		}
	}
	p.InitialDelay = 1
	if _, _, greatest := p.Bounds(40, 0); greatest != forever {
		t.Errorf("a first delay of 1ns has grown to %v after 40 retries, want %v", greatest, forever)
	}
	p.Jitter = JitterFull
	if _, base, greatest := p.Bounds(3, 0); base != 4 || greatest != 4 {
		t.Errorf("full jitter: %v, %v; want 4ns", base, greatest)
	}
}

func TestFibonacci(t *testing.T) {
	for n, want := range map[int]uint64{0: 0, 1: 1, 2: 1, 10: 55, 92: 7540113804746346429, 93: math.MaxInt64,
		1 << 40: math.MaxInt64} {
		if got := fibonacci(n); got != want {
			t.Errorf("F(%d) = %d, want %d", n, got, want)
		}
	}
}

// Every call draws new samples, for its own schedule and for that of a
// class.
func TestSamplesDiffer(t *testing.T) {
	full := Schedule{MaxAttempts: 2, InitialDelay: 1 << 10, Jitter: JitterFull}
	for name, p := range map[string]Policy{
		"policy":    {Schedule: full},
		"per error": {PerError: []Override{{Class: ClassNetwork, Schedule: full}}},
	} {
		delays := map[time.Duration]bool{}
		ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
			if e.Kind == EventRetry {
				delays[e.Wait] = true
			}
		})
		for range 32 {
			_, _ = drive(ctx, &p, func(context.Context) error { return errors.New("connection refused") })
		}
		if len(delays) < 8 {
			t.Errorf("%s: %d different waits in 32 calls", name, len(delays))
		}
	}
}

func TestScheduleEffective(t *testing.T) {
	defaults := Schedule{MaxAttempts: 3, InitialDelay: time.Second, MaxDelay: 30 * time.Second}
	with := func(change func(*Schedule)) Schedule {
		s := defaults
		change(&s)
		return s
	}
	for _, tt := range []struct{ schedule, want Schedule }{
		{Schedule{}, with(func(s *Schedule) { s.Base = 2 })},
		{Schedule{Backoff: BackoffFixed}, with(func(s *Schedule) { s.Backoff = BackoffFixed })},
		{
			Schedule{Jitter: JitterProportional, Base: 3},
			with(func(s *Schedule) { s.Base, s.Jitter, s.JitterFactor = 3, JitterProportional, 0.3 }),
		},
		{
			Schedule{Jitter: JitterAdditive, Backoff: BackoffFixed},
			with(func(s *Schedule) { s.Jitter, s.JitterFactor, s.Backoff = JitterAdditive, 0.5, BackoffFixed }),
		},
		{
			Schedule{Jitter: JitterFull, Backoff: BackoffFixed},
			with(func(s *Schedule) { s.Jitter, s.Backoff = JitterFull, BackoffFixed }),
		},
		{
			Schedule{MaxAttempts: Unlimited, InitialDelay: 1, MaxDelay: None, Backoff: BackoffLinear},
			Schedule{MaxAttempts: Unlimited, InitialDelay: 1, MaxDelay: None, Backoff: BackoffLinear},
		},
	} {
		if got := tt.schedule.Effective(); !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(got.Effective(), got) {
			t.Errorf("%+v: got %+v, want %+v", tt.schedule, got, tt.want)
		}
		first, own := Override{Class: "first"}, Override{"class", tt.schedule}
		p := Policy{DelayBudget: 1, MaxElapsed: 2, Timeout: 3, AttemptTimeout: 4, PerError: []Override{first, own}}
		want := Policy{Name: "class", Schedule: tt.want, DelayBudget: 1, MaxElapsed: 2, Timeout: 3,
			RetryOn: []Class{"class"}, PerError: []Override{first}}
		if got := p.Under(own); !reflect.DeepEqual(got, want) {
			t.Errorf("under a policy: got %+v, want %+v", got, want)
		}
	}
}

// A requested wait is limited, and has a default for each kind of request.
func TestRetryAfter(t *testing.T) {
	const s = time.Second
	unreadable, rate := After(errFailed, -1), error(status(429))
	for _, tt := range []struct {
		name   string
		after  RetryAfter
		err    error
		want   time.Duration // the wait, of which the schedule asks for 1s
		reason Reason
	}{
		{"no request", RetryAfter{}, errFailed, s, ""},
		{"request", RetryAfter{}, After(errFailed, 20*s), 20 * s, ""},
		{"request of no wait", RetryAfter{Default: 20 * s}, After(errFailed, 0), s, ""},
		{"unreadable", RetryAfter{}, unreadable, 60 * s, ""},
		{"unreadable, with a default", RetryAfter{Default: 20 * s}, unreadable, 20 * s, ""},
		{"default at its limit", RetryAfter{Max: 20 * s, Default: 21 * s}, unreadable, 20 * s, ""},
		{"rate limit", RetryAfter{}, rate, s, ""},
		{"rate limit, with a default", RetryAfter{Default: 20 * s}, rate, 20 * s, ""},
		{"no rate limit, with a default", RetryAfter{Default: 20 * s}, errFailed, s, ""},
		{"over the default limit", RetryAfter{}, After(errFailed, 301*s), 300 * s, ""},
		{"over the limit", RetryAfter{Max: 10 * s}, After(errFailed, 20*s), 10 * s, ""},
		{"at the limit", RetryAfter{Max: 20 * s, FailOver: true}, After(errFailed, 20*s), 20 * s, ""},
		{"over the limit, fails", RetryAfter{Max: 20 * s, FailOver: true}, After(errFailed, 20*s+1), 0, ErrRetryAfter},
		{"within the limit", RetryAfter{Max: 20 * s, FailOver: true}, After(errFailed, 2*s), 2 * s, ""},
		{"ignored", RetryAfter{Max: None}, After(errFailed, 20*s), s, ""},
		{"ignored, fails over", RetryAfter{Max: None, FailOver: true, Default: 20 * s}, unreadable, s, ""},
	} {
		p := Policy{Schedule: Schedule{RetryAfter: tt.after}}
		_, v := p.Decide(CallState{}, Failure{Err: tt.err}, Inputs{})
		if v.Wait != tt.want || v.Reason != tt.reason {
			t.Errorf("%s: a wait of %v, reason %q; want %v, %q", tt.name, v.Wait, v.Reason, tt.want, tt.reason)
		}
	}
}

// TestPolicyBounds: the bounds of the waits include the default of retry_after
// where rate limits are retried, and the runtime waits within them.
func TestPolicyBounds(t *testing.T) {
	const s = time.Second
	after := RetryAfter{Default: 45 * s}
	limit := Override{ClassRateLimit, Schedule{RetryAfter: after}}
	for _, tt := range []struct {
		name                  string
		policy                Policy
		least, base, greatest time.Duration
	}{
		{"every error", Policy{}, s, s, 45 * s},
		{"rate limits", Policy{RetryOn: []Class{ClassRateLimit}}, 45 * s, 45 * s, 45 * s},
		{"transient", Policy{RetryOn: []Class{ClassTransient}}, s, s, 45 * s},
		{"rate limits and others", Policy{RetryOn: []Class{ClassRateLimit, ClassNetwork}}, s, s, 45 * s},
		{"others", Policy{RetryOn: []Class{ClassNetwork, ClassTimeout, ClassServerError, ClassUnknown}}, s, s, s},
		{"a class of the policy", Policy{RetryOn: []Class{"busy"}}, s, s, 45 * s},
		{"aborted", Policy{AbortOn: []Class{ClassRateLimit}}, s, s, s},
		{"another schedule", Policy{PerError: []Override{limit}}, s, s, s},
		{"another class", Policy{PerError: []Override{{Class: ClassNetwork}}}, s, s, 45 * s},
		{"that schedule", (&Policy{PerError: []Override{limit}}).Under(limit), 45 * s, 45 * s, 45 * s},
	} {
		p := tt.policy
		p.RetryAfter = after
		if least, base, greatest := p.Bounds(1, 0); least != tt.least || base != tt.base || greatest != tt.greatest {
			t.Errorf("%s: %v, %v, %v; want %v, %v, %v", tt.name, least, base, greatest, tt.least, tt.base, tt.greatest)
		}
		for _, err := range []error{status(429), status(503), errFailed} {
			_, v := p.Decide(CallState{}, Failure{Err: err}, Inputs{})
			own := p.override(err, new(p.inspect(err))) != nil
			if v.Reason == "" && !own && (v.Wait < tt.least || v.Wait > tt.greatest) {
				t.Errorf("%s: %v waits %v, want %v to %v", tt.name, err, v.Wait, tt.least, tt.greatest)
			}
		}
	}
	after.Max = None
	ignored := Policy{RetryOn: []Class{ClassRateLimit}, Schedule: Schedule{RetryAfter: after}}
	if least, base, greatest := ignored.Bounds(1, 0); least != s || base != s || greatest != s {
		t.Errorf("ignored: %v, %v, %v; want 1s", least, base, greatest)
	}
}

// A rate limit is retried five times, as the server asks, a minute apart if it does not
// ask, and at most five minutes apart. Then it is escalated; other errors are not.
func TestRateLimitEscalates(t *testing.T) {
	p := Policy{Schedule: Schedule{MaxAttempts: 4}, PerError: []Override{{Class: ClassRateLimit, Schedule: Schedule{
		MaxAttempts: 6, Escalate: true, RetryAfter: RetryAfter{Default: time.Minute, Max: 5 * time.Minute},
	}}}}
	for err, want := range map[error]time.Duration{
		status(429): 5 * time.Minute, After(status(429), 20*time.Second): 100 * time.Second,
		After(status(429), time.Hour): 25 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			start, calls := time.Now(), 0
			_, got := Do(t.Context(), &p, func(context.Context) (int, error) { calls++; return 0, err })
			if took := time.Since(start); calls != 6 || took != want || !errors.Is(got, ErrEscalated) {
				t.Errorf("%v: %d calls in %v, error %v; want 6 in %v, and ErrEscalated", err, calls, took, got, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := Do(t.Context(), &p, func(context.Context) (int, error) { return 0, status(503) })
		if errors.Is(err, ErrEscalated) || !errors.Is(err, ErrAttempts) {
			t.Errorf("got %v, want ErrAttempts", err)
		}
	})
}
