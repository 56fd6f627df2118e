package breaker

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// A breaker that is a record admits one probe for all processes, and another one
// where the process of the first died.
func TestRecordOfHalfOpen(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := Policy{Successes: 2}
	s := Snapshot{State: Open, Failures: 3, OpenUntil: now} // as Breaker.Save returned it
	if _, ok := p.Admit(&s, now); ok || s.State != Open || s.OpenUntil != now {
		t.Errorf("an open breaker admits an attempt: %+v", s)
	}
	dead, ok := p.Admit(&s, now.Add(1))
	if !ok || s.State != HalfOpen || len(s.Probes) != 1 || !s.OpenUntil.IsZero() {
		t.Fatalf("no probe in %+v", s)
	}
	before := s
	if _, ok := p.Admit(&s, now.Add(1+30*time.Second)); ok || !reflect.DeepEqual(s, before) {
		t.Errorf("a second probe in %+v", s)
	}
	probe, ok := p.Admit(&s, now.Add(2+30*time.Second))
	if !ok || probe.Probe == dead.Probe || len(s.Probes) != 1 {
		t.Fatalf("the dead probe keeps its place in %+v", s)
	}
	p.Record(&s, probe, Success, now.Add(time.Minute))
	p.Record(&s, Permit{}, Failure, now.Add(time.Minute))
	if s.State != HalfOpen || s.Successes != 1 || len(s.Probes) != 0 || p.Calm(s) {
		t.Errorf("after one success of two: %+v", s)
	}
	p.Record(&s, dead, Success, now.Add(time.Minute)) // late, but of this generation
	if s.State != Closed || !p.Calm(s) {
		t.Errorf("after two: %+v", s)
	}
	stale := s
	if p.Record(&stale, probe, Failure, now.Add(time.Minute)); !reflect.DeepEqual(stale, s) {
		t.Errorf("a result of an earlier generation counts: %+v", stale)
	}
}

// Times that were written under another clock do not block a breaker.
func TestRecordOfAnotherClock(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := now.Add(24 * time.Hour)
	p := Policy{FailureRate: 0.5, MinCalls: 2}

	open := Snapshot{State: Open, Generation: 2, OpenUntil: later}
	if _, ok := p.Admit(&open, now); ok || !open.OpenUntil.Equal(now.Add(30*time.Second)) {
		t.Errorf("open: %+v", open)
	}
	if _, ok := p.Admit(&open, now.Add(31*time.Second)); !ok {
		t.Errorf("open for more than OpenFor: %+v", open)
	}

	halfOpen := Snapshot{State: HalfOpen, Generation: 3, Probes: []Permit{{3, 1, later}}, LastProbe: 1}
	if permit, ok := p.Admit(&halfOpen, now); !ok || permit.Probe != 2 {
		t.Errorf("a probe of tomorrow keeps its place: %+v", halfOpen)
	}

	closed := Snapshot{Generation: 1, WindowFrom: later, Window: [][3]int64{{9, 9, 0}}}
	permit, ok := p.Admit(&closed, now)
	if p.Record(&closed, permit, Failure, now); !ok || closed.State != Closed {
		t.Errorf("attempts of tomorrow count: %+v", closed)
	}
}

// An escalated record admits nothing, at no time.
func TestRecordOfEscalated(t *testing.T) {
	now := time.Now()
	p := Policy{EscalateAfter: 1}
	var s Snapshot
	permit, _ := p.Admit(&s, now)
	p.Record(&s, permit, Failure, now)
	_, ok := p.Admit(&s, now.Add(1000*time.Hour))
	if ok || s.State != Escalated || !s.OpenUntil.IsZero() {
		t.Errorf("%+v", s)
	}
}

// decode(encode(x)) is x for every snapshot that can be decoded, also after an
// attempt.
func FuzzSnapshot(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Add([]byte(`{"state":"open","failures":3,"open_until":"2026-01-02T03:04:35Z"}`), uint8(0))
	f.Add([]byte(
		`{"state":"half-open","generation":7,"probes":[{"generation":7,"probe":4,"started":"2026-01-02T03:04:05Z"}],"last_probe":4}`), uint8(1))
	f.Add([]byte(`{"generation":1,"window_from":"2026-01-02T03:04:05Z","window":[[3,1,0],[0,0,0]]}`), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, sample uint8) {
		var s Snapshot
		if json.Unmarshal(data, &s) != nil {
			return
		}
		identity := func() {
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var again Snapshot
			if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, s) {
				t.Errorf("%s: got %+v, %v; want %+v", text, again, err, s)
			}
		}
		identity()
		p := Policy{FailureRate: 0.5, SlowRate: 0.5, SlowCall: time.Second, MinCalls: 2}
		if permit, ok := p.Admit(&s, now); ok {
			p.Record(&s, permit, Sample(sample%3), now.Add(2*time.Second))
		}
		identity()
	})
}
