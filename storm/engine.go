package storm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// answerTime is the time of an answer that needs no worker, which is a refusal.
const answerTime = int64(time.Millisecond)

// maxInProgress is the number of simultaneous calls and requests at which a run is stopped.
// They use about 2 GB of memory.
const maxInProgress = 10_000_000

// An engine executes one system once.
type engine struct {
	sys      *System
	heap     heap
	now      int64 // nanoseconds since the start
	base     time.Time
	calls    slab[call]
	requests slab[request]
	services []*service
	loads    []*load
	routes   []*route
	groups   []*group
	second   int // the current second

	seed    uint64
	jitters map[string]*rand.Rand // random sources of delays, by the names of caller and callee

	events int // number of executed entries
	limit  int // maximum number of events
	most   int // maximum number of simultaneous calls and requests

	made, ended int // numbers of requests, for a test that none is lost

	observe func(c *call, what string) // for tests: called at each attempt and end of a call; or nil
}

// newEngine prepares the simulation of a system, which must be valid, like those that [Default]
// and [Read] return.
func newEngine(sys *System, seed uint64) *engine {
	e := &engine{
		sys: sys, base: time.Unix(1_000_000_000, 0).UTC(), limit: math.MaxInt, most: maxInProgress,
		seed: seed, jitters: map[string]*rand.Rand{},
	}
	seconds := sys.seconds()
	stores := newGroup(e, nil, 1)
	byName := map[string]*service{}
	for i := range sys.Services {
		spec := &sys.Services[i]
		s := &service{
			engine: e, spec: spec, index: uint32(i), seconds: make([]ServiceSecond, seconds),
			limit: spec.Queue, times: stream(seed, "times "+spec.Name), group: newGroup(e, stores, spec.instances()),
		}
		if spec.Queue != Unlimited {
			s.limit *= spec.instances()
		}
		s.failure = failureOf(retry.ClassServerError)
		s.setConditions(conditions{capacity: 1, slowness: 1})
		e.services = append(e.services, s)
		byName[spec.Name] = s
	}
	for i, s := range e.services {
		for j := range s.spec.Calls {
			t := &s.spec.Calls[j]
			s.routes = append(s.routes, e.route(sys.Services[i].Name, t, byName[t.Service], s.group))
		}
	}
	for i := range sys.Loads {
		spec := &sys.Loads[i]
		l := &load{engine: e, spec: spec, index: uint32(i), factor: 1, random: stream(seed, "load "+spec.Name)}
		l.group = newGroup(e, stores, max(spec.Clients, 1))
		l.route = e.route(spec.Name, &spec.Target, byName[spec.Target.Service], l.group)
		e.loads = append(e.loads, l)
	}
	e.groups = append(e.groups, stores)
	for _, g := range e.groups {
		g.reset()
	}
	return e
}

// stream returns a random source that depends on the seed and a name. The random numbers of one
// part of the system therefore do not depend on other parts.
func stream(seed uint64, name string) *rand.Rand {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(name) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, hash))
}

// route returns the route from the load or service with the given name to a target.
func (e *engine) route(from string, t *Target, to *service, g *group) *route {
	r := &route{
		engine: e, from: from, to: to, client: &t.Client, group: g, seconds: make([]RouteSecond, e.sys.seconds()),
		jitter: e.jitter(from, t.Service), index: uint32(len(e.routes)), reasons: map[retry.Reason]int{},
	}
	g.join(r, &t.Client)
	e.routes = append(e.routes, r)
	return r
}

// jitter returns the random source for the delays between a caller and a callee. Several routes
// may share it, so that they draw different values.
func (e *engine) jitter(from, to string) *rand.Rand {
	name := from + " " + to
	if e.jitters[name] == nil {
		e.jitters[name] = stream(e.seed, "jitter "+name)
	}
	return e.jitters[name]
}

// seconds returns the length of the simulation.
func (s *System) seconds() int {
	return int((s.Length + time.Second - 1) / time.Second)
}

// time returns the time of the simulation.
func (e *engine) time() time.Time { return e.base.Add(time.Duration(e.now)) }

// after pushes an entry that is due in d nanoseconds. A time that overflows is after the end of
// every simulation.
func (e *engine) after(d int64, k kind, ref, gen uint32) {
	e.heap.push(e.now+min(max(d, 0), math.MaxInt64-e.now), k, ref, gen)
}

// nanoseconds converts seconds to nanoseconds. The result is limited to the maximum duration.
func nanoseconds(seconds float64) int64 {
	if ns := seconds * 1e9; ns < math.MaxInt64 {
		return int64(ns)
	}
	return math.MaxInt64
}

// run executes the system. If progress is not nil, run calls it after each simulated second. It
// returns an error if the number of events, or of simultaneous calls and requests, exceeds its
// limit.
func (e *engine) run(progress func(second int)) error {
	for i := range e.sys.Events {
		e.heap.push(int64(e.sys.Events[i].At), changes, 0, 0)
		e.heap.push(int64(e.sys.Events[i].end()), changes, 0, 0)
	}
	e.after(int64(time.Second), ticks, 0, 0)
	for _, l := range e.loads {
		l.begin()
	}
	for len(e.heap.entries) > 0 {
		next := e.heap.pop()
		e.now = next.at
		switch next.kind() {
		case ticks:
			e.tick()
			if progress != nil {
				progress(e.second)
			}
			if e.second == e.sys.seconds() {
				return nil
			}
			e.after(int64(time.Second), ticks, 0, 0)
		default:
			e.execute(next)
		}
		e.events++
		switch {
		case e.events > e.limit:
			return fmt.Errorf("more than %s events by second %d of %d: "+
				"simulate fewer calls or attempts, or a shorter time", Thousands(e.limit), e.second, e.sys.seconds())
		case e.calls.live()+e.requests.live() > e.most:
			return fmt.Errorf("more than %s calls and requests are in progress in second %d of %d: "+
				"give calls a timeout, or simulate fewer calls or attempts", Thousands(e.most), e.second, e.sys.seconds())
		}
	}
	return nil
}

// execute executes an entry of the heap.
func (e *engine) execute(next entry) {
	switch next.kind() {
	case arrives:
		e.loads[next.ref].arrive(next.gen)
	case returns:
		e.loads[next.ref].call()
	case worked:
		if r := e.requests.at(next.ref); r.gen == next.gen {
			r.service.worked(next.ref, r)
		}
	case changes:
		e.change()
	default:
		c := e.calls.at(next.ref)
		if c.gen != next.gen {
			return
		}
		switch next.kind() {
		case expires:
			c.expire(next.ref)
		case answers:
			c.attemptEnds(next.ref, c.answer)
		case retries:
			c.admit(next.ref)
		case turns:
			if c.waits == forTurn {
				c.rate.grant(e)
			}
		case turned:
			c.gen++
			c.takePermit(next.ref)
		case permits:
			c.gen++
			c.permitted(next.ref)
		case givesUp:
			c.giveUp(next.ref)
		}
	}
}

// conditions are the effects of the current events on a service.
type conditions struct {
	capacity, slowness float64
	errors             float64
	failure            error
	down               bool
}

// change applies the events that are in progress.
func (e *engine) change() {
	now := time.Duration(e.now)
	for _, s := range e.services {
		s.setConditions(e.conditions(s.spec.Name, now))
	}
	for _, l := range e.loads {
		factor := 1.0
		for i := range e.sys.Events {
			if v := &e.sys.Events[i]; v.Load == l.spec.Name && v.Effect == Surge && v.At <= now && now < v.end() {
				factor *= v.Factor
			}
		}
		l.setFactor(factor)
	}
	for i := range e.sys.Events {
		if v := &e.sys.Events[i]; v.Effect == Restart && v.At == now {
			e.restart(v)
		}
	}
}

// conditions returns the conditions of the service with the given name.
func (e *engine) conditions(name string, now time.Duration) conditions {
	c := conditions{capacity: 1, slowness: 1}
	for i := range e.sys.Events {
		v := &e.sys.Events[i]
		if v.Service != name || now < v.At || now >= v.end() {
			continue
		}
		switch v.Effect {
		case Capacity:
			c.capacity *= v.Factor
		case Slowness:
			c.slowness *= v.Factor
		case Errors:
			c.errors, c.failure = max(c.errors, v.Factor), failureOf(v.Class)
		case Down:
			c.down = true
		}
	}
	return c
}

// restart gives new breakers and budgets to the processes of a load or service.
func (e *engine) restart(v *Event) {
	for _, l := range e.loads {
		if l.spec.Name == v.Load {
			l.group.reset()
		}
	}
	for _, s := range e.services {
		if s.spec.Name == v.Service {
			s.group.reset()
		}
	}
}

// A failure is the error of an attempt that a service has answered.
type failure struct {
	class  retry.Class
	status int // HTTP status, or 0
}

// Error describes the failure as a client would.
func (f *failure) Error() string {
	if f.status != 0 {
		return fmt.Sprintf("the service answered with status %d", f.status)
	}
	return "the service failed" // these words match no class
}

// StatusCode returns the HTTP status, which package retry reads.
func (f *failure) StatusCode() int { return f.status }

// Is reports whether target is the error that package net would return for the failure's class.
func (f *failure) Is(target error) bool {
	return f.class == retry.ClassNetwork && target == syscall.ECONNREFUSED
}

// Unwrap returns the operating system's error for a network failure, which package retry
// recognizes.
func (f *failure) Unwrap() error {
	if f.class == retry.ClassNetwork {
		return syscall.ECONNREFUSED
	}
	return nil
}

// failureOf returns an error of a class.
func failureOf(class retry.Class) error {
	f := &failure{class: class}
	switch class {
	case retry.ClassServerError:
		f.status = 503
	case retry.ClassRateLimit:
		f.status = 429
	case retry.ClassTimeout:
		f.status = 504
		return &timeoutFailure{f}
	}
	return f
}

// A timeoutFailure is a failure that reports that it is a timeout.
type timeoutFailure struct{ *failure }

// Timeout reports true.
func (timeoutFailure) Timeout() bool { return true }

var (
	refused = failureOf(retry.ClassServerError)
	noHost  = failureOf(retry.ClassNetwork)
)
