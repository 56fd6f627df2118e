package retry

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// operate does what a vector says to a breaker.
func operate(t *testing.T, b *Breaker, op string) {
	t.Helper()
	if wait, ok := strings.CutPrefix(op, "wait "); ok {
		d, err := time.ParseDuration(wait)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
		return
	}
	pass, ok := b.admit(time.Now())
	if !ok {
		t.Fatalf("%s: the breaker is %v", op, b.State())
	}
	if op == "fail" {
		b.record(pass, SampleFailure)
	} else {
		b.record(pass, SampleSuccess)
	}
}

// opened returns a breaker that has just opened.
func opened(t *testing.T, p BreakerPolicy) *Breaker {
	t.Helper()
	b := NewBreaker(p)
	for range b.limits.Failures {
		operate(t, b, "fail")
	}
	return b
}

// A probe that hangs loses its place: gobreaker blocks a day later.
func TestProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{})
		time.Sleep(31 * time.Second)
		if _, ok := b.admit(time.Now()); !ok {
			t.Fatal("the half-open breaker admits no probe")
		}
		time.Sleep(30 * time.Second)
		if _, ok := b.admit(time.Now()); ok {
			t.Error("a second probe is admitted after exactly OpenFor")
		}
		time.Sleep(1)
		if _, ok := b.admit(time.Now()); !ok {
			t.Error("a probe that hangs blocks the breaker")
		}
	})
}

// The result of a probe counts however late it is, once.
func TestLateProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfOpen := func(p BreakerPolicy) (b *Breaker, late, next Permit) {
			b = opened(t, p)
			time.Sleep(31 * time.Second)
			late, _ = b.admit(time.Now())
			time.Sleep(31 * time.Second)
			next, ok := b.admit(time.Now())
			if !ok {
				t.Fatal("the late probe keeps its place")
			}
			return b, late, next
		}
		b, late, next := halfOpen(BreakerPolicy{})
		if b.record(late, SampleSuccess); b.State() != StateClosed {
			t.Errorf("after the success of a late probe: %v", b.State())
		}
		if b.record(next, SampleFailure); b.State() != StateClosed || b.Save().Failures != 0 {
			t.Errorf("a probe of an earlier generation counts: %+v", b.Save())
		}

		b, late, next = halfOpen(BreakerPolicy{})
		if b.record(late, SampleFailure); b.State() != StateOpen {
			t.Errorf("after the failure of a late probe: %v", b.State())
		}
		if b.record(next, SampleSuccess); b.State() != StateOpen {
			t.Error("a probe of an earlier generation closes the breaker")
		}

		b, late, next = halfOpen(BreakerPolicy{Successes: 2})
		b.record(late, SampleSuccess)
		if _, ok := b.admit(time.Now()); ok {
			t.Error("the result of a late probe frees the place of the next one")
		}
		if b.record(next, SampleSuccess); b.State() != StateClosed {
			t.Errorf("after two successes: %v", b.State())
		}

		b, late, _ = halfOpen(BreakerPolicy{})
		b.record(late, SampleNeutral)
		if _, ok := b.admit(time.Now()); ok || b.State() != StateHalfOpen {
			t.Errorf("a neutral late probe frees a place that is not its own, or changes the state: %v", b.State())
		}
	})
}

// Probes that take longer than OpenFor close the breaker all the same.
func TestSlowProbesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{OpenFor: time.Second})
		refused := 0
		for range 600 {
			if p, ok := b.admit(time.Now()); ok {
				time.AfterFunc(1500*time.Millisecond, func() { b.record(p, SampleSuccess) })
			} else {
				refused++
			}
			time.Sleep(100 * time.Millisecond)
		}
		// Open until 1s; the first probe comes at 1.1s, the second one at 2.2s; the
		// result of the first closes the breaker at 2.6s.
		if b.State() != StateClosed || refused > 25 {
			t.Errorf("%d of 600 calls were refused, and the breaker is %v", refused, b.State())
		}
	})
}

// What was admitted before the breaker opened does not count now.
func TestStaleResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{})
		stale, _ := b.Ready()
		for range 3 {
			operate(t, b, "fail")
		}
		if b.Succeed(stale); b.State() != StateOpen {
			t.Error("a stale success closes the breaker")
		}
		time.Sleep(31 * time.Second)
		b.State()
		if b.record(stale.permit(), SampleFailure); b.State() != StateHalfOpen {
			t.Error("a stale failure opens it again")
		}
	})
}

// Successes count for the half-open state that admitted them.
func TestSuccessesStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{Failures: 1, Successes: 2})
		for _, op := range strings.Split("wait 31s,success,success,fail,wait 31s,success,fail,wait 31s,success", ",") {
			operate(t, b, op)
		}
		if got := b.State(); got != StateHalfOpen {
			t.Errorf("after one success of two: %v", got)
		}
		if operate(t, b, "success"); b.State() != StateClosed {
			t.Errorf("after two: %v", b.State())
		}
	})
}

func TestZeroBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, first := range map[string]func(*Breaker){
			"State":   func(b *Breaker) { b.State() },
			"Save":    func(b *Breaker) { b.Save() },
			"Reset":   func(b *Breaker) { b.Reset() },
			"Restore": func(b *Breaker) { b.Restore(BreakerSnapshot{}) },
			"Succeed": func(b *Breaker) { b.Succeed(0) },
			"refusal": func(b *Breaker) { b.refusal() },
			"admit":   func(*Breaker) {},
			"Ready": func(b *Breaker) {
				if _, ok := b.Ready(); ok || b.Calm() {
					t.Error("the zero Breaker is used without its defaults")
				}
			},
		} {
			b := new(Breaker)
			first(b)
			for i := range 3 {
				if got := b.State(); got != StateClosed {
					t.Errorf("%s: %v after %d failures", name, got, i)
				}
				operate(t, b, "fail")
			}
			if got := b.State(); got != StateOpen {
				t.Errorf("%s: %v after 3 failures", name, got)
			}
			time.Sleep(30*time.Second + 1)
			operate(t, b, "success")
			if pass, ok := b.Ready(); !ok || !b.Calm() || pass == 0 || b.State() != StateClosed {
				t.Errorf("%s: %v after a successful probe", name, b.State())
			}
		}
	})
}

// A value without a meaning neither wedges a breaker nor switches it off.
func TestNewBreakerRefuses(t *testing.T) {
	for _, tt := range []struct {
		policy BreakerPolicy
		want   string
	}{
		{BreakerPolicy{Failures: -1}, `retry: breaker "": Failures is -1: it cannot be negative; zero means the default`},
		{BreakerPolicy{HalfOpenCalls: -1}, "HalfOpenCalls is -1"},
		{BreakerPolicy{Successes: -1}, "Successes is -1"},
		{BreakerPolicy{EscalateAfter: -1}, "EscalateAfter is -1"},
		{BreakerPolicy{MinCalls: -1}, "MinCalls is -1"},
		{BreakerPolicy{OpenFor: None}, "OpenFor is -1ns"},
		{BreakerPolicy{MaxOpenFor: None}, "MaxOpenFor is -1ns"},
		{BreakerPolicy{MaxOpenFor: time.Second}, "MaxOpenFor is 1s: it cannot be shorter than OpenFor"},
		{BreakerPolicy{OpenFor: time.Second, MaxOpenFor: time.Second}, ""},
		{BreakerPolicy{Window: -time.Second}, "Window is -1s"},
		{BreakerPolicy{SlowCall: -1, SlowRate: 1}, "SlowCall is -1ns"},
		{BreakerPolicy{FailureRate: math.NaN()}, "FailureRate is NaN"},
		{BreakerPolicy{FailureRate: -0.5}, "FailureRate is -0.5"},
		{BreakerPolicy{Name: "api", FailureRate: 1.5}, `retry: breaker "api": FailureRate is 1.5: it is a share from 0 to 1`},
		{BreakerPolicy{SlowCall: 1, SlowRate: math.Inf(1)}, "SlowRate is +Inf"},
		{BreakerPolicy{SlowRate: 0.5}, "SlowCall is 0s: SlowRate needs it"},
		{BreakerPolicy{SlowCall: time.Second}, "SlowRate is 0: SlowCall has no effect without it"},
		{BreakerPolicy{WindowCalls: -1}, "WindowCalls is -1"},
		{BreakerPolicy{WindowCalls: 10_001}, "WindowCalls is 10001: it is at most 10000"},
		{BreakerPolicy{WindowCalls: 10, Window: time.Second},
			"WindowCalls is 10: the rates look back for Window, which is set, too"},
		{BreakerPolicy{WindowCalls: 10, MinCalls: 11},
			"MinCalls is 11: WindowCalls is less, so that no rate would open the breaker"},
		{BreakerPolicy{FailureRate: 1, WindowCalls: 10, MinCalls: 10}, ""},
		{BreakerPolicy{FailureRate: 1, SlowRate: 1, SlowCall: 1, EscalateAfter: 1}, ""},
		{BreakerPolicy{}, ""},
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				if (text == "") != (tt.want == "") || !strings.Contains(text, tt.want) {
					t.Errorf("%+v: got %q, want %q", tt.policy, text, tt.want)
				}
			}()
			NewBreaker(tt.policy)
		}()
	}
}

func TestBreakerPolicyEffective(t *testing.T) {
	base := BreakerPolicy{OpenFor: 30 * time.Second, HalfOpenCalls: 1, Successes: 1}
	for _, tt := range []struct{ policy, want BreakerPolicy }{
		{BreakerPolicy{}, BreakerPolicy{Failures: 3}},
		{BreakerPolicy{FailureRate: 0.5}, BreakerPolicy{FailureRate: 0.5, MinCalls: 20, Window: 10 * time.Second}},
		{
			BreakerPolicy{FailureRate: 0.5, Failures: 9, MinCalls: 2, Window: time.Hour},
			BreakerPolicy{FailureRate: 0.5, Failures: 9, MinCalls: 2, Window: time.Hour},
		},
		{
			BreakerPolicy{FailureRate: 0.5, WindowCalls: 100},
			BreakerPolicy{FailureRate: 0.5, WindowCalls: 100, MinCalls: 20},
		},
		{
			BreakerPolicy{FailureRate: 0.5, WindowCalls: 10},
			BreakerPolicy{FailureRate: 0.5, WindowCalls: 10, MinCalls: 10},
		},
		{
			BreakerPolicy{SlowRate: 0.5, SlowCall: 1},
			BreakerPolicy{Failures: 3, SlowRate: 0.5, SlowCall: 1, MinCalls: 20, Window: 10 * time.Second},
		},
	} {
		tt.want.OpenFor, tt.want.HalfOpenCalls, tt.want.Successes = base.OpenFor, base.HalfOpenCalls, base.Successes
		if got := tt.policy.Effective(); !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(got.Effective(), got) {
			t.Errorf("%+v: got %+v, want %+v", tt.policy, got, tt.want)
		}
	}
}

// With MaxOpenFor, a breaker stays open longer each time that it opens again, and as
// long as at first once it has closed. A copy that was saved goes on with that.
func TestMaxOpenFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s = time.Second
		p := BreakerPolicy{Failures: 1, OpenFor: 5 * s, MaxOpenFor: 18 * s}
		b := NewBreaker(p)
		record := b.Save()
		for i, tt := range []struct {
			sample Sample
			want   time.Duration // that it is open then
		}{
			{SampleFailure, 5 * s}, {SampleFailure, 10 * s}, {SampleFailure, 18 * s}, {SampleFailure, 18 * s},
			{SampleNeutral, 0}, {SampleFailure, 18 * s}, {SampleSuccess, 0}, {SampleFailure, 5 * s}, {SampleFailure, 10 * s},
		} {
			permit, ok := b.admit(time.Now())
			stored, same := p.Admit(&record, time.Now())
			if !ok || !same {
				t.Fatalf("%d: refused in state %v, of the record %v", i, b.State(), record.State)
			}
			b.record(permit, tt.sample)
			p.Record(&record, stored, tt.sample, time.Now())
			restored := NewBreaker(p)
			restored.Restore(b.Save())
			for name, got := range map[string]time.Time{
				"breaker": b.Save().OpenUntil, "restored": restored.Save().OpenUntil, "record": record.OpenUntil,
			} {
				if tt.want == 0 && !got.IsZero() || tt.want > 0 && time.Until(got) != tt.want {
					t.Errorf("%d: the %s is open for %v, want %v", i, name, time.Until(got), tt.want)
				}
			}
			if b = restored; tt.want > 0 {
				time.Sleep(tt.want + 1)
			}
		}
	})
}

// Whatever was stored, a breaker is open for MaxOpenFor at most.
func TestMaxOpenForOfAnyRecord(t *testing.T) {
	for _, p := range []BreakerPolicy{
		{OpenFor: 1, MaxOpenFor: math.MaxInt64}, {OpenFor: math.MaxInt64, MaxOpenFor: math.MaxInt64},
		{OpenFor: time.Second, MaxOpenFor: time.Second}, {OpenFor: time.Second},
	} {
		want := max(p.OpenFor, p.MaxOpenFor)
		if got := p.openFor(math.MaxInt); got != want {
			t.Errorf("%+v: open for %v, want %v", p, got, want)
		}
	}
}

// The count of failures in a row goes on while the breaker is half-open, until
// it closes.
func TestEscalate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			policy BreakerPolicy
			probes []Sample
			want   BreakerState
		}{
			"off": {BreakerPolicy{},
				[]Sample{SampleFailure, SampleFailure, SampleFailure, SampleFailure, SampleFailure, SampleFailure}, StateOpen},
			"below":   {BreakerPolicy{EscalateAfter: 6}, []Sample{SampleFailure, SampleFailure}, StateOpen},
			"reached": {BreakerPolicy{EscalateAfter: 6}, []Sample{SampleFailure, SampleFailure, SampleFailure}, StateEscalated},
			"closed between": {
				BreakerPolicy{EscalateAfter: 6},
				[]Sample{SampleFailure, SampleSuccess, SampleFailure, SampleFailure, SampleFailure}, StateOpen,
			},
			"neutral between": {BreakerPolicy{EscalateAfter: 5},
				[]Sample{SampleNeutral, SampleFailure, SampleNeutral, SampleFailure}, StateEscalated},
			"half of two": {
				BreakerPolicy{EscalateAfter: 5, Successes: 2}, []Sample{SampleFailure, SampleSuccess, SampleFailure},
				StateEscalated,
			},
			"before it opens":  {BreakerPolicy{EscalateAfter: 3}, nil, StateEscalated},
			"by a rate, early": {BreakerPolicy{EscalateAfter: 3, FailureRate: 1, MinCalls: 3}, nil, StateEscalated},
			"before a rate":    {BreakerPolicy{EscalateAfter: 3, FailureRate: 1, MinCalls: 4}, nil, StateEscalated},
		} {
			b := NewBreaker(tt.policy)
			for range 3 {
				operate(t, b, "fail")
			}
			for _, s := range tt.probes {
				if b.State() == StateOpen {
					time.Sleep(31 * time.Second)
				}
				p, ok := b.admit(time.Now())
				if !ok {
					t.Fatalf("%s: refused in state %v", name, b.State())
				}
				b.record(p, s)
			}
			if got := b.State(); got != tt.want {
				t.Errorf("%s: %v, want %v", name, got, tt.want)
			}
			time.Sleep(24 * time.Hour)
			if r := b.refusal(); tt.want == StateEscalated && (b.State() != tt.want || r.admits(time.Now())) {
				t.Errorf("%s: %v a day later, %v", name, b.State(), r)
			}
			if b.Reset(); b.State() != StateClosed || b.Save().Failures != 0 {
				t.Errorf("%s: %+v after Reset", name, b.Save())
			}
		}
	})
}

func TestRefusalOfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{Name: "up"})
		if got := b.refusal(); got != (Refusal{Breaker: "up"}) {
			t.Errorf("closed: %+v", got)
		}
		for range 3 {
			operate(t, b, "fail")
		}
		got := b.refusal()
		if want := (Refusal{Breaker: "up", State: StateOpen, AdmitsAt: time.Now().Add(30 * time.Second)}); got != want {
			t.Errorf("open: %+v, want %+v", got, want)
		}
		time.Sleep(time.Until(got.AdmitsAt))
		if _, ok := b.admit(time.Now()); ok || got.admits(time.Now()) {
			t.Error("the breaker admits an attempt at that time")
		}
		time.Sleep(1)
		if _, ok := b.admit(time.Now()); !ok || !got.admits(time.Now()) || b.refusal().State != StateHalfOpen {
			t.Error("the breaker admits none after that time")
		}
	})
}

func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			saved BreakerSnapshot
			want  BreakerState
			after time.Duration
		}{
			{BreakerSnapshot{State: StateOpen, OpenUntil: now.Add(-time.Minute)}, StateHalfOpen, 0},
			{BreakerSnapshot{State: StateOpen, OpenUntil: now.Add(10 * time.Second)}, StateOpen, 0},
			// Saved under a clock that was wrong.
			{BreakerSnapshot{State: StateOpen, OpenUntil: now.Add(time.Hour)}, StateHalfOpen, 31 * time.Second},
			{BreakerSnapshot{State: StateEscalated, Failures: 5}, StateEscalated, time.Hour},
			{BreakerSnapshot{State: StateClosed, Failures: 2}, StateClosed, 0},
		} {
			b := NewBreaker(BreakerPolicy{})
			b.Restore(tt.saved)
			time.Sleep(tt.after)
			if got := b.State(); got != tt.want {
				t.Errorf("%+v, %v later: %v, want %v", tt.saved, tt.after, got, tt.want)
			}
		}
		b := opened(t, BreakerPolicy{})
		other := NewBreaker(BreakerPolicy{})
		other.Restore(b.Save())
		if !reflect.DeepEqual(b.Save(), other.Save()) {
			t.Errorf("saved %+v, restored %+v", b.Save(), other.Save())
		}
	})
}

func TestRestoreOfNoState(t *testing.T) {
	for _, state := range []BreakerState{StateForcedOpen + 1, 9} {
		b := NewBreaker(BreakerPolicy{})
		if b.Restore(BreakerSnapshot{State: state}); b.State() != StateClosed {
			t.Errorf("restored %v: the breaker is %v", state, b.State())
		}
	}
}

// Only an open breaker has a time at which it closes.
func TestSaveOfClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{})
		if got, want := b.Save(), (BreakerSnapshot{State: StateOpen, Failures: 3,
			OpenUntil: time.Now().Add(30 * time.Second)}); !reflect.DeepEqual(got, want) {
			t.Errorf("open: %+v, want %+v", got, want)
		}
		time.Sleep(31 * time.Second)
		b.State()
		if got, want := b.Save(), (BreakerSnapshot{State: StateHalfOpen, Failures: 3}); !reflect.DeepEqual(got, want) {
			t.Errorf("half-open: %+v, want %+v", got, want)
		}
	})
}

func TestSnapshotJSON(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]BreakerSnapshot{
		`{"state":"closed","failures":2}`: {State: StateClosed, Failures: 2},
		`{"state":"open","failures":3,"open_until":"2030-01-02T03:04:05Z"}`: {
			State: StateOpen, Failures: 3, OpenUntil: until,
		},
		`{"state":"half-open","failures":3}`:   {State: StateHalfOpen, Failures: 3},
		`{"state":"escalated","failures":8}`:   {State: StateEscalated, Failures: 8},
		`{"state":"forced-open","failures":0}`: {State: StateForcedOpen},
		`{"state":"half-open","failures":3,"generation":7,"successes":1,"probes":[{"generation":7,"probe":4,"started":"2030-01-02T03:04:05Z"}],"last_probe":4}`: {
			State: StateHalfOpen, Failures: 3, Generation: 7, Successes: 1, Probes: []Permit{{7, 4, until}}, LastProbe: 4,
		},
		`{"state":"closed","failures":0,"generation":1,"window_from":"2030-01-02T03:04:05Z","window":[[3,1,0],[0,0,0]]}`: {
			Generation: 1, WindowFrom: until, Window: [][3]int64{{3, 1, 0}, {}},
		},
		`{"state":"closed","failures":0,"generation":1,"calls":"ssFs"}`: {Generation: 1, Calls: "ssFs"},
	} {
		if got, err := json.Marshal(want); err != nil || string(got) != text {
			t.Errorf("got %s, %v; want %s", got, err, text)
		}
		var got BreakerSnapshot
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, s := range []BreakerSnapshot{
		{Window: [][3]int64{{3, 1, 0}, {2, 1, 2}}}, {Calls: "ssFfS"},
	} {
		if calls, failed, slow := s.WindowCounts(); calls != 5 || failed != 2 || slow != 2 {
			t.Errorf("%+v: %d calls, %d failed, %d slow", s, calls, failed, slow)
		}
	}
	var s BreakerSnapshot
	const want = `"ajar" is not a state of a breaker: want closed, open, half-open, escalated or forced-open`
	if err := json.Unmarshal([]byte(`{"state":"ajar"}`), &s); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for state, want := range map[BreakerState]string{5: "BreakerState(5) is not",
		9: "BreakerState(9) is not a state of a breaker"} {
		_, err := json.Marshal(BreakerSnapshot{State: state})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
