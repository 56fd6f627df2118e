package retry

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// peerKinds are the kinds of vectors about policies that other systems have, and
// that a Policy expresses.
var peerKinds = map[string]any{
	"dispatch_backoff": func(t *testing.T, in struct {
		Initial, Multiplier, Max float64
		Failures                 int
	}, want struct {
		Delays []float64 `json:"delays_s"`
	}) {
		seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
		p := Policy{Schedule: Schedule{ // the delay is multiplied before it is used
			InitialDelay: seconds(in.Initial * in.Multiplier), Base: in.Multiplier, MaxDelay: seconds(in.Max),
		}}
		var got []float64
		for k := range in.Failures {
			_, base, _ := p.Bounds(k+1, 0)
			got = append(got, base.Seconds())
		}
		if !slices.Equal(got, want.Delays) {
			t.Errorf("got the delays %v, want %v", got, want.Delays)
		}
	},

	"category_max_retries": func(t *testing.T, category string, want int) {
		failure := map[string]error{
			"transient": status(503), "permanent": Permanent(errors.New("no such account")),
			"fatal": errors.New("out of memory"),
		}[category]
		p := Policy{
			Schedule: Schedule{MaxAttempts: 3},
			Classes:  []ErrorClass{{Class: "fatal", Pattern: regexp.MustCompile("out of memory"), Action: ActionEscalate}},
			PerError: []Override{{Class: ClassTransient, Schedule: Schedule{MaxAttempts: 6}}},
		}
		synctest.Test(t, func(t *testing.T) {
			retries := -1
			_, err := Do(t.Context(), &p, func(context.Context) (any, error) { retries++; return nil, failure })
			if err == nil || retries != want {
				t.Errorf("%s: %d retries, error %v; want %d", category, retries, err, want)
			}
		})
	},
}
