package storm

import (
	"math"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// once is a client that does not retry and waits for ever.
var once = Client{Policy: retry.Policy{Name: "once", Schedule: retry.Schedule{MaxAttempts: 1}}}

// queueing runs a service alone, and returns its totals and the mean number of requests in
// it, without the first tenth of the time.
func queueing(t *testing.T, s Service, rate float64, length time.Duration) (sum ServiceSecond, inside float64) {
	t.Helper()
	s.Name = "service"
	sys := &System{
		Services: []Service{s}, Length: length,
		Loads: []Load{{Name: "load", Target: Target{s.Name, once}, Rate: rate}},
	}
	const seeds = 4
	r, err := Simulate(sys, Options{Seeds: seeds, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range r.Runs {
		seconds := run.Services[0].Seconds
		for _, second := range seconds[len(seconds)/10:] {
			sum.Offered += second.Offered
			sum.Refused += second.Refused
			sum.Started += second.Started
			sum.Waited += second.Waited
			sum.Ended += second.Ended
			sum.Stay += second.Stay
			inside += second.Inside / float64(seeds*len(seconds[len(seconds)/10:]))
		}
	}
	return sum, inside
}

// near reports a value that differs from the closed form by more than a share.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	t.Logf("%s: %.5g, and %.5g by the closed form: %+.2f %%", what, got, want, 100*(got/want-1))
	if math.Abs(got/want-1) > share {
		t.Errorf("%s: got %v, want %v within %v %%", what, got, want, 100*share)
	}
}

// erlangB returns the share of requests that c workers without a queue refuse, if they are
// offered the work of a workers (A. K. Erlang, 1917).
func erlangB(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// TestClosedForms compares the simulation with results of queueing theory. A rate of 1000
// per second gives many requests in few seconds.
func TestClosedForms(t *testing.T) {
	const rate = 1000.0
	length := 400 * time.Second
	t.Run("waits of M/M/c", func(t *testing.T) {
		for _, c := range []int{1, 4, 20} {
			const busy = 0.8
			mean := time.Duration(busy * float64(c) / rate * 1e9)
			sum, inside := queueing(t, Service{Workers: c, Time: ExponentialTime(mean), Queue: Unlimited}, rate, length)
			a := busy * float64(c)
			b := erlangB(c, a)
			waits := b / (1 - busy*(1-b)) // Erlang C: the share of requests that wait
			wait := waits * mean.Seconds() / (float64(c) * (1 - busy))
			near(t, "mean wait", sum.Waited/float64(sum.Started), wait, 0.02)
			near(t, "requests inside", inside, a+rate*wait, 0.02)
		}
	})
	t.Run("waits of M/D/1", func(t *testing.T) {
		const busy = 0.7
		mean := time.Duration(busy / rate * 1e9)
		sum, _ := queueing(t, Service{Workers: 1, Time: ConstantTime(mean), Queue: Unlimited}, rate, length)
		near(t, "mean wait", sum.Waited/float64(sum.Started), busy*mean.Seconds()/(2*(1-busy)), 0.02)
	})
	t.Run("waits of M/G/1", func(t *testing.T) { // Pollaczek and Khinchine
		times := LognormalTime(500*time.Microsecond, 2*time.Millisecond)
		busy := rate * times.mean
		sum, _ := queueing(t, Service{Workers: 1, Time: times, Queue: Unlimited}, rate, length)
		second := times.mean * times.mean * math.Exp(times.sigma*times.sigma) // moment
		near(t, "mean wait", sum.Waited/float64(sum.Started), rate*second/(2*(1-busy)), 0.03)
	})
	t.Run("losses of M/M/c/c", func(t *testing.T) {
		for _, c := range []int{2, 10, 50} {
			const busy = 0.9
			mean := time.Duration(busy * float64(c) / rate * 1e9)
			sum, _ := queueing(t, Service{Workers: c, Time: ExponentialTime(mean)}, rate, length)
			near(t, "refused share", float64(sum.Refused)/float64(sum.Offered), erlangB(c, busy*float64(c)), 0.02)
		}
	})
}

// TestLittle: in each second, the requests in a service are those that arrived before and
// have not ended, and their sum over time is the time that all of them were there.
func TestLittle(t *testing.T) {
	sys := chain()
	e := newEngine(sys, 1)
	inside := make([]int, len(e.services))
	var area, stay [3]float64
	err := e.run(func(second int) {
		for i, s := range e.services {
			v := s.seconds[second-1]
			inside[i] += v.Offered - v.Good - v.Wasted - v.Failed - v.Refused - v.Dropped
			if inside[i] != s.busy+s.queued {
				t.Errorf("%s in second %d: %d are inside, and %d by what came and went", s.spec.Name, second, s.busy+s.queued,
					inside[i])
			}
			area[i] += v.Inside
			stay[i] += v.Stay
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range e.services {
		if i == 1 { // the others drop requests, which are in the area alone
			near(t, s.spec.Name+": requests times seconds", area[i], stay[i], 0.001)
		}
	}
}

// benchStorm is a service under the default storm that never recovers.
func benchStorm() *System {
	c := Client{Policy: retry.Policy{
		Name:     "three",
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: 100 * time.Millisecond, Jitter: retry.JitterFull},

		AttemptTimeout: time.Second,
	}}
	return Default(c)[0]
}

// BenchmarkStorm measures the events per second of a storm, in which half of the attempts
// fail and most requests wait.
func BenchmarkStorm(b *testing.B) {
	sys := benchStorm()
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		e := newEngine(sys, 1)
		if err := e.run(nil); err != nil {
			b.Fatal(err)
		}
		events += e.events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkDefault measures what retrygen simulate does for a policy without a storm to
// recover from: two storms, five runs each.
func BenchmarkDefault(b *testing.B) {
	sys := benchStorm()
	for b.Loop() {
		for _, sys := range Default(sys.Loads[0].Target.Client) {
			if _, err := Simulate(sys, Options{Parallel: 2}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkInFlight measures the memory of a million calls that wait in a queue.
func BenchmarkInFlight(b *testing.B) {
	slow := Client{Policy: retry.Policy{Name: "slow", AttemptTimeout: time.Hour}}
	sys := &System{
		Services: []Service{{Name: "service", Workers: 1, Time: ConstantTime(time.Hour), Queue: Unlimited}},
		Loads:    []Load{{Name: "load", Target: Target{"service", slow}, Rate: 100_000}},
		Length:   10 * time.Second,
	}
	b.ReportAllocs()
	for b.Loop() {
		e := newEngine(sys, 1)
		if err := e.run(nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(e.calls.live()), "calls")
	}
}
