package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/internal/vectors"
)

// TestVectors walks the vectors about single calls and about what they share.
func TestVectors(t *testing.T) {
	kinds := maps.Clone(vectorKinds)
	maps.Copy(kinds, sharedKinds)
	maps.Copy(kinds, peerKinds)
	vectors.Walk(t, "runtime", kinds)
}

// delayInput is the input of the kinds about delays.
type delayInput struct {
	Strategy string
	Params   struct {
		Increment string
		Base      float64
		Delays    []string
	}
	Base         float64
	InitialDelay *time.Duration `json:"initial_delay_ns"`
	BaseNS       time.Duration  `json:"base_ns"`
	MaxDelay     *time.Duration `json:"max_delay_ns"`
	Budget       time.Duration  `json:"retry_budget_ns"`
	Attempts     int
	Retries      int
	MaxRetries   int `json:"max_retries"`
	Retry        int
	AgentTimeout time.Duration `json:"agent_timeout_ns"`
}

func (s delayInput) policy(t *testing.T) Policy {
	p := Policy{
		Name: "vector",
		Schedule: Schedule{
			MaxAttempts: s.Attempts,
			MaxDelay:    None,
			Backoff:     Backoff(slices.Index(backoffNames[:], s.Strategy)),
			Base:        cmp.Or(s.Params.Base, s.Base),
		},
		DelayBudget:  s.Budget,
		RetryUnknown: true, // these systems retry every error
	}
	switch {
	case s.BaseNS > 0: // stillwater's zero-based form: linear is d0·k
		p.InitialDelay, p.Increment = s.BaseNS, s.BaseNS
	case s.InitialDelay != nil:
		p.InitialDelay = *s.InitialDelay
	}
	if s.MaxDelay != nil {
		p.MaxDelay = *s.MaxDelay
	}
	if s.Params.Increment != "" {
		p.Increment = parse(t, s.Params.Increment)
	}
	for _, d := range s.Params.Delays {
		p.Delays = append(p.Delays, parse(t, d))
	}
	return p
}

func parse(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// delays is what the kinds about delays expect; a zero field expects nothing.
type delays struct {
	Delays []time.Duration `json:"delays_ns"`
	Delay  time.Duration   `json:"delay_ns"`
	Total  time.Duration   `json:"total_ns"`
	Left   time.Duration   `json:"left_for_work_ns"`
	Then   *time.Duration  // after the last delay; none
}

func checkDelays(t *testing.T, in delayInput, want delays) {
	p := in.policy(t)
	if in.Retry > 0 {
		if got := p.baseDelay(in.Retry); got != want.Delay {
			t.Errorf("baseDelay(%d) = %v, want %v", in.Retry, got, want.Delay)
		}
		return
	}
	var got []time.Duration
	var total time.Duration
	for k := range max(in.Retries, in.MaxRetries) {
		got = append(got, p.baseDelay(k+1))
		total += p.baseDelay(k + 1)
	}
	if want.Delays != nil && !slices.Equal(got, want.Delays) {
		t.Errorf("delays = %v, want %v", got, want.Delays)
	}
	if want.Total != 0 && total != want.Total {
		t.Errorf("total = %v, want %v", total, want.Total)
	}
	if got := max(0, in.AgentTimeout-total); got != want.Left {
		t.Errorf("%v of %v are left, want %v", got, in.AgentTimeout, want.Left)
	}
	if want.Then != nil {
		t.Errorf("a delay of %v after the last one", *want.Then)
	}
}

type band struct {
	Min time.Duration `json:"min_ns"`
	Max time.Duration `json:"max_ns"`

	Inclusive bool // both bounds are possible delays
}

func (want band) check(t *testing.T, p Policy, k int) {
	t.Helper()
	low, _, high := p.Bounds(k, 0)
	if low != want.Min || high != want.Max {
		t.Errorf("bounds = %v to %v, want %v to %v", low, high, want.Min, want.Max)
	}
	for _, u := range []float64{0, 0.25, 0.5, math.Nextafter(1, 0)} {
		if d := p.delay(k, 0, u); d < low || d > high {
			t.Errorf("Delay(%d, u=%v) = %v, outside of %v to %v", k, u, d, low, high)
		}
	}
	// A delay is rounded down to a nanosecond.
	least, most := p.delay(k, 0, 0), p.delay(k, 0, math.Nextafter(1, 0))
	if want.Inclusive && (least != low || most < high-1) {
		t.Errorf("delays from %v to %v, want %v to %v", least, most, low, high)
	}
}

// proportional is the input of the kinds about the seed's own jitter.
type proportional struct {
	Delay    time.Duration `json:"delay_ns"`
	Factor   float64
	MaxDelay *time.Duration `json:"max_delay_ns"`
}

func checkProportional(t *testing.T, in proportional, want band) {
	p := Policy{Schedule: Schedule{Backoff: BackoffFixed, InitialDelay: in.Delay, MaxDelay: None,
		Jitter: JitterProportional, JitterFactor: in.Factor}}
	if in.Factor == 0 {
		p.JitterFactor = -1
	}
	if in.MaxDelay != nil {
		p.MaxDelay = *in.MaxDelay
	}
	want.check(t, p, 1)
}

// additive is the input of the kinds about jitter that only lengthens.
type additive struct {
	Attempt int            `json:"attempt_zero_based"`
	Cap     time.Duration  `json:"cap_ns"`
	Most    *time.Duration `json:"additive_max_ns"`
}

func checkAdditive(t *testing.T, in additive, want band) {
	p := Policy{Schedule: Schedule{InitialDelay: time.Second, MaxDelay: cmp.Or(in.Cap, None), Jitter: JitterAdditive}}
	if in.Most != nil {
		// A fixed width is the factor that makes it of this delay.
		p.JitterFactor = float64(*in.Most) / float64(p.baseDelay(in.Attempt+1))
	}
	want.check(t, p, in.Attempt+1)
}

// ends gives the source's words for the reasons.
var ends = map[string]Reason{
	"attempts_exhausted": ErrAttempts, "last operation error": ErrAttempts,
	"budget_exhausted": ErrDelayBudget, "Retry budget exhausted": ErrDelayBudget,
}

var vectorKinds = map[string]any{
	"backoff_delays":            checkDelays,
	"backoff_overflow":          checkDelays,
	"backoff_sum":               checkDelays,
	"resume_budget":             resumeBudgetVector,
	"backoff_delays_zero_based": checkDelays,

	"fibonacci": func(t *testing.T, in struct{ N []int }, want struct{ F []uint64 }) {
		for i, n := range in.N {
			if got := fibonacci(n); got != want.F[i] {
				t.Errorf("fibonacci(%d) = %d, want %d", n, got, want.F[i])
			}
		}
	},

	"jitter_bounds":                 checkProportional,
	"jitter_test_bounds":            checkProportional,
	"jitter_bounds_additive":        checkAdditive,
	"jitter_bounds_additive_capped": checkAdditive,

	"execute_always_failing": func(t *testing.T, in delayInput, want struct {
		Executions int
		Delays     []time.Duration `json:"delays_ns"`
		Used       time.Duration   `json:"budget_used_ns"`
		Refused    time.Duration   `json:"refused_delay_ns"`
		Returned   string
		End        string
	}) {
		if in.Attempts == 0 {
			in.Attempts = 1 // refused in a policy file; the source runs once
		}
		p := in.policy(t)
		synctest.Test(t, func(t *testing.T) {
			var events []Event
			ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { events = append(events, e) })
			last := errors.New("always")
			executions, err := drive(ctx, &p, func(context.Context) error { return last })
			if executions != want.Executions {
				t.Errorf("%d executions, want %d", executions, want.Executions)
			}
			var waits []time.Duration
			for _, e := range events[:len(events)-1] {
				waits = append(waits, e.Wait)
			}
			if !slices.Equal(waits, want.Delays) {
				t.Errorf("waits = %v, want %v", waits, want.Delays)
			}
			if reason := events[len(events)-1].Reason; reason != ends[want.End] {
				t.Errorf("the last event has reason %q, want %q", reason, ends[want.End])
			}
			if ends[want.Returned] != ends[want.End] {
				t.Errorf("returned %q, want %q", want.Returned, want.End)
			}
			if want.Refused > 0 && p.baseDelay(executions) != want.Refused {
				t.Errorf("refused a delay of %v, want %v", p.baseDelay(executions), want.Refused)
			}
			if in.Attempts == 1 {
				if err != last { // the policy did nothing about it
					t.Errorf("got %#v, want the error of the operation unchanged", err)
				}
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Reason != ends[want.End] || e.Waited != want.Used || e.Err != last {
				t.Errorf("got %#v, want reason %q, waited %v, err %v", err, ends[want.End], want.Used, last)
			}
		})
	},

	"execute_fail_n_then_succeed": func(t *testing.T, in struct {
		Attempts int
		Failures int `json:"failures_before_success"`
	}, want struct {
		Executions, Retries int
		Result              string
	}) {
		if want.Retries != want.Executions-1 {
			t.Errorf("%d executions, %d retries", want.Executions, want.Retries)
		}
		p := Policy{Schedule: Schedule{MaxAttempts: in.Attempts}, RetryUnknown: true}
		checkExecutions(t, &p, errors.New("failed"), in.Failures, want.Executions, want.Result == "ok")
	},

	"execute_with_retry_on": func(t *testing.T, in struct {
		Attempts int
		RetryOn  []Class `json:"retry_on"`
		Error    string
		Failures int `json:"failures_before_success"`
	}, want struct {
		Executions int
		Result     string
	}) {
		p := Policy{Schedule: Schedule{MaxAttempts: in.Attempts}, RetryOn: in.RetryOn}
		checkExecutions(t, &p, errors.New(in.Error), cmp.Or(in.Failures, math.MaxInt), want.Executions, want.Result == "ok")
	},

	"budget_accounting": func(t *testing.T, in struct {
		Executions []time.Duration `json:"executions_ns"`
		Delays     []time.Duration `json:"delays_ns"`
	}, want struct {
		Total time.Duration `json:"total_ns"`
		Used  time.Duration `json:"budget_used_ns"`
	}) {
		p := Policy{Schedule: Schedule{MaxAttempts: len(in.Executions), Backoff: BackoffCustom, Delays: in.Delays},
			DelayBudget: want.Used}
		synctest.Test(t, func(t *testing.T) {
			start, n := time.Now(), 0
			_, err := drive(t.Context(), &p, func(context.Context) error {
				time.Sleep(in.Executions[n])
				if n++; n < len(in.Executions) {
					return errFailed
				}
				return nil
			})
			if got := time.Since(start); err != nil || got != want.Total {
				t.Errorf("took %v with error %v, want %v and none", got, err, want.Total)
			}
		})
	},

	"error_match": func(t *testing.T, in struct {
		Matcher any
		Message string
	}, want bool) {
		p := Policy{}
		class, builtin := in.Matcher.(string)
		if !builtin {
			pattern, err := regexp.Compile(in.Matcher.(map[string]any)["pattern"].(string))
			if err != nil {
				return // refused in a policy file
			}
			class = "custom"
			p.Classes = []ErrorClass{{Class: "custom", Pattern: pattern}}
		}
		err := errors.New(in.Message)
		f := p.inspect(err)
		if got := p.belongs(err, &f, Class(class)); got != want {
			t.Errorf("%q belongs to %v: %v, want %v", in.Message, in.Matcher, got, want)
		}
	},

	"error_class_policy": func(t *testing.T, in string, want struct {
		MaxRetries int   `json:"max_retries"`
		Backoff    []int `json:"backoff_s"`
		Action     string
	}) {
		failure := map[string]error{
			"network_timeout": errors.New("connection timed out"), "server_5xx": status(503), "validation": status(422),
			"not_found_404": status(404), "bad_request_400": status(400), "permanent_api": status(401),
		}[in]
		ended := map[string]func(error) bool{
			"":         func(err error) bool { return errors.Is(err, ErrAttempts) && errors.Is(err, failure) },
			"fail":     func(err error) bool { return err == failure },
			"escalate": func(err error) bool { return errors.Is(err, ErrEscalated) && errors.Is(err, failure) },
		}[want.Action]
		if failure == nil || ended == nil {
			t.Fatalf("no error for %q, or no end for action %q", in, want.Action)
		}
		synctest.Test(t, func(t *testing.T) {
			var waits, backoff []time.Duration
			for _, s := range want.Backoff {
				backoff = append(backoff, time.Duration(s)*time.Second)
			}
			ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
				if e.Reason == "" {
					waits = append(waits, e.Wait)
				}
			})
			_, err := Do(ctx, &Policy{Schedule: Schedule{MaxAttempts: 4}}, func(context.Context) (any, error) {
				return nil, failure
			})
			if !ended(err) || len(waits) != want.MaxRetries || !slices.Equal(waits, backoff) {
				t.Errorf("%s: waits %v, %v; want %+v", in, waits, err, want)
			}
		})
	},

	"status_should_retry": func(t *testing.T, in int, want bool) {
		if got := new(Policy).Retries(status(in)); got != want {
			t.Errorf("status %d is retried: %v, want %v", in, got, want)
		}
	},

	"timeout_cap": func(t *testing.T, in struct {
		Outer int `json:"outer_remaining_ms"`
		Inner int `json:"inner_ms"`
	}, want struct {
		Effective int `json:"effective_ms"`
	}) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(in.Outer)*time.Millisecond)
			defer cancel()
			call := (&Policy{AttemptTimeout: time.Duration(in.Inner) * time.Millisecond}).Begin()
			defer call.End()
			deadline, _ := call.Attempt(ctx).Deadline()
			if got := int(time.Until(deadline).Milliseconds()); got != want.Effective {
				t.Errorf("effective timeout %d ms, want %d", got, want.Effective)
			}
		})
	},
}

// status is an error as HTTP clients return it.
type status int

func (s status) Error() string   { return fmt.Sprintf("status %d", int(s)) }
func (s status) StatusCode() int { return int(s) }

// drive is the loop of generated code under a policy with time limits. It
// returns the number of executions of op.
func drive(ctx context.Context, p *Policy, op func(context.Context) error) (executions int, err error) {
	call := p.Begin()
	defer call.End()
	for {
		executions++
		if err = op(call.Attempt(ctx)); err == nil {
			return executions, nil
		}
		if err = call.Next(ctx, err); err != nil {
			return executions, err
		}
	}
}

func checkExecutions(t *testing.T, p *Policy, failure error, failures, executions int, succeeds bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		got, err := drive(t.Context(), p, func(context.Context) error {
			if n++; n <= failures {
				return failure
			}
			return nil
		})
		if got != executions || (err == nil) != succeeds {
			t.Errorf("%d executions and error %v, want %d and success %v", got, err, executions, succeeds)
		}
	})
}
