package storm

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
)

// Text describes the recovery, as in "recovers after 25s".
func (v *Verdict) Text() string {
	n, worst := v.Recovered(), v.Worst()
	switch {
	case !v.Harmed():
		return "is not harmed"
	case n == 0:
		return "never recovers"
	case n < len(v.Outcomes):
		return fmt.Sprintf("recovers in %d of %d runs", n, len(v.Outcomes))
	case worst.After == 0:
		return "recovers at once"
	}
	return "recovers after " + duration.Format(worst.After)
}

// Reason returns a sentence that explains why the load with the given index does or does
// not recover. It describes the worst run.
func (r *Result) Reason(load int) string {
	v := &r.Verdicts[load]
	run := r.Runs[v.worst()]
	o := v.Worst()
	if !o.Harmed {
		if share := float64(o.Failed) / float64(max(o.Calls, 1)); share >= 0.01 {
			return Percent(share) + " of the calls fail, but hardly more than before any event"
		}
		return "no call is lost"
	}
	end := int(math.Ceil(r.System.End().Seconds()))
	seconds := len(r.System.loadRoute(run, load).Seconds)
	from, to := end, min(end+max(int(o.After.Seconds()), 1), seconds)
	if !o.Recovered { // describe the last seconds
		from, to = max(end, seconds-2*window), seconds
	}
	f := r.System.facts(run, load, from, to)
	if o.Recovered {
		return f.recovery(o)
	}
	return f.failure()
}

// facts contains means over some seconds of a run.
type facts struct {
	service          *Service
	capacity         float64       // capacity of the service, in requests per second
	limit            time.Duration // time limit of an attempt
	wait             float64       // seconds in the queue
	wasted, refused  float64       // shares of the served requests, and of the arriving requests
	failed           float64       // share of the load's calls that fail
	offered, each    float64       // requests per second, and requests per call
	open             float64       // maximum share of open breakers
	goodput, clients float64       // calls per second that succeed, and that begin
}

// facts returns the facts about the service with the highest share of wasted requests in a run.
func (s *System) facts(run *Run, load, from, to int) (f facts) {
	width := float64(max(to-from, 1))
	worst := -1.0
	capacities := s.capacities()
	for i := range run.Services {
		var sum ServiceSecond
		for _, second := range run.Services[i].Seconds[from:to] {
			sum.Offered += second.Offered
			sum.Started += second.Started
			sum.Waited += second.Waited
			sum.Ended += second.Ended
			sum.Wasted += second.Wasted
			sum.Refused += second.Refused
		}
		offered := float64(sum.Offered) / width
		wasted := float64(sum.Wasted) / float64(max(sum.Ended, 1))
		refused := float64(sum.Refused) / float64(max(sum.Offered, 1))
		if weight := wasted + refused + offered/capacities[i]/1e3; weight > worst {
			worst = weight
			f = facts{
				service: &s.Services[i], capacity: capacities[i], wait: sum.Waited / float64(max(sum.Started, 1)),
				wasted: wasted, refused: refused, offered: offered,
			}
		}
	}
	var calls, attempts int
	for i := range run.Routes {
		route := &run.Routes[i]
		if route.To != f.service.Name {
			continue
		}
		for _, second := range route.Seconds[from:to] {
			calls, attempts = calls+second.Calls, attempts+second.Attempts
			f.open = max(f.open, second.Open)
		}
		f.limit = max(f.limit, s.targets()[i].limit())
	}
	f.each = float64(attempts) / float64(max(calls, 1))
	var ended, failed int
	for _, second := range s.loadRoute(run, load).Seconds[from:to] {
		ended, failed = ended+second.OK+second.Failed, failed+second.Failed
		f.goodput += float64(second.OK) / width
		f.clients += float64(second.Calls) / width
		f.open = max(f.open, second.Open)
	}
	f.failed = float64(failed) / float64(max(ended, 1))
	return f
}

// limit returns the time limit of an attempt.
func (t *Target) limit() time.Duration {
	p := &t.Client.Policy
	return cmp.Or(max(p.AttemptTimeout, 0), max(p.Timeout, 0), t.Client.Patience)
}

// targets returns all targets, in the order of the routes of a [Run].
func (s *System) targets() (list []*Target) {
	for i := range s.Services {
		for j := range s.Services[i].Calls {
			list = append(list, &s.Services[i].Calls[j])
		}
	}
	for i := range s.Loads {
		list = append(list, &s.Loads[i].Target)
	}
	return list
}

// failure explains why calls continue to fail.
func (f *facts) failure() string {
	load := fmt.Sprintf("at %.1f attempts for each call, the offered load stays at %s, above the capacity of %s",
		f.each, PerSecond(f.offered), PerSecond(f.capacity))
	if f.offered <= f.capacity {
		load = fmt.Sprintf("the offered load of %s is within the capacity of %s, but the queue does not become shorter",
			PerSecond(f.offered), PerSecond(f.capacity))
	}
	switch {
	case f.wasted > 0.3:
		return fmt.Sprintf("after the event each request waits %s in the queue of %s, and its caller leaves after %s: %s of "+
			"the work is wasted; %s", seconds(f.wait), f.service.Name, duration.Format(f.limit), Percent(f.wasted), load)
	case f.open > 0.3:
		return fmt.Sprintf("the breakers of %s of the processes stay open: %s of the calls fail although %s could serve %s",
			Percent(f.open), Percent(f.failed), f.service.Name, PerSecond(f.capacity))
	case f.refused > 0.05:
		return fmt.Sprintf("%s refuses %s of the requests; %s", f.service.Name, Percent(f.refused), load)
	}
	return fmt.Sprintf("%s of the calls fail or wait: %s of %s succeed", Percent(1-f.goodput/max(f.clients, 1)),
		PerSecond(f.goodput), PerSecond(f.clients))
}

// recovery explains what the load waits for until it recovers, and what limits the retries.
func (f *facts) recovery(o Outcome) string {
	var parts []string
	if o.Amplification >= 1.02 {
		parts = append(parts, fmt.Sprintf("retries make the load %s", times(o.Amplification)))
	} else {
		parts = append(parts, "retries add no load")
	}
	switch {
	case o.After == 0:
		parts = append(parts, "calls succeed as before once the event has passed")
	case f.open > 0.3:
		parts = append(parts, fmt.Sprintf("the breakers of %s of the processes are open until the queue is empty",
			Percent(f.open)))
	case f.wasted > 0.05:
		parts = append(parts, fmt.Sprintf("the queue has requests whose callers have gone, which takes %s to work off",
			duration.Format(o.After)))
	default:
		parts = append(parts, fmt.Sprintf("the queue is worked off in %s", duration.Format(o.After)))
	}
	return strings.Join(parts, "; ")
}
