package capacity

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewRatePanics(t *testing.T) {
	for _, p := range []RatePolicy{
		{}, {Events: -1}, {Events: 1, Per: -1}, {Events: 1, Burst: -1}, {Events: 1, MaxWait: -2},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewRate(%+v) does not panic", p)
				}
			}()
			NewRate(p)
		}()
	}
}

func TestRateAdmitsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(RatePolicy{Events: 10, Burst: 3, MaxWait: time.Second})
		start := time.Now()
		var all sync.WaitGroup
		var admitted, refused atomic.Int64
		for range 20 {
			all.Go(func() {
				switch err := r.Wait(t.Context()); {
				case err == nil:
					admitted.Add(1)
				case refusedBy(err, ByRate):
					refused.Add(1)
				}
			})
		}
		all.Wait()
		// 3 at once, and 10 whose slots are within 1s.
		if admitted.Load() != 13 || refused.Load() != 7 || time.Since(start) != time.Second {
			t.Errorf("%d admitted, %d refused, after %v", admitted.Load(), refused.Load(), time.Since(start))
		}
		if r.Queued() != 0 || r.queue.timer != nil || r.crowded.Load() {
			t.Error("the queue is not empty")
		}
	})
}

// A wait that is canceled takes no slot: golang/go#69419.
func TestRateCanceledWaitTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(RatePolicy{Events: 1, MaxWait: time.Minute})
		_ = r.Wait(t.Context())
		canceled, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var mu sync.Mutex
		var admitted []time.Duration
		for i := range 4 { // slots at 1s, 2s, 3s and 4s
			ctx := t.Context()
			if i < 2 {
				ctx = canceled
			}
			go func() {
				if r.Wait(ctx) == nil {
					mu.Lock()
					defer mu.Unlock()
					admitted = append(admitted, time.Since(start))
				}
			}()
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond)
		cancel()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if want := []time.Duration{time.Second, 2 * time.Second}; !slices.Equal(admitted, want) {
			t.Errorf("admitted after %v, want %v", admitted, want)
		}
	})
}

func TestRateRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(RatePolicy{Name: "partner", Events: 1, MaxWait: 3 * time.Second})
		_ = r.Wait(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Wait(ctx); err != context.DeadlineExceeded || ctx.Err() != nil {
			t.Errorf("a deadline before the slot: %v", err)
		}
		for range 3 {
			go r.Wait(t.Context())
		}
		synctest.Wait()
		err := r.Wait(t.Context())
		if want := (Refusal{By: ByRate, Name: "partner", AdmitsIn: 4 * time.Second}); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
		if want := "rate limit partner is reached and admits an attempt in 4s"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		time.Sleep(3 * time.Second)
	})
}

// TestRateBound has many goroutines take, wait for and give back slots: no span of time has
// more starts than Burst + rate × span.
func TestRateBound(t *testing.T) {
	const interval, burst = 20 * time.Microsecond, 5
	r := NewRate(RatePolicy{Events: int(time.Second / interval), Burst: burst, MaxWait: 10 * time.Millisecond})
	start := time.Now()
	var mu sync.Mutex
	var slots []int64 // when the slots end that were used
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			var own []int64
			for n := i; time.Since(start) < 100*time.Millisecond; n++ {
				slot, ok := r.allow()
				if !ok && n%2 == 0 {
					var err error
					slot, err = r.wait(t.Context(), time.Time{})
					ok = err == nil
				}
				if at := int64(time.Since(r.begun)); ok && slot > at+int64(interval*burst) {
					t.Errorf("slot until %d at %d", slot, at)
				}
				switch {
				case ok && n%3 == 0:
					r.giveBack(slot)
				case ok:
					own = append(own, slot)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			slots = append(slots, own...)
		})
	}
	all.Wait()
	slices.Sort(slots)
	for i := 1; i < len(slots); i++ {
		if slots[i]-slots[i-1] < int64(interval) {
			t.Fatalf("slots until %d and %d overlap", slots[i-1], slots[i])
		}
	}
	if len(slots) < 100 {
		t.Errorf("only %d slots were used", len(slots))
	}
}

func TestRateIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := RatePolicy{Events: 1, Burst: 2, MaxWait: NoWait}
		a := NewRate(p)
		a.Allow()
		a.Allow()
		time.Sleep(500 * time.Millisecond)
		b := NewRate(p)
		b.Restore(a.Save())
		if b.Allow() {
			t.Error("a slot is free after Restore")
		}
		time.Sleep(500 * time.Millisecond)
		if !b.Allow() || b.Allow() {
			t.Error("not one slot is free after the interval")
		}
		b.Restore(time.Now().Add(24 * time.Hour)) // of a clock that is ahead
		if b.Allow() {
			t.Error("a slot is free")
		}
		time.Sleep(time.Second)
		if !b.Allow() || b.Allow() {
			t.Error("a clock that is ahead has taken more than the burst")
		}
	})
}

// TestReserve: in any stretch of time, no more slots begin than the policy says, whatever the
// times of the attempts are.
func TestReserve(t *testing.T) {
	p := RatePolicy{Events: 10, Burst: 3, MaxWait: time.Second}
	random := rand.New(rand.NewPCG(1, 2))
	var state time.Time
	var begins []time.Time
	now := time.Unix(1000, 0)
	for range 2000 {
		now = now.Add(time.Duration(random.Int64N(int64(150 * time.Millisecond))))
		next, wait, ok := p.Reserve(state, now)
		if ok != (wait <= p.MaxWait) || !ok && next != state {
			t.Fatalf("got %v, %v, %v", next, wait, ok)
		}
		if ok {
			begins = append(begins, now.Add(wait))
		}
		state = next
	}
	for i := range begins {
		for j := i + p.Burst; j < len(begins); j++ {
			if most := float64(p.Burst) + begins[j].Sub(begins[i]).Seconds()*float64(p.Events); float64(j-i+1) > most+1e-6 {
				t.Fatalf("%d attempts began within %v", j-i+1, begins[j].Sub(begins[i]))
			}
		}
	}
	if len(begins) < 1000 {
		t.Errorf("%d attempts began", len(begins))
	}
}

// TestReserveCorrects: a state of a clock that is ahead, as after a failover of the store,
// stops the attempts for no longer than a queue that is full.
func TestReserveCorrects(t *testing.T) {
	p := RatePolicy{Events: 1, Burst: 2, MaxWait: time.Second}
	now := time.Unix(1000, 0)
	state, wait, ok := p.Reserve(now.Add(time.Hour), now)
	if ok || state != now.Add(3*time.Second) || wait != 2*time.Second {
		t.Errorf("got %v, %v, %v", state, wait, ok)
	}
	if state, wait, ok = p.Reserve(state, now.Add(wait)); !ok || wait != 0 {
		t.Errorf("later got %v, %v, %v", state, wait, ok)
	}
}

// TestReserveLongWait: a MaxWait without end admits no more than the policy says.
func TestReserveLongWait(t *testing.T) {
	p := RatePolicy{Events: 1, MaxWait: math.MaxInt64}
	now := time.Unix(1000, 0)
	var state time.Time
	for i := range 3 {
		next, wait, ok := p.Reserve(state, now)
		if !ok || wait != time.Duration(i)*time.Second {
			t.Errorf("attempt %d: got %v, %v", i, wait, ok)
		}
		state = next
	}
}
