package capacity

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A modelAttempt is an attempt that a fuzz test has started.
type modelAttempt struct {
	cancel  context.CancelFunc
	until   time.Time // the end of its longest wait, in the model
	waits   bool      // in the model
	holds   bool      // in the model
	done    bool      // the call has returned
	err     error     // that it has returned
	granted time.Time // when it has returned
}

// start runs wait in a goroutine, until it returns or blocks.
func (a *modelAttempt) start(t *testing.T, wait func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	a.cancel = cancel
	go func() {
		a.err = wait(ctx)
		a.done, a.granted = true, time.Now()
	}()
	synctest.Wait()
}

// A limiterModel is a limiter without concurrency: attempts take permits from the
// front of a list.
type limiterModel struct {
	policy       LimiterPolicy
	limit, inUse int
	attempts     []*modelAttempt
}

func (m *limiterModel) queued() (n int) {
	for _, a := range m.attempts {
		if a.waits {
			n++
		}
	}
	return n
}

// settle hands out permits and ends waits, in the order of the attempts.
func (m *limiterModel) settle() {
	for _, a := range m.attempts {
		switch {
		case a.waits && m.inUse < m.limit:
			a.waits, a.holds = false, true
			m.inUse++
		case a.waits && !time.Now().Before(a.until):
			a.waits = false
		}
	}
}

// some returns the attempt number n of those that ok is about, or nil.
func some(attempts []*modelAttempt, n byte, ok func(*modelAttempt) bool) *modelAttempt {
	var found []*modelAttempt
	for _, a := range attempts {
		if ok(a) {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[int(n)%len(found)]
}

// do carries out one step in the limiter and in the model.
func (m *limiterModel) do(t *testing.T, l *Limiter, step byte) {
	argument := step >> 3
	switch step & 7 {
	case 0, 1, 2:
		a := &modelAttempt{until: time.Now().Add(m.policy.MaxWait)}
		// A free permit of the model is taken, whoever waits: none does then.
		a.waits = m.inUse < m.limit || m.queued() < max(m.policy.Queue, 1)
		m.attempts = append(m.attempts, a)
		m.settle()
		a.start(t, l.Acquire)
	case 3:
		taken := m.inUse < m.limit
		if l.TryAcquire() != taken {
			t.Fatalf("TryAcquire: got %v, want %v", !taken, taken)
		}
		if taken {
			m.inUse++
			m.attempts = append(m.attempts, &modelAttempt{holds: true, done: true})
		}
	case 4, 5:
		if a := some(m.attempts, argument, func(a *modelAttempt) bool { return a.holds }); a != nil {
			a.holds = false
			m.inUse--
			m.settle()
			l.Release()
		}
	case 6:
		if a := some(m.attempts, argument, func(a *modelAttempt) bool { return a.waits }); a != nil {
			a.waits = false
			a.cancel()
		}
	case 7:
		if argument < 8 && m.policy.Target > 0 {
			m.limit = int(argument) + 1
			l.setLimit(int64(m.limit))
		} else {
			time.Sleep(time.Duration(argument) * time.Millisecond)
		}
		m.settle()
	}
	synctest.Wait()
}

// FuzzLimiter compares a limiter with its model after each step: which attempts hold a
// permit, which wait, and which were refused.
func FuzzLimiter(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte{0, 0, 0, 0, 4, 6, 4, 4, 255}, false)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 15, 255, 0, 39, 4, 4, 4, 4, 6, 63}, true)
	f.Fuzz(func(t *testing.T, steps []byte, adaptive bool) {
		synctest.Test(t, func(t *testing.T) {
			p := LimiterPolicy{Limit: 2, MaxWait: 40 * time.Millisecond, Queue: 3}
			if adaptive {
				p.Target, p.Max = time.Second, 8
			}
			l := NewLimiter(p)
			m := limiterModel{policy: p, limit: p.Limit}
			for i, step := range steps[:min(len(steps), 200)] {
				m.do(t, l, step)
				if l.InUse() != m.inUse || l.Queued() != m.queued() || l.Limit() != m.limit {
					t.Fatalf("step %d: %d in use, %d wait, limit %d; want %d, %d, %d",
						i, l.InUse(), l.Queued(), l.Limit(), m.inUse, m.queued(), m.limit)
				}
				for n, a := range m.attempts {
					if a.done == a.waits || a.holds && a.err != nil {
						t.Fatalf("step %d, attempt %d: returned %v, %v; waits %v, holds %v",
							i, n, a.done, a.err, a.waits, a.holds)
					}
				}
			}
			for m.inUse > 0 || m.queued() > 0 {
				m.do(t, l, 4)
				m.do(t, l, 6)
			}
			idle(t, l)
		})
	})
}

// FuzzRate has attempts come, wait, stop waiting and give their slots back at any time. No span
// of time has more starts than the policy says, and attempts start in the order in which they came.
func FuzzRate(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 255}, byte(1))
	f.Add([]byte{0, 1, 0, 0, 6, 5, 34, 1, 0, 3, 255, 0, 0}, byte(3))
	f.Fuzz(func(t *testing.T, steps []byte, burst byte) {
		synctest.Test(t, func(t *testing.T) {
			const interval = 10 * time.Millisecond
			p := RatePolicy{Events: 100, Burst: int(burst%8) + 1, MaxWait: 55 * time.Millisecond}
			r := NewRate(p)
			var waiting []*modelAttempt
			var starts []time.Time
			var held []int64
			for i, step := range steps[:min(len(steps), 200)] {
				argument := step >> 3
				switch step & 7 {
				case 0, 1:
					a := new(modelAttempt)
					a.until = time.Now().Add(p.MaxWait)
					a.start(t, r.Wait)
					waiting = append(waiting, a)
				case 2:
					if r.Allow() {
						starts = append(starts, time.Now())
					}
				case 3:
					if a := some(waiting, argument, func(a *modelAttempt) bool { return !a.done }); a != nil {
						a.cancel()
					}
				case 4: // a slot is taken for an attempt that does not start
					if slot, ok := r.allow(); ok {
						held = append(held, slot)
					}
				case 5:
					if len(held) > 0 {
						n := int(argument) % len(held)
						r.giveBack(held[n])
						held = slices.Delete(held, n, n+1)
					}
				default:
					time.Sleep(time.Duration(argument) * time.Millisecond)
				}
				synctest.Wait()
				blocked := false
				rest := waiting[:0]
				for _, a := range waiting {
					switch {
					case !a.done && time.Now().After(a.until):
						t.Fatalf("step %d: an attempt waits for longer than MaxWait", i)
					case !a.done:
						blocked = true
						rest = append(rest, a)
					case a.err == nil && blocked:
						t.Fatalf("step %d: an attempt has overtaken one that waits", i)
					case a.err == nil:
						starts = append(starts, a.granted)
					}
				}
				waiting = rest
				if len(waiting) != r.Queued() {
					t.Fatalf("step %d: %d wait, want %d", i, r.Queued(), len(waiting))
				}
			}
			for j := range starts {
				for i := range j {
					most := p.Burst + int(starts[j].Sub(starts[i])/interval)
					if n := j - i + 1; n > most {
						t.Fatalf("%d starts in %v, at most %d may be", n, starts[j].Sub(starts[i]), most)
					}
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if r.Queued() != 0 || r.crowded.Load() || r.queue.timer != nil {
				t.Error("the queue is not empty at the end")
			}
		})
	})
}
