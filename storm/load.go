package storm

import "math/rand/v2"

// A load makes calls.
type load struct {
	engine *engine
	spec   *Load
	index  uint32
	route  *route
	group  *group
	random *rand.Rand
	factor float64 // factor of the rate or of the number of users
	gen    uint32  // generation of the next arrival
	active int     // number of active users
}

// loadOf returns the index of the load whose route r is.
func (r *route) loadOf() int { return int(r.index) - (len(r.engine.routes) - len(r.engine.loads)) }

// begin begins the first calls. Users begin at random times within one pause.
func (l *load) begin() {
	if l.spec.Users == 0 {
		l.schedule()
		return
	}
	l.addUsers()
}

// users returns the number of users that should be active.
func (l *load) users() int { return int(float64(l.spec.Users)*l.factor + 0.5) }

// addUsers activates the missing users.
func (l *load) addUsers() {
	for ; l.active < l.users(); l.active++ {
		l.engine.after(nanoseconds(l.random.Float64()*l.spec.Think.Seconds()), returns, l.index, 0)
	}
}

// schedule draws the time of the next call of an open load. The distribution does not depend on
// the time since the last call, so it may be drawn again at any time.
func (l *load) schedule() {
	l.gen++
	if rate := l.spec.Rate * l.factor; rate > 0 {
		l.engine.after(nanoseconds(l.random.ExpFloat64()/rate), arrives, l.index, l.gen)
	}
}

// setFactor sets the factor of the rate or the users.
func (l *load) setFactor(factor float64) {
	if factor == l.factor {
		return
	}
	l.factor = factor
	if l.spec.Users == 0 {
		l.schedule()
		return
	}
	l.addUsers() // users in excess leave when their call ends
}

// arrive begins a call of an open load.
func (l *load) arrive(gen uint32) {
	if gen != l.gen {
		return
	}
	l.schedule()
	l.call()
}

// call begins a call in one of the processes.
func (l *load) call() {
	process := uint32(0)
	if l.group.processes > 1 {
		process = uint32(l.random.IntN(l.group.processes))
	}
	i := l.route.call(process, 0)
	l.engine.calls.at(i).admit(i)
}

// callEnds begins the pause of a user of a closed load.
func (l *load) callEnds() {
	if l.spec.Users == 0 {
		return
	}
	if l.active > l.users() {
		l.active--
		return
	}
	l.engine.after(nanoseconds(l.random.ExpFloat64()*l.spec.Think.Seconds()), returns, l.index, 0)
}
