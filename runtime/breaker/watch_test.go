package breaker

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// changesOf observes a breaker. The changes are in the slice that it returns, as
// text: when, the states, why, and what is known about the failures.
func changesOf(b *Breaker) *[]string {
	var list []string
	start := time.Now()
	b.Observe(func(c Change) {
		text := fmt.Sprintf("%v %v-%v %s %d", c.When.Sub(start), c.From, c.To, c.Why, c.Failures)
		if !c.OpenUntil.IsZero() {
			text += fmt.Sprintf(" until %v", c.OpenUntil.Sub(start))
		}
		list = append(list, text)
	})
	return &list
}

func TestObserveBreaker(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy Policy
		steps  string // of take, R for Reset, and O for ForceOpen
		want   []string
	}{
		{"closed", Policy{}, "sffsfnR", nil},
		{"opens, probe fails, closes", Policy{OpenFor: 2 * time.Second}, "fff...f...s", []string{
			"0s closed-open consecutive failures 3 until 2s",
			"3s open-half-open open time passed 3",
			"3s half-open-open probe failed 4 until 5s",
			"6s open-half-open open time passed 4",
			"6s half-open-closed probes succeeded 0",
		}},
		{"failure rate", Policy{FailureRate: 0.5, MinCalls: 4}, "sfsf", []string{
			"0s closed-open failure rate 1 until 30s",
		}},
		{"slow rate", Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 2}, "sS", []string{
			"2s closed-open slow rate 0 until 32s",
		}},
		{"slow probe", Policy{SlowRate: 1, SlowCall: time.Second, MinCalls: 1, OpenFor: time.Second}, "S..S", []string{
			"2s closed-open slow rate 0 until 3s",
			"4s open-half-open open time passed 0",
			"6s half-open-open probe slow 1 until 7s",
		}},
		{"escalation and reset", Policy{Failures: 1, EscalateAfter: 2, OpenFor: time.Second}, "f..f.RR", []string{
			"0s closed-open consecutive failures 1 until 1s",
			"2s open-half-open open time passed 1",
			"2s half-open-escalated probe failed 2",
			"3s escalated-closed reset 0",
		}},
		{"forced open", Policy{OpenFor: time.Second}, "ffO....OsR", []string{
			"0s closed-forced-open forced open 2",
			"4s forced-open-closed reset 0",
		}},
		{"forced open while it is open", Policy{Failures: 1, OpenFor: time.Second}, "fO..sRf", []string{
			"0s closed-open consecutive failures 1 until 1s",
			"0s open-forced-open forced open 1",
			"2s forced-open-closed reset 0",
			"2s closed-open consecutive failures 1 until 3s",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := New(tt.policy)
			got := changesOf(b)
			for _, step := range tt.steps {
				switch step {
				case 'R':
					b.Reset()
				case 'O':
					b.ForceOpen()
				default:
					take(b, string(step), 2*time.Second)
				}
			}
			if !slices.Equal(*got, tt.want) {
				t.Errorf("%s: got\n%s\nwant\n%s", tt.name, strings.Join(*got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestObserveRestoredBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for want, s := range map[string]Snapshot{
			"[0s closed-open restored 4 until 5s]": {State: Open, Failures: 4, OpenUntil: now.Add(5 * time.Second)},
			"[0s closed-half-open restored 4]":     {State: Open, Failures: 4, OpenUntil: now.Add(-time.Second)},
			"[0s closed-escalated restored 4]":     {State: Escalated, Failures: 4},
			"[0s closed-forced-open restored 0]":   {State: ForcedOpen},
			"[]":                                   {Failures: 1},
		} {
			b := New(Policy{})
			got := changesOf(b)
			if b.Restore(s); fmt.Sprint(*got) != want {
				t.Errorf("got %v, want %s", *got, want)
			}
		}
	})
}

// A process learns from the store what others have decided, and says so.
func TestObserveSharedBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := Policy{Failures: 1, OpenFor: time.Second}
		r, b := &fakeRemote{policy: policy}, New(policy)
		b.Share(r)
		got := changesOf(b)
		r.policy.Set(&r.state, Snapshot{State: Open, Failures: 1}, time.Now())
		_ = r.sync(b)
		time.Sleep(2 * time.Second)
		_ = probe(b, func() error { return errFailed })
		time.Sleep(2 * time.Second)
		_ = probe(b, func() error { return nil })
		want := []string{
			"0s closed-open shared store 1 until 1s",
			"2s open-half-open open time passed 1",
			"2s half-open-open probe failed 2 until 3s",
			"4s open-half-open open time passed 2",
			"4s half-open-closed probes succeeded 0",
		}
		if !slices.Equal(*got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(*got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Observers are called outside the lock, one change at a time: each change begins
// where the one before it ended, also when an observer causes it.
func TestObserversAreCalledInOrder(t *testing.T) {
	b := New(Policy{Failures: 1, OpenFor: time.Nanosecond})
	last, n := Closed, 0
	b.Observe(func(c Change) {
		if c.From != last {
			t.Errorf("from %v, want %v", c.From, last)
		}
		last = c.To
		if n++; n%10 == 0 {
			b.Reset()
		}
	})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 500 {
				_ = probe(b, func() error {
					if i%2 == 0 {
						return errFailed
					}
					return nil
				})
			}
		})
	}
	wait.Wait()
	if b.State() != last && b.State() != HalfOpen {
		t.Errorf("the last change is to %v, the breaker is %v", last, b.State())
	}
}

// A panic of an observer reaches the caller, and does not end the reports.
func TestObserverPanics(t *testing.T) {
	b := New(Policy{Failures: 1})
	calls := 0
	b.Observe(func(Change) {
		if calls++; calls == 1 {
			panic("observer")
		}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		take(b, "f", 0)
	}()
	if b.Reset(); calls != 2 || b.State() != Closed {
		t.Errorf("%d calls, %v", calls, b.State())
	}
}

func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		untimed := slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		b := New(Policy{Name: "payments", Failures: 1, OpenFor: time.Second})
		b.Observe(Log(slog.New(slog.NewTextHandler(&out, &untimed))))
		take(b, "f..s", 0)
		const want = `level=WARN msg="breaker changed" breaker=payments from=closed to=open reason="consecutive failures" ` +
			`failures=1 open_until=2000-01-01T00:00:01.000Z
level=INFO msg="breaker changed" breaker=payments from=open to=half-open reason="open time passed" failures=1
level=INFO msg="breaker changed" breaker=payments from=half-open to=closed reason="probes succeeded" failures=0
`
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
