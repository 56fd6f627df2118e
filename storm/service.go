package storm

import (
	"math"
	"math/rand/v2"
)

// A service executes requests with its workers.
type service struct {
	engine *engine
	index  uint32
	spec   *Service
	group  *group   // its instances, as processes that call other services
	routes []*route // the routes of spec.Calls
	times  *rand.Rand

	conditions
	usable int     // number of workers that can work
	factor float64 // factor of the time of a request

	busy       int    // number of busy workers
	head, tail uint32 // first and last request in the queue, or 0
	queued     int
	limit      int // maximum length of the queue
	next       int // the instance that serves the next request

	seconds []ServiceSecond
	stays   histogram // times of the requests that ended in the current second
	area    float64   // requests in the service times nanoseconds, in the current second
	since   int64     // time up to which area is counted
}

// A request is an attempt from the perspective of the service.
type request struct {
	service  *service
	gen      uint32
	caller   uint32 // the call to which the attempt belongs, or 0 if the caller is gone
	attempt  uint32 // the generation of the attempt
	next     uint32 // the next request in the queue, or 0
	children uint32 // the first of the calls in progress, or 0
	instance uint32
	step     int32 // the number of calls that have begun
	waiting  bool  // the request is in the queue
	failed   bool  // one of the calls has failed
	arrived  int64
}

// setConditions applies the effects of the events to the service.
func (s *service) setConditions(c conditions) {
	s.conditions = c
	if c.failure == nil {
		s.failure = refused
	}
	// If the share of the workers is not a whole number, the number is rounded up, and all
	// requests take longer accordingly.
	share := float64(s.spec.workers()) * c.capacity
	s.usable = int(math.Ceil(share - 1e-9))
	s.factor = c.slowness
	if s.usable > 0 {
		s.factor *= float64(s.usable) / share
	}
	s.dispatch()
}

func (s *service) now() *ServiceSecond { return &s.seconds[s.engine.second] }

// inside counts the time that requests have spent in the service since the last change
// of their number.
func (s *service) inside() {
	s.area += float64(s.busy+s.queued) * float64(s.engine.now-s.since)
	s.since = s.engine.now
}

// submit accepts the request of an attempt, and returns its place. If the service refuses the
// request, submit returns the answer.
func (s *service) submit(caller, attempt uint32, first bool) (uint32, error) {
	second := s.now()
	second.Offered++
	if first {
		second.First++
	}
	s.engine.made++
	switch {
	case s.down:
		second.Refused++
		s.engine.ended++
		return 0, noHost
	case s.busy >= s.usable && s.queued >= s.limit:
		second.Refused++
		s.engine.ended++
		return 0, refused
	}
	i, r := s.engine.requests.new()
	*r = request{service: s, gen: r.gen + 1, caller: caller, attempt: attempt, arrived: s.engine.now}
	s.inside()
	if s.busy < s.usable {
		s.start(i, r)
		return i, nil
	}
	r.waiting = true
	if s.tail == 0 {
		s.head = i
	} else {
		s.engine.requests.at(s.tail).next = i
	}
	s.tail = i
	s.queued++
	return i, nil
}

// start assigns a request to a worker.
func (s *service) start(i uint32, r *request) {
	s.busy++
	r.waiting = false
	r.instance = uint32(s.next)
	if s.next++; s.next == s.group.processes {
		s.next = 0
	}
	second := s.now()
	second.Started++
	second.Waited += float64(s.engine.now-r.arrived) / 1e9
	s.engine.after(s.spec.Time.draw(s.times, s.factor), worked, i, r.gen)
}

// dispatch assigns waiting requests to idle workers.
func (s *service) dispatch() {
	for s.busy < s.usable && s.head != 0 {
		i := s.head
		r := s.engine.requests.at(i)
		s.inside()
		s.queued--
		if s.head = r.next; s.head == 0 {
			s.tail = 0
		}
		if r.caller == 0 && s.spec.Notices {
			s.now().Dropped++
			s.free(i, r)
			continue
		}
		s.start(i, r)
	}
}

// worked continues a request after a worker has spent its time on it.
func (s *service) worked(i uint32, r *request) {
	switch {
	case s.errors > 0 && s.times.Float64() < s.errors:
		s.finish(i, r, s.failure)
	case len(s.routes) == 0 || r.caller == 0 && s.spec.Notices:
		s.finish(i, r, nil)
	default:
		s.callNext(i, r)
	}
}

// callNext makes the next call of a request, or all calls if they are parallel.
func (s *service) callNext(i uint32, r *request) {
	var begun []uint32
	for int(r.step) < len(s.routes) {
		route := s.routes[r.step]
		r.step++
		child := route.call(r.instance, i)
		s.engine.calls.at(child).sibling = r.children
		r.children = child
		if !s.spec.Parallel {
			s.engine.calls.at(child).admit(child)
			return
		}
		begun = append(begun, child)
	}
	// A call may end immediately, and the last one may end the request.
	gen := r.gen
	for _, child := range begun {
		if r.gen != gen {
			return
		}
		s.engine.calls.at(child).admit(child)
	}
}

// childEnds continues a request after one of its calls has ended.
func (r *request) childEnds(i, child uint32, ok bool) {
	s := r.service
	if r.children == child {
		r.children = s.engine.calls.at(child).sibling
	} else {
		for at := r.children; at != 0; {
			c := s.engine.calls.at(at)
			if c.sibling == child {
				c.sibling = s.engine.calls.at(child).sibling
				break
			}
			at = c.sibling
		}
	}
	r.failed = r.failed || !ok
	switch {
	case r.failed && !s.spec.Parallel:
		s.finish(i, r, refused)
	case int(r.step) < len(s.routes):
		if !s.spec.Parallel {
			s.callNext(i, r)
		}
	case r.children != 0:
	case r.failed:
		s.finish(i, r, refused)
	default:
		s.finish(i, r, nil)
	}
}

// finish ends a request, answers its caller, and frees the worker for another request.
func (s *service) finish(i uint32, r *request, err error) {
	second := s.now()
	s.inside()
	s.busy--
	switch {
	case r.caller == 0:
		second.Wasted++
	case err != nil:
		second.Failed++
	default:
		second.Good++
	}
	stay := s.engine.now - r.arrived
	s.stays.add(stay)
	second.Stay += float64(stay) / 1e9
	second.Ended++
	caller, attempt := r.caller, r.attempt
	s.free(i, r)
	s.dispatch()
	if caller != 0 {
		if c := s.engine.calls.at(caller); c.gen == attempt {
			c.attemptEnds(caller, err)
		}
	}
}

// free releases the place of a request.
func (s *service) free(i uint32, r *request) {
	r.gen++
	s.engine.ended++
	s.engine.requests.release(i)
}

// abandon records that the caller of a request is gone. If the service notices this, it ends
// the calls that it is making for the request.
func (e *engine) abandon(i uint32) {
	r := e.requests.at(i)
	r.caller = 0
	s := r.service
	if !s.spec.Notices || r.children == 0 {
		return
	}
	for child := r.children; child != 0; {
		c := e.calls.at(child)
		next := c.sibling
		c.cancel(child)
		child = next
	}
	r.children = 0
	s.finish(i, r, nil)
}
