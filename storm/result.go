package storm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options defines how a system is simulated.
type Options struct {
	Seeds    int // number of runs, with the seeds 1, 2, …; 0 means 5
	Parallel int // number of simultaneous runs; 0 means 1

	// Progress, if not nil, is called with the fraction of all seconds that has been
	// simulated. Multiple goroutines may call it.
	Progress func(done float64)
	// MaxEvents limits the number of events in a run. If a run has more events, Simulate
	// returns an error. 0 means no limit. Simulate also returns an error if a run has
	// more than ten million simultaneous calls and requests, for which few machines have
	// enough memory.
	MaxEvents int
}

func (o *Options) seeds() int { return cmp.Or(o.Seeds, 5) }

// A Result contains the runs of a system, one for each seed.
type Result struct {
	System   *System
	Runs     []*Run
	Verdicts []Verdict // verdicts on the loads, in the order of the system
}

// Simulate executes a system once for each seed. The system must be valid, like those
// that [Default] and [Read] return. The result does not depend on Parallel.
func Simulate(sys *System, o Options) (*Result, error) {
	seeds := o.seeds()
	result := &Result{System: sys, Runs: make([]*Run, seeds)}
	var done sync.Mutex
	seconds := 0
	tick := func(int) {
		done.Lock()
		seconds++
		share := float64(seconds) / float64(seeds*sys.seconds())
		done.Unlock()
		o.Progress(share)
	}
	if o.Progress == nil {
		tick = nil
	}
	failed := make([]error, seeds)
	var stopped atomic.Bool // a run has failed, so no further run begins
	var running sync.WaitGroup
	slots := make(chan struct{}, max(o.Parallel, 1))
	for i := range seeds {
		slots <- struct{}{}
		if stopped.Load() {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			begun := time.Now()
			e := newEngine(sys, uint64(i+1))
			e.limit = cmp.Or(o.MaxEvents, math.MaxInt)
			if failed[i] = e.run(tick); failed[i] != nil {
				stopped.Store(true)
			}
			result.Runs[i] = e.result(uint64(i + 1))
			result.Runs[i].Took = time.Since(begun)
		})
	}
	running.Wait()
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 {
		return nil, fmt.Errorf("the simulation was stopped: %w", failed[i])
	}
	for i := range sys.Loads {
		result.Verdicts = append(result.Verdicts, result.verdict(i))
	}
	return result, nil
}

// An Outcome describes what a run means for a load.
type Outcome struct {
	Harmed    bool          // calls were lost at any time
	Recovered bool          // as many calls succeed as before the event, until the end of the run
	After     time.Duration // time from the end of the last event to the recovery
	Calls     int
	Failed    int
	Lost      float64 // how many seconds of normal traffic the failed calls amount to
	// Amplification is the greatest number of requests per call that a service receives
	// in any window, divided by the same number before the first event. Only the calls of
	// the loads are counted.
	Amplification float64
	Amplified     string // the service that receives these requests
	Peak          int    // the second in which this window begins
	Multiplier    Multiplier
	P99           float64 // 99th percentile of the successful calls in the worst second, in seconds
}

// A Multiplier is the route that makes the most attempts for each of its calls.
type Multiplier struct {
	From, To string
	Attempts float64 // attempts per call
}

// A Verdict describes what the runs of a system mean for a load.
type Verdict struct {
	Load, Policy string
	Outcomes     []Outcome // the outcomes, one for each run
}

// window is the time, in seconds, over which successes are compared with those before the first
// event.
const window = 5

// recoveredShare is the share of the earlier successes that a load must reach to count as
// recovered.
const recoveredShare = 0.95

// Recovered returns the number of runs in which the load recovered.
func (v *Verdict) Recovered() (n int) {
	for _, o := range v.Outcomes {
		if o.Recovered {
			n++
		}
	}
	return n
}

// Harmed reports whether calls were lost in any run.
func (v *Verdict) Harmed() bool {
	return slices.ContainsFunc(v.Outcomes, func(o Outcome) bool { return o.Harmed })
}

// Worst returns the outcome of the worst run. If some runs do not recover, the worst run
// is the one of them that loses the most calls. Otherwise, it is the run that recovers
// last.
func (v *Verdict) Worst() Outcome { return v.Outcomes[v.worst()] }

// worst returns the index of the run of Worst.
func (v *Verdict) worst() int {
	list := v.Outcomes
	worst := 0
	for i := range list {
		o, w := &list[i], &list[worst]
		switch {
		case o.Recovered != w.Recovered:
			if !o.Recovered {
				worst = i
			}
		case o.After != w.After:
			if o.After > w.After {
				worst = i
			}
		case o.Failed > w.Failed:
			worst = i
		}
	}
	return worst
}

// Amplification returns the largest Amplification of any run.
func (v *Verdict) Amplification() (most float64) {
	for _, o := range v.Outcomes {
		most = max(most, o.Amplification)
	}
	return most
}

// FailedShare returns the share of failed calls in all runs together.
func (v *Verdict) FailedShare() float64 {
	var calls, failed int
	for _, o := range v.Outcomes {
		calls, failed = calls+o.Calls, failed+o.Failed
	}
	return float64(failed) / float64(max(calls, 1))
}

// verdict returns the verdict on the load with the given index.
func (r *Result) verdict(load int) Verdict {
	spec := &r.System.Loads[load]
	v := Verdict{Load: spec.Name, Policy: spec.Target.Client.Policy.Name}
	for _, run := range r.Runs {
		v.Outcomes = append(v.Outcomes, r.System.Judge(run, load))
	}
	return v
}

// before returns the seconds that show the system before the first event, without the first
// seconds, in which it fills.
func (s *System) before() (from, to int) {
	to = int(s.Begin() / time.Second)
	return to / 4, max(to, 1)
}

// loadRoute returns the route of the load with the given index.
func (s *System) loadRoute(run *Run, load int) *RouteRun {
	return &run.Routes[len(run.Routes)-len(s.Loads)+load]
}

// Judge returns the outcome of a run for the load with the given index.
func (s *System) Judge(run *Run, load int) (o Outcome) {
	seconds := s.loadRoute(run, load).Seconds
	from, to := s.before()
	var took float64
	for _, second := range seconds[from:to] {
		took += 2 * second.P50 / float64(to-from)
	}
	for _, second := range seconds {
		o.Calls += second.Calls
		o.Failed += second.Failed
		o.P99 = max(o.P99, second.P99)
	}
	calls := sumsOf(seconds, func(second *RouteSecond) int { return second.Calls })
	ok := sumsOf(seconds, func(second *RouteSecond) int { return second.OK })
	rate := calls.in(from, to) / float64(to-from)
	o.Lost = float64(o.Failed) / max(rate, 1e-9)
	share := ok.in(from, to) / max(calls.in(from, to), 1)
	width := windowOf(rate, took, float64(len(seconds)-to)/6)
	enough := func(begin int) bool {
		want := share * calls.in(begin, begin+width)
		if s.Loads[load].Users > 0 { // users who wait make no calls
			want = float64(width) * share * rate
		}
		return ok.in(begin, begin+width) >= recoveredShare*want
	}
	end := int(math.Ceil(s.End().Seconds()))
	last := len(seconds) - width
	recovered := end
	for begin := to; begin <= last; begin++ {
		if !enough(begin) {
			o.Harmed = true
			recovered = max(recovered, begin+1)
		}
	}
	o.Recovered = !o.Harmed || recovered <= last-width
	o.After = time.Duration(recovered-end) * time.Second
	s.amplification(run, width, &o)
	return o
}

// sums contains, for each second, the sum of a count over all preceding seconds. The sum over a
// window of any width is then computed in constant time.
type sums []int

func sumsOf[S any](seconds []S, count func(*S) int) sums {
	list := make(sums, len(seconds)+1)
	for i := range seconds {
		list[i+1] = list[i] + count(&seconds[i])
	}
	return list
}

// in returns the sum over the seconds from from up to, but not including, to.
func (s sums) in(from, to int) float64 { return float64(s[to] - s[from]) }

// windowOf returns the width of a window, in seconds, for a number of calls per second that
// usually take the given time each. The number of calls in progress at the beginning and at the
// end of a window varies. The window is wide enough that this does not matter, but not wider
// than wide.
func windowOf(rate, took, wide float64) int {
	deviation := math.Sqrt(2 * (1 + rate*took)) // standard deviation of the difference
	return int(max(window, min(math.Ceil(100*deviation/max(rate, 1e-9)), wide)))
}

// amplification sets the Amplification of o and the related fields.
func (s *System) amplification(run *Run, width int, o *Outcome) {
	from, to := s.before()
	var loads []sums
	for i := range s.Loads {
		loads = append(loads, sumsOf(s.loadRoute(run, i).Seconds, func(second *RouteSecond) int { return second.Calls }))
	}
	count := func(from, to int) (calls float64) {
		for _, load := range loads {
			calls += load.in(from, to)
		}
		return calls
	}
	normal := count(from, to) / float64(to-from)
	o.Amplification = 1
	for _, service := range run.Services {
		offered := sumsOf(service.Seconds, func(second *ServiceSecond) int { return second.Offered })
		usual := offered.in(from, to) / max(count(from, to), 1)
		for begin := to; begin+width <= len(service.Seconds) && usual > 0; begin++ {
			// Users who wait make few calls, so each call would have too much weight.
			calls := max(count(begin, begin+width), float64(width)*normal/2)
			if most := offered.in(begin, begin+width) / calls / usual; most > o.Amplification {
				o.Amplification, o.Amplified, o.Peak = most, service.Name, begin
			}
		}
	}
	for i := range run.Routes {
		var attempts, calls int
		route := &run.Routes[i]
		for _, second := range route.Seconds[o.Peak:min(o.Peak+width, len(route.Seconds))] {
			attempts, calls = attempts+second.Attempts, calls+second.Calls
		}
		if each := float64(attempts) / float64(max(calls, 1)); each > o.Multiplier.Attempts {
			o.Multiplier = Multiplier{route.From, route.To, each}
		}
	}
}

// Goodput returns, for each second, the number of a load's calls that succeed, divided by
// the number of calls that began per second before the first event. It is averaged over
// all runs.
func (r *Result) Goodput(load int) []float64 {
	from, to := r.System.before()
	var before float64
	sum := make([]float64, r.System.seconds())
	for _, run := range r.Runs {
		seconds := r.System.loadRoute(run, load).Seconds
		for i, second := range seconds {
			sum[i] += float64(second.OK)
		}
		for _, second := range seconds[from:to] {
			before += float64(second.Calls) / float64(to-from)
		}
	}
	for i := range sum {
		sum[i] /= max(before, 1e-9)
	}
	return sum
}
