package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNestedFacts compares the events and the error of calls inside each other: each
// fact is stated once, by the innermost policy that knows it, and the class of an
// outer event is that of the innermost error. A policy of the list makes its calls
// inside the one before it.
func TestNestedFacts(t *testing.T) {
	const s = time.Second
	limited, odd := errors.New("429 Too Many Requests"), errors.New("odd")
	first := func(d time.Duration) Schedule { return Schedule{InitialDelay: d} }
	for _, tt := range []struct {
		name     string
		policies []Policy
		steps    []error
		want     string
	}{
		{"not authorized", []Policy{{Name: "flow"}, {Name: "step"}, {Name: "call"}}, []error{status(401)}, `
			call: stop 1 reason=escalated
			step: stop 1 reason=escalated
			flow: stop 1 reason=escalated
			call: escalated after 1 attempt and 0s of waiting: status 401`},
		{"not authorized later", []Policy{{Name: "flow"}, {Name: "call", Schedule: Schedule{MaxAttempts: 1}}},
			[]error{status(503), status(401)}, `
			call: stop 1 class=server_error reason=attempts exhausted
			flow: retry 1 class=server_error wait=1s
			call: stop 1 reason=escalated
			flow: stop 2 waited=1s reason=escalated
			flow: after 2 attempts and 1s of waiting: call: escalated after 1 attempt and 0s of waiting: status 401`},
		{"rate limit at the deadline", []Policy{{Name: "flow", Timeout: 5 * s}, {Name: "call", Schedule: first(3 * s)}},
			[]error{status(429), status(429)}, `
			call: retry 1 class=rate_limit wait=3s
			call: stop 2 class=rate_limit waited=3s reason=deadline too near
			flow: retry 1 class=rate_limit wait=1s
			<nil>`},
		{"rate limit by its text", []Policy{
			{Name: "flow", Timeout: 5 * s, Schedule: first(6 * s)}, {Name: "call", Timeout: 2 * s, Schedule: first(3 * s)},
		}, []error{limited}, `
			call: stop 1 class=rate_limit reason=deadline too near
			flow: stop 1 class=rate_limit reason=deadline too near
			call: deadline too near after 1 attempt and 0s of waiting: 429 Too Many Requests`},
		{"the schedule of the innermost error", []Policy{{Name: "flow", PerError: []Override{
			{ClassTimeout, first(7 * s)}, {ClassRateLimit, first(9 * s)},
		}}, {Name: "call", Timeout: 2 * s, Schedule: first(3 * s)}}, []error{limited}, `
			call: stop 1 class=rate_limit reason=deadline too near
			flow: retry 1 class=rate_limit wait=9s
			<nil>`},
		{"a limit on time without a class", []Policy{{Name: "flow", RetryOn: []Class{ClassTimeout}, PerError: []Override{
			{ClassTimeout, first(7 * s)}, {ClassAny, first(9 * s)},
		}}, {Name: "call", RetryUnknown: true, Timeout: 2 * s, Schedule: first(3 * s)}}, []error{odd}, `
			call: stop 1 class=unknown reason=deadline too near
			flow: retry 1 class=timeout wait=7s
			<nil>`},
		{"wait above max", []Policy{
			{Name: "flow", Timeout: 5 * s}, {Name: "call", Schedule: Schedule{RetryAfter: RetryAfter{Max: s, FailOver: true}}},
		}, []error{fmt.Errorf("get: %w", After(limited, time.Minute))}, `
			call: stop 1 class=rate_limit asked=1m0s reason=retry-after too long
			flow: stop 1 class=rate_limit asked=1m0s reason=retry-after too long
			call: retry-after too long (1m0s, above max 1s) after 1 attempt and 0s of waiting: get: 429 Too Many Requests`},
		{"wait that a call inside did not have", []Policy{
			{Name: "flow", Timeout: 5 * time.Minute}, {Name: "call", Timeout: 5 * s},
		}, []error{After(limited, time.Minute)}, `
			call: stop 1 class=rate_limit asked=1m0s reason=retry-after too long
			flow: retry 1 class=rate_limit wait=1m0s asked=1m0s
			<nil>`},
		{"wait that a call in a retry did not have", []Policy{{Name: "flow"}, {Name: "call", Timeout: 5 * s}},
			[]error{status(503), status(503), status(503), After(limited, time.Minute)}, `
			call: retry 1 class=server_error wait=1s
			call: retry 2 class=server_error wait=2s waited=1s
			call: stop 3 class=server_error waited=3s reason=attempts exhausted
			flow: retry 1 class=server_error wait=1s
			call: stop 1 class=rate_limit reason=attempt of a retry
			flow: retry 2 class=rate_limit wait=1m0s asked=1m0s waited=1s
			<nil>`},
		{"wait for an error without a class", []Policy{
			{Name: "flow"}, {Name: "call", Timeout: s},
		}, []error{After(errors.New("busy"), time.Minute)}, `
			call: stop 1 class=rate_limit reason=deadline too near
			flow: retry 1 class=rate_limit wait=1m0s asked=1m0s
			<nil>`},
		{"limits of two policies", []Policy{{Name: "flow", DelayBudget: s / 2}, {Name: "call", DelayBudget: s / 4}},
			[]error{errFailed}, `
			call: stop 1 class=server_error reason=delay budget exhausted
			flow: stop 1 class=server_error reason=delay budget exhausted
			flow: delay budget exhausted after 1 attempt and 0s of waiting: ` +
				`call: delay budget exhausted after 1 attempt and 0s of waiting: failed`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got strings.Builder
				ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
					fmt.Fprintf(&got, "%s: %s\n", e.Policy, e.describe())
				})
				steps := tt.steps
				op := func(context.Context) (int, error) {
					if len(steps) == 0 {
						return 0, nil
					}
					err := steps[0]
					steps = steps[1:]
					return 0, err
				}
				for i := len(tt.policies) - 1; i >= 0; i-- {
					inner := op
					op = func(ctx context.Context) (int, error) { return Do(ctx, &tt.policies[i], inner) }
				}
				_, err := op(ctx)
				fmt.Fprintf(&got, "%v\n", err)
				want := strings.ReplaceAll(strings.TrimSpace(tt.want), "\t", "") + "\n"
				if got.String() != want {
					t.Errorf("got\n%swant\n%s", got.String(), want)
				}
			})
		})
	}
}
