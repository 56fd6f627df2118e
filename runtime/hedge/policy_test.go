package hedge_test

import (
	"math"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

func TestPolicy(t *testing.T) {
	for _, test := range []struct {
		policy hedge.Policy
		want   string // of the panic of New
	}{
		{hedge.Policy{Name: "Find"}, `hedge "Find": neither After nor Quantile is set: set one of them`},
		{hedge.Policy{After: 1, Quantile: 0.5}, `hedge "": After and Quantile are set: set one of them`},
		{hedge.Policy{After: -1}, `hedge "": After is -1ns: it cannot be negative`},
		{hedge.Policy{Quantile: 0.5, AtLeast: -1},
			`hedge "": AtLeast is -1ns: it cannot be negative; zero means the default`},
		{hedge.Policy{Quantile: 1}, `hedge "": Quantile is 1: it is a share from 0 to below 1`},
		{hedge.Policy{Quantile: math.NaN()}, `hedge "": Quantile is NaN: it is a share from 0 to below 1`},
		{hedge.Policy{After: 1, Extra: 1.5}, `hedge "": Extra is 1.5: it is a share from 0 to 1; zero means the default`},
		{hedge.Policy{After: 1, Extra: math.NaN()},
			`hedge "": Extra is NaN: it is a share from 0 to 1; zero means the default`},
	} {
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("%+v: panic %v\nwant %v", test.policy, got, test.want)
				}
			}()
			hedge.New(test.policy)
		}()
	}
}

func TestDefaults(t *testing.T) {
	h := hedge.New(hedge.Policy{Name: "Find", Quantile: 0.9})
	want := hedge.Policy{Name: "Find", Quantile: 0.9, AtLeast: time.Millisecond, Extra: 0.05}
	if got := h.Policy(); got != want {
		t.Errorf("policy %+v, want %+v", got, want)
	}
	if d, ok := h.Delay(); ok {
		t.Errorf("delay %v before any request", d)
	}
	if d, ok := hedge.New(hedge.Policy{After: time.Second}).Delay(); !ok || d != time.Second {
		t.Errorf("delay %v, %v", d, ok)
	}
	if d, ok := new(hedge.Hedge).Delay(); ok {
		t.Errorf("delay %v of the zero Hedge", d)
	}
}
