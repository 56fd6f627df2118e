package breaker

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeRemote is the shared copy of a breaker, in memory.
type fakeRemote struct {
	policy Policy

	mu      sync.Mutex
	state   Snapshot
	asked   int
	changed int
	err     error
	before  func() // called in Admit
}

func (r *fakeRemote) Admit() (Snapshot, Permit, bool, error) {
	if r.before != nil {
		r.before()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked++; r.err != nil {
		return Snapshot{}, Permit{}, false, r.err
	}
	p, ok := r.policy.Admit(&r.state, time.Now())
	return r.state, p, ok, nil
}

func (r *fakeRemote) Record(p Permit, s Sample) (Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return Snapshot{}, r.err
	}
	r.policy.Record(&r.state, p, s, time.Now())
	return r.state, nil
}

func (r *fakeRemote) Changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed++
}

// sync exchanges the states as package durable does.
func (r *fakeRemote) sync(b *Breaker) error {
	return b.Sync(func(local Snapshot, changed bool) (Snapshot, bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err != nil {
			return Snapshot{}, false, r.err
		}
		if changed {
			r.policy.Set(&r.state, local, time.Now())
		}
		return r.state, true, nil
	})
}

var (
	errFailed  = errors.New("connection refused")
	errRefused = errors.New("the breaker refuses the attempt")
)

// probe makes one attempt, and returns its error or errRefused.
func probe(b *Breaker, op func() error) error {
	permit, ok := b.Admit()
	if !ok {
		return errRefused
	}
	sample := Neutral // of an attempt that panics
	defer func() { b.Record(permit, sample) }()
	err := op()
	if sample = Success; err != nil {
		sample = Failure
	}
	return err
}

func TestSharedBreaker(t *testing.T) {
	fails := func() error { return errFailed }
	succeeds := func() error { return nil }
	policy := Policy{Failures: 1, OpenFor: time.Second}
	setup := func(p Policy) (*fakeRemote, *Breaker) {
		r, b := &fakeRemote{policy: p}, New(p)
		b.Share(r)
		return r, b
	}
	for name, test := range map[string]func(*testing.T){
		"a trip is pushed once": func(t *testing.T) {
			r, b := setup(policy)
			_ = probe(b, fails)
			if r.changed != 1 {
				t.Errorf("reported %d times, want once", r.changed)
			}
			if err := r.sync(b); err != nil || r.state.State != Open || r.state.Failures != 1 {
				t.Errorf("%+v, %v; want it open after 1 failure", r.state, err)
			}
		},
		"a failed push is repeated": func(t *testing.T) {
			r, b := setup(policy)
			r.err = errFailed
			_ = probe(b, fails)
			if err := r.sync(b); !errors.Is(err, errFailed) || b.State() != Open {
				t.Errorf("%v, %v", err, b.State())
			}
			r.err = nil
			if err := r.sync(b); err != nil || r.state.State != Open {
				t.Errorf("%v, %v; want it open", r.state.State, err)
			}
		},
		"the remote opens it": func(t *testing.T) {
			r, b := setup(policy)
			r.policy.Set(&r.state, Snapshot{State: Open, Failures: 1}, time.Now())
			if err := r.sync(b); err != nil || b.State() != Open {
				t.Errorf("%v, %v; want it open", b.State(), err)
			}
			if err := probe(b, succeeds); !errors.Is(err, errRefused) || r.asked != 0 {
				t.Errorf("err = %v, asked %d times; want it refused without asking", err, r.asked)
			}
		},
		"probes are those of the remote": func(t *testing.T) {
			r, b := setup(policy)
			_ = probe(b, fails)
			_ = r.sync(b)
			time.Sleep(2 * time.Second)
			other, ok := policy.Admit(&r.state, time.Now()) // by another process
			if !ok {
				t.Fatal("no probe")
			}
			for range 3 {
				if err := probe(b, succeeds); !errors.Is(err, errRefused) {
					t.Errorf("err = %v, want errRefused: the other process has the probe", err)
				}
			}
			if r.asked != 1 {
				t.Errorf("asked %d times in no time, want once", r.asked)
			}
			policy.Record(&r.state, other, Neutral, time.Now())
			time.Sleep(time.Second)
			if err := probe(b, succeeds); err != nil || r.state.State != Closed || b.State() != Closed {
				t.Errorf("err = %v, remote %v, local %v; want both closed", err, r.state.State, b.State())
			}
		},
		"one goroutine asks at a time": func(t *testing.T) {
			r, b := setup(policy)
			_ = probe(b, fails)
			_ = r.sync(b)
			time.Sleep(2 * time.Second)
			r.before = func() { time.Sleep(500 * time.Millisecond) }
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() { _ = probe(b, succeeds) })
			}
			wg.Wait()
			if r.asked != 1 {
				t.Errorf("asked %d times, want once", r.asked)
			}
		},
		"a panic gives the probe back": func(t *testing.T) {
			r, b := setup(policy)
			_ = probe(b, fails)
			_ = r.sync(b)
			time.Sleep(2 * time.Second)
			func() {
				defer func() { _ = recover() }()
				_ = probe(b, func() error { panic("bug") })
			}()
			if len(r.state.Probes) != 0 || r.state.State != HalfOpen {
				t.Errorf("%+v, want a half-open breaker without probes", r.state)
			}
		},
		"without the remote, it decides alone": func(t *testing.T) {
			r, b := setup(policy)
			_ = probe(b, fails)
			_ = r.sync(b)
			r.err = errFailed
			time.Sleep(2 * time.Second)
			if err := probe(b, succeeds); err != nil || b.State() != Closed {
				t.Errorf("err = %v, %v; want it closed by its own probe", err, b.State())
			}
			r.err = nil
			if err := r.sync(b); err != nil || r.state.State != Open {
				t.Errorf("remote %v, %v; want no push of a probe that the remote has not admitted", r.state.State, err)
			}
		},
		"the end of a probe without the remote": func(t *testing.T) {
			r, b := setup(policy)
			_ = probe(b, fails)
			_ = r.sync(b)
			time.Sleep(2 * time.Second)
			_ = probe(b, func() error { r.err = errFailed; return nil })
			if b.State() != Closed {
				t.Errorf("%v, want it closed by the result", b.State())
			}
		},
		"escalation goes on": func(t *testing.T) {
			p := Policy{Failures: 2, EscalateAfter: 3, OpenFor: time.Second}
			r, b := setup(p)
			_ = probe(b, fails)
			_ = probe(b, fails)
			_ = r.sync(b)
			time.Sleep(2 * time.Second)
			_ = probe(b, fails)
			if r.state.State != Escalated || b.State() != Escalated {
				t.Errorf("remote %v, local %v; want both escalated", r.state.State, b.State())
			}
			b.Reset()
			if err := r.sync(b); err != nil || r.state.State != Closed || b.State() != Closed {
				t.Errorf("remote %v, local %v, %v; want both closed", r.state.State, b.State(), err)
			}
		},
		"it stays open longer in all processes": func(t *testing.T) {
			growing := Policy{Failures: 1, OpenFor: time.Second, MaxOpenFor: time.Minute}
			r, b := setup(growing)
			other := New(growing)
			other.Share(r)
			for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
				_ = probe(b, fails)
				_, _ = r.sync(b), r.sync(other)
				for name, s := range map[string]Snapshot{"first": b.Save(), "other": other.Save(), "remote": r.state} {
					if got := time.Until(s.OpenUntil); got != want {
						t.Errorf("%d: %s is open for %v, want %v", i, name, got, want)
					}
				}
				time.Sleep(want + 1)
				b, other = other, b
			}
			if err := probe(b, succeeds); err != nil || r.state.Reopened != 0 || b.Save().Reopened != 0 {
				t.Errorf("%v: %+v after a success", err, r.state)
			}
		},
		"forced open in all processes": func(t *testing.T) {
			r, b := setup(policy)
			other := New(policy)
			other.Share(r)
			b.ForceOpen()
			if r.changed != 1 {
				t.Errorf("reported %d times, want once", r.changed)
			}
			_, _ = r.sync(b), r.sync(other)
			time.Sleep(time.Hour)
			r.err = errFailed // each decides alone: that it stays open
			for name, b := range map[string]*Breaker{"first": b, "other": other} {
				if err := probe(b, succeeds); !errors.Is(err, errRefused) || b.State() != ForcedOpen {
					t.Errorf("%s: %v, %v", name, err, b.State())
				}
			}
			r.err = nil
			other.Reset()
			_, _ = r.sync(other), r.sync(b)
			if b.State() != Closed || other.State() != Closed || r.state.State != Closed {
				t.Errorf("%v, %v, %v; want all closed", b.State(), other.State(), r.state.State)
			}
		},
		"a probe that ends later does not replace it": func(t *testing.T) {
			r, b := setup(policy)
			_ = probe(b, fails)
			_ = r.sync(b)
			time.Sleep(2 * time.Second)
			_ = probe(b, func() error { b.ForceOpen(); return nil })
			if b.State() != ForcedOpen {
				t.Errorf("%v after the probe", b.State())
			}
			if err := r.sync(b); err != nil || b.State() != ForcedOpen || r.state.State != ForcedOpen {
				t.Errorf("local %v, remote %v, %v", b.State(), r.state.State, err)
			}
		},
		"a trip does not replace it": func(t *testing.T) {
			r, b := setup(policy)
			r.policy.Set(&r.state, Snapshot{State: ForcedOpen}, time.Now())
			_ = probe(b, fails)
			if err := r.sync(b); err != nil || b.State() != ForcedOpen || r.state.State != ForcedOpen {
				t.Errorf("local %v, remote %v, %v", b.State(), r.state.State, err)
			}
		},
		"it is alone again": func(t *testing.T) {
			r, b := setup(policy)
			b.Share(nil)
			_ = probe(b, fails)
			time.Sleep(2 * time.Second)
			if err := probe(b, succeeds); err != nil || r.asked != 0 || r.changed != 0 {
				t.Errorf("err = %v, asked %d, reported %d; want a probe of its own", err, r.asked, r.changed)
			}
		},
		"a change during Sync is kept": func(t *testing.T) {
			r, b := setup(policy)
			err := b.Sync(func(Snapshot, bool) (Snapshot, bool, error) {
				_ = probe(b, fails)
				return Snapshot{}, true, nil
			})
			if err != nil || b.State() != Open {
				t.Errorf("%v, %v; want it open", b.State(), err)
			}
			if err := r.sync(b); err != nil || r.state.State != Open {
				t.Errorf("remote %v, %v; want the push to follow", r.state.State, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
