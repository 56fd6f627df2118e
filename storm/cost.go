package storm

import (
	"math"
	"time"
	"unsafe"
)

// A Cost is an estimate of the worst-case cost of a simulation. In the worst case, every
// call makes all the attempts that its policy allows.
type Cost struct {
	Time  time.Duration // estimated time on the given number of processors
	Bytes int64
}

// The measurements of BenchmarkStorm from which costs are estimated.
const (
	eventTime       = 600 * time.Nanosecond
	eventsOfAttempt = 3
)

// Cost estimates the worst-case cost of [Simulate], without the effects of events.
func (s *System) Cost(o Options) Cost {
	seconds := float64(s.seconds())
	rates := s.offered()
	var attempts, waiting float64
	for i := range s.Loads {
		l := &s.Loads[i]
		if l.Users > 0 {
			rates[s.index(l.Target.Service)] += float64(l.Users) / max(l.Think.Seconds(), 1e-3)
			waiting += float64(l.Users)
		}
	}
	each := make([]float64, len(rates)) // attempts per call, in the worst case
	targets := s.targets()
	for _, t := range targets {
		i := s.index(t.Service)
		most := float64(min(t.Client.Policy.MaxAttempts, 100))
		if t.Client.Budget != nil {
			most = min(most, 1+t.Client.Budget.Ratio)
		}
		each[i] = max(each[i], most)
	}
	for i, rate := range rates {
		v := &s.Services[i]
		offered := rate * max(each[i], 1)
		attempts += offered * seconds
		queue := float64(v.Queue) * float64(v.instances())
		if v.Queue == Unlimited {
			queue = math.Inf(1)
		}
		waiting += min(queue, max(0, offered-v.Capacity())*seconds) + min(float64(v.workers()), offered*v.Time.mean)
	}
	parallel := max(min(o.Parallel, o.seeds()), 1)
	perSecond := int64(unsafe.Sizeof(ServiceSecond{}))*int64(len(s.Services)) +
		int64(unsafe.Sizeof(RouteSecond{}))*int64(len(targets))
	inFlight := int64(unsafe.Sizeof(call{}) + unsafe.Sizeof(request{}) + 2*unsafe.Sizeof(entry{}))
	rounds := math.Ceil(float64(o.seeds()) / float64(parallel))
	return Cost{
		Time:  time.Duration(min(attempts*eventsOfAttempt*rounds*float64(eventTime), math.MaxInt64/2)),
		Bytes: int64(min(waiting, 1e12))*inFlight*int64(parallel) + perSecond*int64(seconds)*int64(o.seeds()),
	}
}
