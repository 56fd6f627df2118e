package hedge_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

// A model predicts races of a hedge with the delay 40ms and an extra share of 1/4. No two
// events of a race happen at the same time: see plan.
type model struct{ quarters int } // of a token that the budget holds

const (
	modelDelay = 40 * ms
	never      = 1 << 62
)

// plan reads a race from four bytes: when the first request would return, how long the
// second one takes, when the caller cancels, and what they are like.
func plan(b [4]byte) (first, second request, cancel time.Duration) {
	unit := func(n byte, offset int) time.Duration { return (4*time.Duration(n%32) + time.Duration(offset)) * ms }
	ends := func(bit byte) string {
		if b[3]&bit != 0 {
			return "fails"
		}
		return ""
	}
	first = request{takes: unit(b[0], 1), ends: ends(1), deaf: b[3]&2 != 0}
	second = request{takes: unit(b[1], 2), ends: ends(4), deaf: b[3]&8 != 0}
	if b[3]&48 == 48 { // a quarter of all
		second.ends = "refused"
	}
	if b[3]&64 != 0 {
		cancel = unit(b[2], 3)
	}
	return first, second, cancel
}

// until returns when a request returns that would return at end and is canceled at
// cancel, and whether it succeeds.
func (q request) until(end, cancel time.Duration) (time.Duration, bool) {
	if !q.deaf && cancel < end {
		return cancel, false
	}
	return end, q.ends == ""
}

// race returns what the race that plan describes does.
func (m *model) race(first, second request, cancel time.Duration) (outcome hedge.Outcome, took time.Duration) {
	if cancel == 0 {
		cancel = never
	}
	outcome = hedge.Single
	end1, ok1 := first.until(first.takes, cancel)
	took = end1
	if starts := modelDelay < min(end1, cancel); starts && m.quarters >= 4 {
		m.quarters -= 4
		end2, ok2 := second.until(modelDelay+second.takes, cancel)
		switch {
		case end1 < end2 && ok1: // the second one is canceled
			end2, ok2 = second.until(end2, min(end1, cancel))
		case end2 < end1 && ok2: // the first one is canceled
			end1, ok1 = first.until(end1, min(end2, cancel))
		}
		took, outcome = max(end1, end2), hedge.First
		switch refused := second.ends == "refused" && end2 == modelDelay+second.takes; {
		case ok2 && !ok1:
			outcome = hedge.Second
		case refused:
			outcome = hedge.Single
		}
	}
	if ok1 || outcome == hedge.Second {
		m.quarters = min(m.quarters+1, 40)
	}
	return outcome, took
}

func FuzzRace(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		races := make([]byte, 400)
		for i := range races {
			races[i] = byte(random.Uint32())
		}
		f.Add(races)
	}
	f.Fuzz(func(t *testing.T, races []byte) {
		synctest.Test(t, func(t *testing.T) {
			h := hedge.New(hedge.Policy{After: modelDelay, Extra: 0.25})
			m := model{quarters: 40}
			for ; len(races) >= 4; races = races[4:] {
				first, second, cancel := plan([4]byte(races))
				outcome, took := m.race(first, second, cancel)
				got := race(t, h, first, second, cancel)
				if got.outcome != outcome || got.took != took {
					t.Fatalf("%+v against %+v, canceled after %v: outcome %v after %v, want %v after %v",
						first, second, cancel, got.outcome, got.took, outcome, took)
				}
			}
		})
	})
}

// While a service fails, there are no second requests once what was saved is used up.
func TestNoHedgesWhileFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedge.New(hedge.Policy{After: 10 * ms})
		fail := request{takes: 20 * ms, ends: "fails"}
		for range 500 {
			race(t, h, fail, fail, 0)
		}
		if got, want := h.Counts(), (hedge.Counts{Lost: 10, NoBudget: 490}); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
	})
}

// A service whose answers all take longer than the delay gets the extra share of
// requests, and no more.
func TestExtraBoundsHedges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedge.New(hedge.Policy{After: 10 * ms, Extra: 0.1})
		for range 1000 {
			race(t, h, request{takes: 20 * ms}, request{takes: 20 * ms}, 0)
		}
		if got, want := h.Counts().Lost, uint64(10+99); got != want {
			t.Errorf("%d second requests, want %d", got, want)
		}
	})
}

// With the quantile 0.95, about 5 % of the requests are hedged, although each second
// request wins at once, which cuts every slow first request short. A service that becomes
// slower or faster changes nothing about that.
func TestShareOfHedges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		h := hedge.New(hedge.Policy{Quantile: 0.95, Extra: 1})
		share := func(n int, scale float64) float64 {
			before := h.Counts()
			for range n {
				takes := time.Duration(random.ExpFloat64() * scale * float64(ms))
				race(t, h, request{takes: takes}, request{}, 0)
			}
			return float64(h.Counts().Won-before.Won) / float64(n)
		}
		share(1000, 20)
		for _, scale := range []float64{20, 200, 50} {
			if got := share(8000, scale); got < 0.045 || got > 0.06 {
				t.Errorf("a mean duration of %vms: %.1f %% of the requests were hedged", scale, 100*got)
			}
		}
	})
}

// A context that ends while the race starts and ends its second request, in all orders.
func TestConcurrent(t *testing.T) {
	h := hedge.New(hedge.Policy{After: 50 * time.Microsecond, Extra: 1})
	done := make(chan struct{})
	for worker := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*20*time.Microsecond+time.Microsecond)
				_, _ = hedge.Do(ctx, h, func(ctx context.Context) (int, error) {
					q := request{takes: time.Duration((i+worker)%5) * 30 * time.Microsecond}
					if i%3 == 0 {
						q.ends = "fails"
					}
					return i, q.do(ctx)
				})
				cancel()
			}
		}()
	}
	for range 8 {
		<-done
	}
}
