// Package overload simulates clients of a service that is disturbed, each with a concurrency
// limit of its own, to compare what limits make of it: how many requests succeed, and how
// long they take. It is a simulation of discrete events with fixed seeds.
package overload

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Limiter limits the requests of one client that are in progress. Times are since the
// begin of the simulation.
type Limiter interface {
	// Enter reports whether a request may start now.
	Enter(now time.Duration) bool
	// Leave reports that a request has ended now: with an answer, or without one because
	// the service has refused it or its timeout has passed.
	Leave(began, now time.Duration, answered bool)
}

// A Phase is a stretch of time in which load and service stay the same.
type Phase struct {
	For       time.Duration
	Load      float64       // requests per second of all clients
	Neighbour float64       // requests per second of a client without a limit
	Workers   int           // of the service
	Work      time.Duration // the mean time that a worker needs for a request
}

// capacity returns how many requests of the clients the service can answer.
func (p *Phase) capacity() float64 {
	return (float64(p.Workers)/p.Work.Seconds() - p.Neighbour) * p.For.Seconds()
}

// A Scenario is a disturbance: the second of three phases.
type Scenario struct {
	Name   string
	Phases [3]Phase
}

// Scenarios are what the limits are compared in. The service has a capacity of 1,000 requests
// per second, and clients offer 700, unless the scenario says otherwise.
var Scenarios = []Scenario{
	disturbance("capacity drop", Phase{For: 2 * time.Minute, Load: 700, Workers: 12, Work: work}),
	disturbance("capacity drop for 15min", Phase{For: 15 * time.Minute, Load: 700, Workers: 12, Work: work}),
	disturbance("workers 3× slower", Phase{For: 2 * time.Minute, Load: 700, Workers: 40, Work: 3 * work}),
	// The service waits for another one: it takes longer, but can do as much as before.
	{"latency step", [3]Phase{
		{For: time.Minute, Load: 700, Workers: 400, Work: work},
		{For: 2 * time.Minute, Load: 700, Workers: 400, Work: 3 * work},
		{For: time.Minute, Load: 700, Workers: 400, Work: work},
	}},
	{"load step", [3]Phase{
		{For: time.Minute, Load: 100, Workers: 40, Work: work},
		{For: 2 * time.Minute, Load: 2000, Workers: 40, Work: work},
		{For: time.Minute, Load: 100, Workers: 40, Work: work},
	}},
	disturbance("noisy neighbour", Phase{For: 2 * time.Minute, Load: 700, Neighbour: 500, Workers: 40, Work: work}),
}

// work is what a worker of the undisturbed service needs for a request.
const work = 40 * time.Millisecond

func disturbance(name string, p Phase) Scenario {
	well := Phase{For: time.Minute, Load: 700, Workers: 40, Work: work}
	return Scenario{name, [3]Phase{well, p, well}}
}

// Timeout is how long a client waits for an answer.
const Timeout = time.Second

// maxQueue is how many requests wait at the service. It refuses others.
const maxQueue = 2000

// spread is the standard deviation of the logarithm of the times that workers need.
const spread = 0.5

// A Result is what the clients got in one phase.
type Result struct {
	// Goodput is the number of requests that succeeded, as a share of those that were
	// possible. It may be a bit above 1 after a phase that leaves a queue.
	Goodput float64
	P99     time.Duration // 99 % of them took no longer
}

// Run simulates a scenario with a number of clients, which share the load. If advance
// is not nil, it is called before each event with the time since the previous one: with
// time.Sleep, limiters that read the clock work in a testing/synctest bubble.
func Run(s Scenario, clients int, seed uint64, limiter func() Limiter, advance func(time.Duration)) [3]Result {
	w := &world{random: rand.New(rand.NewPCG(seed, 7)), advance: advance}
	for range clients {
		w.limiters = append(w.limiters, limiter())
	}
	var results [3]Result
	for i := range s.Phases {
		p := &s.Phases[i]
		w.offered, w.succeeded = 0, w.succeeded[:0]
		w.run(p)
		results[i].Goodput = float64(len(w.succeeded)) / min(float64(w.offered), p.capacity())
		if n := len(w.succeeded); n > 0 {
			slices.Sort(w.succeeded)
			results[i].P99 = w.succeeded[n*99/100]
		}
	}
	return results
}

// A request is one that is at the service, or whose caller waits.
type request struct {
	client   int // -1: the neighbour
	began    time.Duration
	answered time.Duration // when the service answers; set when a worker begins
	ended    bool          // the caller has an answer or has stopped waiting
	refused  bool
}

// A world is the state of a simulation.
type world struct {
	now       time.Duration
	random    *rand.Rand
	advance   func(time.Duration)
	limiters  []Limiter
	timeouts  []*request // callers that wait, in the order of their timeouts
	queue     []*request // at the service
	answers   answers    // of requests that have a worker or are refused
	busy      int
	offered   int             // requests of the clients in this phase
	succeeded []time.Duration // what they took
}

// run simulates one phase.
func (w *world) run(p *Phase) {
	end := w.now + p.For
	arrival := w.now + w.after(p.Load+p.Neighbour)
	w.serve(p)
	for {
		next := min(arrival, end)
		if len(w.timeouts) > 0 {
			next = min(next, w.timeouts[0].began+Timeout)
		}
		if len(w.answers) > 0 {
			next = min(next, w.answers[0].answered)
		}
		if w.advance != nil && next > w.now {
			w.advance(next - w.now)
		}
		w.now = next
		switch {
		case len(w.answers) > 0 && w.answers[0].answered == next:
			r := heap.Pop(&w.answers).(*request)
			if !r.refused {
				w.busy--
			}
			w.end(r, !r.refused)
			w.serve(p)
		case len(w.timeouts) > 0 && w.timeouts[0].began+Timeout == next:
			w.end(w.timeouts[0], false)
			w.timeouts = w.timeouts[1:]
		case next == end:
			return
		default:
			w.arrive(p)
			arrival = w.now + w.after(p.Load+p.Neighbour)
		}
	}
}

// after returns the time to the next event of those that come at a rate per second.
func (w *world) after(rate float64) time.Duration {
	return time.Duration(w.random.ExpFloat64()/rate*1e9) + 1
}

// arrive lets a request start, if the limiter of its client admits it.
func (w *world) arrive(p *Phase) {
	r := &request{client: -1, began: w.now}
	if w.random.Float64()*(p.Load+p.Neighbour) < p.Load {
		w.offered++
		r.client = w.random.IntN(len(w.limiters))
		if !w.limiters[r.client].Enter(w.now) {
			return
		}
		w.timeouts = append(w.timeouts, r)
	}
	if len(w.queue) >= maxQueue {
		r.refused, r.answered = true, w.now+time.Millisecond
		heap.Push(&w.answers, r)
		return
	}
	w.queue = append(w.queue, r)
	w.serve(p)
}

// serve gives requests to workers that have none. They do not know whose caller is gone.
func (w *world) serve(p *Phase) {
	for ; w.busy < p.Workers && len(w.queue) > 0; w.busy++ {
		r := w.queue[0]
		w.queue = w.queue[1:]
		takes := float64(p.Work) * math.Exp(w.random.NormFloat64()*spread-spread*spread/2)
		r.answered = w.now + time.Duration(takes) + 1
		heap.Push(&w.answers, r)
	}
}

// end ends a request for its caller.
func (w *world) end(r *request, answered bool) {
	if r.ended || r.client < 0 {
		return
	}
	r.ended = true
	if answered {
		w.succeeded = append(w.succeeded, w.now-r.began)
	}
	w.limiters[r.client].Leave(r.began, w.now, answered)
}

// answers is a heap of requests, by the time of their answer.
type answers []*request

func (a answers) Len() int           { return len(a) }
func (a answers) Less(i, j int) bool { return a[i].answered < a[j].answered }
func (a answers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *answers) Push(r any) { *a = append(*a, r.(*request)) }

// Pop implements heap.Interface.
func (a *answers) Pop() any {
	last := len(*a) - 1
	r := (*a)[last]
	*a = (*a)[:last]
	return r
}
