package breaker

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
	pass, ok := b.Admit()
	if !ok {
		t.Fatalf("%s: the breaker is %v", op, b.State())
	}
	if op == "fail" {
		b.Record(pass, Failure)
	} else {
		b.Record(pass, Success)
	}
}

// opened returns a breaker that has just opened.
func opened(t *testing.T, p Policy) *Breaker {
	t.Helper()
	b := New(p)
	for range b.limits.Failures {
		operate(t, b, "fail")
	}
	return b
}

// A probe that hangs loses its place: gobreaker blocks a day later.
func TestProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Policy{})
		time.Sleep(31 * time.Second)
		if _, ok := b.Admit(); !ok {
			t.Fatal("the half-open breaker admits no probe")
		}
		time.Sleep(30 * time.Second)
		if _, ok := b.Admit(); ok {
			t.Error("a second probe is admitted after exactly OpenFor")
		}
		time.Sleep(1)
		if _, ok := b.Admit(); !ok {
			t.Error("a probe that hangs blocks the breaker")
		}
	})
}

// The result of a probe counts however late it is, once.
func TestLateProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfOpen := func(p Policy) (b *Breaker, late, next Permit) {
			b = opened(t, p)
			time.Sleep(31 * time.Second)
			late, _ = b.Admit()
			time.Sleep(31 * time.Second)
			next, ok := b.Admit()
			if !ok {
				t.Fatal("the late probe keeps its place")
			}
			return b, late, next
		}
		b, late, next := halfOpen(Policy{})
		if b.Record(late, Success); b.State() != Closed {
			t.Errorf("after the success of a late probe: %v", b.State())
		}
		if b.Record(next, Failure); b.State() != Closed || b.Save().Failures != 0 {
			t.Errorf("a probe of an earlier generation counts: %+v", b.Save())
		}

		b, late, next = halfOpen(Policy{})
		if b.Record(late, Failure); b.State() != Open {
			t.Errorf("after the failure of a late probe: %v", b.State())
		}
		if b.Record(next, Success); b.State() != Open {
			t.Error("a probe of an earlier generation closes the breaker")
		}

		b, late, next = halfOpen(Policy{Successes: 2})
		b.Record(late, Success)
		if _, ok := b.Admit(); ok {
			t.Error("the result of a late probe frees the place of the next one")
		}
		if b.Record(next, Success); b.State() != Closed {
			t.Errorf("after two successes: %v", b.State())
		}

		b, late, _ = halfOpen(Policy{})
		b.Record(late, Neutral)
		if _, ok := b.Admit(); ok || b.State() != HalfOpen {
			t.Errorf("a neutral late probe frees a place that is not its own, or changes the state: %v", b.State())
		}
	})
}

// Probes that take longer than OpenFor close the breaker all the same.
func TestSlowProbesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Policy{OpenFor: time.Second})
		refused := 0
		for range 600 {
			if p, ok := b.Admit(); ok {
				time.AfterFunc(1500*time.Millisecond, func() { b.Record(p, Success) })
			} else {
				refused++
			}
			time.Sleep(100 * time.Millisecond)
		}
		// Open until 1s; the first probe comes at 1.1s, the second one at 2.2s; the
		// result of the first closes the breaker at 2.6s.
		if b.State() != Closed || refused > 25 {
			t.Errorf("%d of 600 calls were refused, and the breaker is %v", refused, b.State())
		}
	})
}

// What was admitted before the breaker opened does not count now.
func TestStaleResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{})
		stale, _ := b.Ready()
		for range 3 {
			operate(t, b, "fail")
		}
		if b.Succeed(stale); b.State() != Open {
			t.Error("a stale success closes the breaker")
		}
		time.Sleep(31 * time.Second)
		b.State()
		if b.Record(stale.Permit(), Failure); b.State() != HalfOpen {
			t.Error("a stale failure opens it again")
		}
	})
}

// Successes count for the half-open state that admitted them.
func TestSuccessesStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Policy{Failures: 1, Successes: 2})
		for _, op := range strings.Split("wait 31s,success,success,fail,wait 31s,success,fail,wait 31s,success", ",") {
			operate(t, b, op)
		}
		if got := b.State(); got != HalfOpen {
			t.Errorf("after one success of two: %v", got)
		}
		if operate(t, b, "success"); b.State() != Closed {
			t.Errorf("after two: %v", b.State())
		}
	})
}

func TestZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, first := range map[string]func(*Breaker){
			"State":   func(b *Breaker) { b.State() },
			"Save":    func(b *Breaker) { b.Save() },
			"Reset":   func(b *Breaker) { b.Reset() },
			"Restore": func(b *Breaker) { b.Restore(Snapshot{}) },
			"Succeed": func(b *Breaker) { b.Succeed(0) },
			"Admit":   func(*Breaker) {},
			"Ready": func(b *Breaker) {
				if _, ok := b.Ready(); ok || b.Calm() {
					t.Error("the zero Breaker is used without its defaults")
				}
			},
		} {
			b := new(Breaker)
			first(b)
			for i := range 3 {
				if got := b.State(); got != Closed {
					t.Errorf("%s: %v after %d failures", name, got, i)
				}
				operate(t, b, "fail")
			}
			if got := b.State(); got != Open {
				t.Errorf("%s: %v after 3 failures", name, got)
			}
			time.Sleep(30*time.Second + 1)
			operate(t, b, "success")
			if pass, ok := b.Ready(); !ok || !b.Calm() || pass == 0 || b.State() != Closed {
				t.Errorf("%s: %v after a successful probe", name, b.State())
			}
		}
	})
}

// A value without a meaning neither wedges a breaker nor switches it off.
func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		policy Policy
		want   string
	}{
		{Policy{Failures: -1}, `breaker "": Failures is -1: it cannot be negative; zero means the default`},
		{Policy{HalfOpenCalls: -1}, "HalfOpenCalls is -1"},
		{Policy{Successes: -1}, "Successes is -1"},
		{Policy{EscalateAfter: -1}, "EscalateAfter is -1"},
		{Policy{MinCalls: -1}, "MinCalls is -1"},
		{Policy{OpenFor: -1}, "OpenFor is -1ns"},
		{Policy{MaxOpenFor: -1}, "MaxOpenFor is -1ns"},
		{Policy{MaxOpenFor: time.Second}, "MaxOpenFor is 1s: it cannot be shorter than OpenFor"},
		{Policy{OpenFor: time.Second, MaxOpenFor: time.Second}, ""},
		{Policy{Window: -time.Second}, "Window is -1s"},
		{Policy{SlowCall: -1, SlowRate: 1}, "SlowCall is -1ns"},
		{Policy{FailureRate: math.NaN()}, "FailureRate is NaN"},
		{Policy{FailureRate: -0.5}, "FailureRate is -0.5"},
		{Policy{Name: "api", FailureRate: 1.5}, `breaker "api": FailureRate is 1.5: it is a share from 0 to 1`},
		{Policy{SlowCall: 1, SlowRate: math.Inf(1)}, "SlowRate is +Inf"},
		{Policy{SlowRate: 0.5}, "SlowCall is 0s: SlowRate needs it"},
		{Policy{SlowCall: time.Second}, "SlowRate is 0: SlowCall has no effect without it"},
		{Policy{WindowCalls: -1}, "WindowCalls is -1"},
		{Policy{WindowCalls: 10_001}, "WindowCalls is 10001: it is at most 10000"},
		{Policy{WindowCalls: 10, Window: time.Second},
			"WindowCalls is 10: the rates look back for Window, which is set, too"},
		{Policy{WindowCalls: 10, MinCalls: 11},
			"MinCalls is 11: WindowCalls is less, so that no rate would open the breaker"},
		{Policy{FailureRate: 1, WindowCalls: 10, MinCalls: 10}, ""},
		{Policy{FailureRate: 1, SlowRate: 1, SlowCall: 1, EscalateAfter: 1}, ""},
		{Policy{}, ""},
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				if (text == "") != (tt.want == "") || !strings.Contains(text, tt.want) {
					t.Errorf("%+v: got %q, want %q", tt.policy, text, tt.want)
				}
			}()
			New(tt.policy)
		}()
	}
}

func TestPolicyEffective(t *testing.T) {
	base := Policy{OpenFor: 30 * time.Second, HalfOpenCalls: 1, Successes: 1}
	for _, tt := range []struct{ policy, want Policy }{
		{Policy{}, Policy{Failures: 3}},
		{Policy{FailureRate: 0.5}, Policy{FailureRate: 0.5, MinCalls: 20, Window: 10 * time.Second}},
		{
			Policy{FailureRate: 0.5, Failures: 9, MinCalls: 2, Window: time.Hour},
			Policy{FailureRate: 0.5, Failures: 9, MinCalls: 2, Window: time.Hour},
		},
		{
			Policy{FailureRate: 0.5, WindowCalls: 100},
			Policy{FailureRate: 0.5, WindowCalls: 100, MinCalls: 20},
		},
		{
			Policy{FailureRate: 0.5, WindowCalls: 10},
			Policy{FailureRate: 0.5, WindowCalls: 10, MinCalls: 10},
		},
		{
			Policy{SlowRate: 0.5, SlowCall: 1},
			Policy{Failures: 3, SlowRate: 0.5, SlowCall: 1, MinCalls: 20, Window: 10 * time.Second},
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
		p := Policy{Failures: 1, OpenFor: 5 * s, MaxOpenFor: 18 * s}
		b := New(p)
		record := b.Save()
		for i, tt := range []struct {
			sample Sample
			want   time.Duration // that it is open then
		}{
			{Failure, 5 * s}, {Failure, 10 * s}, {Failure, 18 * s}, {Failure, 18 * s},
			{Neutral, 0}, {Failure, 18 * s}, {Success, 0}, {Failure, 5 * s}, {Failure, 10 * s},
		} {
			permit, ok := b.Admit()
			stored, same := p.Admit(&record, time.Now())
			if !ok || !same {
				t.Fatalf("%d: refused in state %v, of the record %v", i, b.State(), record.State)
			}
			b.Record(permit, tt.sample)
			p.Record(&record, stored, tt.sample, time.Now())
			restored := New(p)
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
	for _, p := range []Policy{
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
			policy Policy
			probes []Sample
			want   State
		}{
			"off": {Policy{},
				[]Sample{Failure, Failure, Failure, Failure, Failure, Failure}, Open},
			"below":   {Policy{EscalateAfter: 6}, []Sample{Failure, Failure}, Open},
			"reached": {Policy{EscalateAfter: 6}, []Sample{Failure, Failure, Failure}, Escalated},
			"closed between": {
				Policy{EscalateAfter: 6},
				[]Sample{Failure, Success, Failure, Failure, Failure}, Open,
			},
			"neutral between": {Policy{EscalateAfter: 5},
				[]Sample{Neutral, Failure, Neutral, Failure}, Escalated},
			"half of two": {
				Policy{EscalateAfter: 5, Successes: 2}, []Sample{Failure, Success, Failure},
				Escalated,
			},
			"before it opens":  {Policy{EscalateAfter: 3}, nil, Escalated},
			"by a rate, early": {Policy{EscalateAfter: 3, FailureRate: 1, MinCalls: 3}, nil, Escalated},
			"before a rate":    {Policy{EscalateAfter: 3, FailureRate: 1, MinCalls: 4}, nil, Escalated},
		} {
			b := New(tt.policy)
			for range 3 {
				operate(t, b, "fail")
			}
			for _, s := range tt.probes {
				if b.State() == Open {
					time.Sleep(31 * time.Second)
				}
				p, ok := b.Admit()
				if !ok {
					t.Fatalf("%s: refused in state %v", name, b.State())
				}
				b.Record(p, s)
			}
			if got := b.State(); got != tt.want {
				t.Errorf("%s: %v, want %v", name, got, tt.want)
			}
			time.Sleep(24 * time.Hour)
			if tt.want == Escalated && (b.State() != tt.want || !tt.want.NeedsReset()) {
				t.Errorf("%s: %v a day later", name, b.State())
			}
			if b.Reset(); b.State() != Closed || b.Save().Failures != 0 {
				t.Errorf("%s: %+v after Reset", name, b.Save())
			}
		}
	})
}

func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			saved Snapshot
			want  State
			after time.Duration
		}{
			{Snapshot{State: Open, OpenUntil: now.Add(-time.Minute)}, HalfOpen, 0},
			{Snapshot{State: Open, OpenUntil: now.Add(10 * time.Second)}, Open, 0},
			// Saved under a clock that was wrong.
			{Snapshot{State: Open, OpenUntil: now.Add(time.Hour)}, HalfOpen, 31 * time.Second},
			{Snapshot{State: Escalated, Failures: 5}, Escalated, time.Hour},
			{Snapshot{State: Closed, Failures: 2}, Closed, 0},
		} {
			b := New(Policy{})
			b.Restore(tt.saved)
			time.Sleep(tt.after)
			if got := b.State(); got != tt.want {
				t.Errorf("%+v, %v later: %v, want %v", tt.saved, tt.after, got, tt.want)
			}
		}
		b := opened(t, Policy{})
		other := New(Policy{})
		other.Restore(b.Save())
		if !reflect.DeepEqual(b.Save(), other.Save()) {
			t.Errorf("saved %+v, restored %+v", b.Save(), other.Save())
		}
	})
}

func TestRestoreOfNoState(t *testing.T) {
	for _, state := range []State{ForcedOpen + 1, 9} {
		b := New(Policy{})
		if b.Restore(Snapshot{State: state}); b.State() != Closed {
			t.Errorf("restored %v: the breaker is %v", state, b.State())
		}
	}
}

// Only an open breaker has a time at which it closes.
func TestSaveOfClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Policy{})
		if got, want := b.Save(), (Snapshot{State: Open, Failures: 3,
			OpenUntil: time.Now().Add(30 * time.Second)}); !reflect.DeepEqual(got, want) {
			t.Errorf("open: %+v, want %+v", got, want)
		}
		time.Sleep(31 * time.Second)
		b.State()
		if got, want := b.Save(), (Snapshot{State: HalfOpen, Failures: 3}); !reflect.DeepEqual(got, want) {
			t.Errorf("half-open: %+v, want %+v", got, want)
		}
	})
}

func TestSnapshotJSON(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]Snapshot{
		`{"state":"closed","failures":2}`: {State: Closed, Failures: 2},
		`{"state":"open","failures":3,"open_until":"2030-01-02T03:04:05Z"}`: {
			State: Open, Failures: 3, OpenUntil: until,
		},
		`{"state":"half-open","failures":3}`:   {State: HalfOpen, Failures: 3},
		`{"state":"escalated","failures":8}`:   {State: Escalated, Failures: 8},
		`{"state":"forced-open","failures":0}`: {State: ForcedOpen},
		`{"state":"half-open","failures":3,"generation":7,"successes":1,"probes":[{"generation":7,"probe":4,"started":"2030-01-02T03:04:05Z"}],"last_probe":4}`: {
			State: HalfOpen, Failures: 3, Generation: 7, Successes: 1, Probes: []Permit{{7, 4, until}}, LastProbe: 4,
		},
		`{"state":"closed","failures":0,"generation":1,"window_from":"2030-01-02T03:04:05Z","window":[[3,1,0],[0,0,0]]}`: {
			Generation: 1, WindowFrom: until, Window: [][3]int64{{3, 1, 0}, {}},
		},
		`{"state":"closed","failures":0,"generation":1,"calls":"ssFs"}`: {Generation: 1, Calls: "ssFs"},
	} {
		if got, err := json.Marshal(want); err != nil || string(got) != text {
			t.Errorf("got %s, %v; want %s", got, err, text)
		}
		var got Snapshot
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, s := range []Snapshot{
		{Window: [][3]int64{{3, 1, 0}, {2, 1, 2}}}, {Calls: "ssFfS"},
	} {
		if calls, failed, slow := s.WindowCounts(); calls != 5 || failed != 2 || slow != 2 {
			t.Errorf("%+v: %d calls, %d failed, %d slow", s, calls, failed, slow)
		}
	}
	var s Snapshot
	const want = `"ajar" is not a state of a breaker: want closed, open, half-open, escalated or forced-open`
	if err := json.Unmarshal([]byte(`{"state":"ajar"}`), &s); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for state, want := range map[State]string{5: "State(5) is not",
		9: "State(9) is not a state of a breaker"} {
		_, err := json.Marshal(Snapshot{State: state})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
