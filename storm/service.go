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
	group  *group   // its instances, as processes that call others
	routes []*route // of spec.Calls
	times  *rand.Rand

	conditions
	usable int     // workers that work
	factor float64 // of the time of a request

	busy       int    // workers
	head, tail uint32 // of the queue, or 0
	queued     int
	limit      int // of the queue
	next       int // the instance that serves the next request

	seconds []ServiceSecond
	stays   histogram // of the requests that ended in this second
	area    float64   // requests in the service, times nanoseconds, in this second
	since   int64     // until when area is counted
}

// A request is an attempt, as the service sees it.
type request struct {
	service  *service
	gen      uint32
	caller   uint32 // the call whose attempt it is, or 0: the caller has gone
	attempt  uint32 // the generation of the attempt
	next     uint32 // in the queue, or 0
	children uint32 // the first of the calls that are in progress, or 0
	instance uint32
	step     int32 // the number of calls that have begun
	waiting  bool  // in the queue
	failed   bool  // one of the calls has failed
	arrived  int64
}

// setConditions sets what the events do to the service.
func (s *service) setConditions(c conditions) {
	s.conditions = c
	if c.failure == nil {
		s.failure = refused
	}
	// A share of the workers that is no whole number: one of them is slower.
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

// submit takes the request of an attempt, and returns its place. If it refuses the
// request, it returns the answer.
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

// start lets a worker serve a request.
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

// dispatch lets idle workers serve the requests that wait.
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

// worked continues a request whose time of a worker has passed.
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

// callNext makes the next call of a request, or all if they are parallel.
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
	// A call may end at once, and the request with the last of them.
	gen := r.gen
	for _, child := range begun {
		if r.gen != gen {
			return
		}
		s.engine.calls.at(child).admit(child)
	}
}

// childEnds continues a request when a call that it made has ended.
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

// finish ends a request, answers its caller, and lets the worker serve another one.
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

// abandon records that the caller of a request has gone. If the service notices that, it
// ends the calls that it makes for the request.
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
