package hedge

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// distributions are durations of requests in milliseconds.
var distributions = map[string]func(*rand.Rand) float64{
	"uniform":     func(r *rand.Rand) float64 { return 1 + 99*r.Float64() },
	"exponential": func(r *rand.Rand) float64 { return 20 * r.ExpFloat64() },
	"lognormal":   func(r *rand.Rand) float64 { return 20 * math.Exp(r.NormFloat64()) },
	"narrow":      func(r *rand.Rand) float64 { return 20 + r.Float64() },
	"two modes": func(r *rand.Rand) float64 {
		if r.IntN(10) == 0 {
			return 300 + 50*r.Float64()
		}
		return 20 + r.Float64()
	},
}

// A load makes requests, which are hedged at a quantile. Several are in flight.
type load struct {
	quantile
	random   *rand.Rand
	q        float64
	inFlight int
	results  []func() // of the requests in flight
}

// run makes n requests and returns which share of them took longer than the delay.
func (l *load) run(n int, duration func(*rand.Rand) float64) (share float64) {
	longer := 0
	for range n {
		if len(l.results) > l.inFlight {
			l.results[0]()
			l.results = l.results[1:]
		}
		d, delay := time.Duration(duration(l.random)*1e6), l.get()
		cut := false
		if delay > 0 && d > delay {
			longer++
			if second := delay + time.Duration(duration(l.random)*1e6); second < d {
				d, cut = second, true
			}
		}
		l.results = append(l.results, func() { l.add(d, cut, l.q) })
	}
	return float64(longer) / float64(n)
}

// The share of requests that are hedged is what the quantile leaves, whatever the
// durations are, although every second request that wins cuts a first one short.
func TestQuantileShare(t *testing.T) {
	for name, duration := range distributions {
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99} {
			l := load{q: q, random: rand.New(rand.NewPCG(1, 2))}
			if l.run(samples, duration); l.get() != 0 {
				t.Errorf("%s: an estimate after %d durations", name, samples-1)
			}
			l.run(1000, duration)
			if got, want := l.run(50_000, duration), 1-q; math.Abs(got-want) > 0.1*want {
				t.Errorf("%s: above the quantile %v are %.2f %%, want %.0f %%", name, q, 100*got, 100*want)
			}
		}
	}
}

// The estimate is close to the exact quantile.
func TestQuantileExact(t *testing.T) {
	var e quantile
	random := rand.New(rand.NewPCG(3, 4))
	exact := -20 * math.Log(0.05) // of the exponential distribution, in milliseconds
	var sum, squares float64
	const n = 100_000
	for i := range n + 1000 {
		e.add(time.Duration(distributions["exponential"](random)*1e6), false, 0.95)
		if i >= 1000 {
			ratio := e.get().Seconds() * 1000 / exact
			sum += ratio
			squares += (ratio - 1) * (ratio - 1)
		}
	}
	mean, deviation := sum/n, math.Sqrt(squares/n)
	t.Logf("mean %.3f of the exact quantile, standard deviation %.3f", mean, deviation)
	if math.Abs(mean-1) > 0.03 || deviation > 0.125 {
		t.Errorf("mean %.3f of the exact quantile, standard deviation %.3f", mean, deviation)
	}
}

// When durations become ten times as long or short, the estimate follows within some
// hundred requests, also with many in flight.
func TestQuantileFollows(t *testing.T) {
	for name, duration := range distributions {
		for _, inFlight := range []int{0, 20, 200} {
			l := load{q: 0.95, random: rand.New(rand.NewPCG(5, 6)), inFlight: inFlight}
			l.run(2000, duration)
			tenfold := func(r *rand.Rand) float64 { return 10 * duration(r) }
			for _, load := range []func(*rand.Rand) float64{tenfold, duration} {
				change := l.run(1000+2*inFlight, load)
				rest := l.run(20_000, load)
				t.Logf("%s, %d in flight: %.1f %% while the durations change, then %.1f %%",
					name, inFlight, 100*change, 100*rest)
				most := 0.11 + float64(inFlight)/float64(1000+2*inFlight) // with old delays
				if change > most || rest < 0.04 || rest > 0.06 {
					t.Errorf("%s, %d in flight: %.1f %% while the durations change, then %.1f %%",
						name, inFlight, 100*change, 100*rest)
				}
			}
		}
	}
}

// Goroutines that add at the same time may lose durations, but not all durations of one kind.
func TestQuantileConcurrent(t *testing.T) {
	var e quantile
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 7))
			for range 5000 {
				e.add(time.Duration(distributions["uniform"](random)*1e6), false, 0.9)
			}
		})
	}
	all.Wait()
	if got := e.get(); got < 75*time.Millisecond || got > 110*time.Millisecond {
		t.Errorf("quantile 0.9 of 1ms to 100ms: %v", got)
	}
}
