package breaker

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestUpdate(t *testing.T) {
	fail := func(b *Breaker) {
		p, _ := b.Admit()
		b.Record(p, Failure)
	}
	for _, tt := range []struct {
		name     string
		from, to Policy
		before   func(b *Breaker)
		after    func(b *Breaker)
		want     State
	}{
		{"failures are kept", Policy{Failures: 3}, Policy{Failures: 2},
			func(b *Breaker) { fail(b) }, func(b *Breaker) { fail(b) }, Open},
		{"more than a lower limit", Policy{Failures: 5}, Policy{Failures: 2},
			func(b *Breaker) { fail(b); fail(b); fail(b) }, func(b *Breaker) { fail(b) }, Open},
		{"a higher limit", Policy{Failures: 2}, Policy{Failures: 4},
			func(b *Breaker) { fail(b) }, func(b *Breaker) { fail(b) }, Closed},
		{"open for less", Policy{Failures: 1, OpenFor: time.Hour}, Policy{Failures: 1, OpenFor: time.Minute},
			fail, func(*Breaker) { time.Sleep(2 * time.Minute) }, HalfOpen},
		{"open for longer", Policy{Failures: 1, OpenFor: time.Minute}, Policy{Failures: 1, OpenFor: time.Hour},
			fail, func(*Breaker) { time.Sleep(2 * time.Minute) }, HalfOpen},
		{"a rate is added", Policy{Failures: 9}, Policy{Failures: 9, FailureRate: 0.5, MinCalls: 2},
			fail, func(b *Breaker) { fail(b); fail(b) }, Open},
		{"a rate is removed", Policy{FailureRate: 0.5, MinCalls: 2}, Policy{Failures: 9},
			fail, func(b *Breaker) { fail(b); fail(b) }, Closed},
		{"forced open", Policy{}, Policy{Failures: 9}, (*Breaker).ForceOpen, func(*Breaker) {}, ForcedOpen},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(tt.from)
				tt.before(b)
				if err := b.Update(tt.to); err != nil {
					t.Fatal(err)
				}
				tt.after(b)
				if got := b.State(); got != tt.want {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// An attempt that started before SlowCall was set has no start time, and is not slow.
func TestUpdateSlowCall(t *testing.T) {
	b := New(Policy{Failures: 9})
	pass, ready := b.Ready()
	if !ready {
		t.Fatal("not ready")
	}
	if err := b.Update(Policy{Failures: 9, SlowCall: time.Second, SlowRate: 0.1, MinCalls: 1}); err != nil {
		t.Fatal(err)
	}
	b.Succeed(pass)
	if got := b.State(); got != Closed {
		t.Errorf("%v after a fast attempt", got)
	}
}

func TestUpdateRefuses(t *testing.T) {
	b := New(Policy{Name: "api", Failures: 2})
	for _, p := range []Policy{{Name: "other"}, {Name: "api", Failures: -1}} {
		if err := b.Update(p); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if got := b.Policy().Failures; got != 2 {
		t.Errorf("the refused update changed Failures to %d", got)
	}
}
