package storm

import (
	"math/bits"
	"time"
)

// A ServiceSecond contains the measurements of a service in one second.
type ServiceSecond struct {
	Offered int // requests that arrived, including refused ones
	First   int // how many of these were first attempts; the others are retries
	Good    int // requests that succeeded
	Wasted  int // requests that were served although their callers were gone
	Failed  int // requests that failed after being served
	Refused int // requests that were not served
	Dropped int // requests that were not served because their callers were gone

	Started int     // requests that a worker began to serve
	Waited  float64 // total seconds that these requests had waited
	Ended   int     // requests that had been served
	Stay    float64 // total seconds that these requests had spent in the service
	Inside  float64 // mean number of requests in the service
	Queue   int     // requests waiting at the end of the second
	Busy    int     // busy workers at the end of the second

	P50, P99 float64 // seconds that served requests had spent in the service
}

// A RouteSecond contains the measurements of a route in one second.
type RouteSecond struct {
	Calls    int // calls that began
	Attempts int // attempts that were sent to the service
	OK       int // calls that succeeded
	Failed   int // calls that failed

	P50, P99 float64 // durations of the successful calls, in seconds
	Open     float64 // share of the processes whose breaker is not closed
	Tokens   float64 // share of the budgets that is left
}

// tick ends a second.
func (e *engine) tick() {
	for _, s := range e.services {
		s.inside()
		second := s.now()
		second.Inside, s.area = s.area/1e9, 0
		second.Queue, second.Busy = s.queued, s.busy
		second.P50, second.P99 = s.stays.percentile(0.5), s.stays.percentile(0.99)
		s.stays.reset()
	}
	now := e.time()
	for _, r := range e.routes {
		second := r.now()
		second.P50, second.P99 = r.durations.percentile(0.5), r.durations.percentile(0.99)
		r.durations.reset()
		second.Open, second.Tokens = r.shares(now)
	}
	e.second++
}

// A histogram counts durations in buckets. The width of a bucket is 1/32 of its power of two,
// so that percentiles are accurate within 3 %.
type histogram struct {
	counts []uint32
	n      uint64
}

const subBuckets = 32

// add counts a duration in nanoseconds.
func (h *histogram) add(ns int64) {
	i := bucketOf(uint64(max(ns, 0)))
	if i >= len(h.counts) {
		h.counts = append(h.counts, make([]uint32, i+1-len(h.counts))...)
	}
	h.counts[i]++
	h.n++
}

// bucketOf returns the bucket of a duration in nanoseconds. All durations below a microsecond
// are in one bucket.
func bucketOf(ns uint64) int {
	v := ns >> 10
	if v < subBuckets {
		return int(v)
	}
	power := bits.Len64(v) - 6 // of the lower end of the bucket: v>>power is in [32, 64)
	return power*subBuckets + int(v>>power)
}

// lower returns the minimum duration of a bucket, in seconds.
func lower(bucket int) float64 {
	if bucket < 2*subBuckets {
		return float64(uint64(bucket)<<10) / 1e9
	}
	power := bucket/subBuckets - 1
	return float64(uint64(bucket-power*subBuckets)<<power<<10) / 1e9
}

// percentile returns the duration, in seconds, below which the share p of all durations is. It
// returns 0 if there are none.
func (h *histogram) percentile(p float64) float64 {
	if h.n == 0 {
		return 0
	}
	rank := uint64(p * float64(h.n))
	var seen uint64
	for i, n := range h.counts {
		if seen += uint64(n); seen > rank {
			return (lower(i) + lower(i+1)) / 2
		}
	}
	return 0
}

func (h *histogram) reset() {
	clear(h.counts)
	h.n = 0
}

// A Run contains the measurements of one execution of a system.
type Run struct {
	Seed     uint64
	Services []ServiceRun // services in the order of the system
	Routes   []RouteRun   // routes of services, in the order of the system, followed by routes of loads
	Events   int          // number of events that the engine processed
	Took     time.Duration
}

// A ServiceRun contains the measurements of one service.
type ServiceRun struct {
	Name    string
	Seconds []ServiceSecond
}

// A RouteRun contains the measurements of a load's calls, or of the calls from one
// service to another.
type RouteRun struct {
	From, To string
	Policy   string
	Seconds  []RouteSecond
	Reasons  map[string]int // why calls failed
}

// result returns the measurements of the run.
func (e *engine) result(seed uint64) *Run {
	run := &Run{Seed: seed, Events: e.events}
	for _, s := range e.services {
		run.Services = append(run.Services, ServiceRun{s.spec.Name, s.seconds})
	}
	for _, r := range e.routes {
		reasons := map[string]int{}
		for reason, n := range r.reasons {
			reasons[string(reason)] = n
		}
		run.Routes = append(run.Routes, RouteRun{r.from, r.to.spec.Name, r.client.Policy.Name, r.seconds, reasons})
	}
	return run
}
