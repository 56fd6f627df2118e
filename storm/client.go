package storm

import (
	"context"
	"math/rand/v2"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// A group is a set of processes that call services: the processes of a load, or the instances
// of a service. Each process has one breaker, one budget and so on for each name.
type group struct {
	engine    *engine
	stores    *group // the models that all processes share
	processes int

	breakers  shelf[breaker.Policy, *breaker.Model]
	budgets   shelf[budget.Policy, *budget.Budget]
	limiters  shelf[capacity.LimiterPolicy, *limiter]
	rates     shelf[capacity.RatePolicy, *rate]
	throttles shelf[capacity.ThrottlePolicy, *throttle]
}

// newGroup returns an empty group. The group with the models that all processes share has no
// stores itself, and is not one of the engine's groups.
func newGroup(e *engine, stores *group, processes int) *group {
	g := &group{engine: e, stores: stores, processes: processes}
	g.breakers.make, g.budgets.make = breaker.NewModel, budget.NewAt
	g.limiters.make, g.rates.make, g.throttles.make = newLimiter, newRate, newThrottle
	if stores != nil {
		e.groups = append(e.groups, g)
	}
	return g
}

// reset gives each process closed breakers, full budgets, and limits without any attempt in
// progress.
func (g *group) reset() {
	now := g.engine.time()
	g.breakers.reset(g.processes, now)
	g.budgets.reset(g.processes, now)
	g.limiters.reset(g.processes, now)
	g.rates.reset(g.processes, now)
	g.throttles.reset(g.processes, now)
}

// A part refers to a model of a process, such as a breaker.
type part struct {
	group *group // nil: there is no such part
	place int    // index in the models of a process
}

// process returns the number of the process whose model is used. It is 0 if all processes share
// the model.
func (p part) process(process uint32) uint32 {
	if p.group.processes == 1 {
		return 0
	}
	return process
}

// join adds the models that a client needs to the processes of the group, or to the store that
// all processes share, unless they already exist. It sets the parts of the route.
func (g *group) join(r *route, c *Client) {
	at := func(store bool) *group {
		if store {
			return g.stores
		}
		return g
	}
	if c.Breaker != nil {
		at := at(c.BreakerStore)
		r.breaker = part{at, at.breakers.join(c.Breaker.Name, *c.Breaker)}
	}
	if c.Budget != nil {
		at := at(c.BudgetStore)
		r.budget = part{at, at.budgets.join(c.Budget.Name, *c.Budget)}
	}
	if c.Limiter != nil {
		r.limiter = part{g, g.limiters.join(c.Limiter.Name, *c.Limiter)}
	}
	if c.Rate != nil {
		at := at(c.RateStore)
		r.rate = part{at, at.rates.join(c.Rate.Name, *c.Rate)}
	}
	if c.Throttle != nil {
		r.throttle = part{g, g.throttles.join(c.Throttle.Name, *c.Throttle)}
	}
}

// A route is a target of a load or service. All of its calls are made under the same policy.
type route struct {
	engine *engine
	index  uint32
	from   string
	to     *service
	client *Client
	group  *group
	jitter *rand.Rand

	breaker, budget, limiter, rate, throttle part

	seconds   []RouteSecond
	durations histogram // durations of the calls that succeeded in the current second
	reasons   map[retry.Reason]int
}

// breakerOf returns the breaker of a process, or nil.
func (r *route) breakerOf(process uint32) *breaker.Model {
	if g := r.breaker.group; g != nil {
		return g.breakers.of(r.breaker.process(process), r.breaker.place)
	}
	return nil
}

// budgetOf returns the budget of a process, or nil.
func (r *route) budgetOf(process uint32) *budget.Budget {
	if g := r.budget.group; g != nil {
		return g.budgets.of(r.budget.process(process), r.budget.place)
	}
	return nil
}

// A call is one call under a policy, like the loop of a generated wrapper. Its methods take its
// place in the slab as an argument.
type call struct {
	state   retry.CallState
	permit  breaker.Permit
	route   *route
	answer  error // the answer that the attempt will get
	begun   int64
	entered int64 // when the attempt that is running was admitted
	waits   place
	rate    *rate // the rate for whose turn the call waits, or whose slot it has; or nil
	slot    time.Time
	limiter *limiter // the limiter whose permit the call waits for or has; or nil
	process uint32
	gen     uint32 // generation of the attempt or wait in progress
	request uint32 // the request of the running attempt, or 0
	parent  uint32 // the request that makes the call, or 0 if a load makes it
	sibling uint32 // the next call in progress of the same parent, or 0
}

// call begins a call, and returns its place. parent is the request that makes it, or 0.
func (r *route) call(process, parent uint32) uint32 {
	i, c := r.engine.calls.new()
	*c = call{route: r, begun: r.engine.now, process: process, parent: parent, gen: c.gen + 1}
	r.now().Calls++
	return i
}

// now returns the counts of the current second.
func (r *route) now() *RouteSecond { return &r.seconds[r.engine.second] }

// admit makes the next attempt if everything that protects the service admits it. The steps and
// their order are the same as in a wrapper: see retry.Call.
func (c *call) admit(i uint32) {
	r := c.route
	if !r.gated() {
		c.permitted(i)
		return
	}
	now := r.engine.time()
	if b := r.breakerOf(c.process); b != nil {
		if state, until := b.State(); state.NeedsReset() || state == breaker.Open && !now.After(until) {
			c.fails(i, &retry.Failure{Err: retry.ErrBreakerOpen, Refused: true})
			return
		}
	}
	c.start(now)
	c.enter(i)
}

// start sets the deadline of the call, unless it is already set.
func (c *call) start(now time.Time) {
	if p := &c.route.client.Policy; c.state.Deadline.IsZero() && p.Timeout > 0 {
		c.state.Deadline = now.Add(p.Timeout)
	}
}

// attempt sends a request, and sets the time limit of the attempt.
func (c *call) attempt(i uint32) {
	r, e := c.route, c.route.engine
	now, p := e.time(), &r.client.Policy
	c.start(now)
	limit := p.AttemptTimeout
	if limit <= 0 && p.Timeout <= 0 {
		limit = r.client.Patience
	}
	if !c.state.Deadline.IsZero() {
		if left := c.state.Deadline.Sub(now); limit <= 0 || left < limit {
			limit = max(left, 1)
		}
	}
	if e.observe != nil {
		e.observe(c, "attempt")
	}
	c.gen++
	first := c.state.Attempts+c.state.Lost == 0
	r.now().Attempts++
	if limit > 0 {
		e.after(int64(limit), expires, i, c.gen)
	}
	c.request, c.answer = r.to.submit(i, c.gen, first)
	if c.answer != nil {
		e.after(answerTime, answers, i, c.gen)
	}
}

// expire ends the attempt when its time limit has passed. The service may continue to serve the
// request.
func (c *call) expire(i uint32) {
	c.hangUp()
	c.attemptEnds(i, context.DeadlineExceeded)
}

// hangUp stops waiting for the request. The service may notice this.
func (c *call) hangUp() {
	if c.request != 0 {
		request := c.request
		c.request = 0
		c.route.engine.abandon(request)
	}
}

// attemptEnds decides what follows an attempt that ended with err.
func (c *call) attemptEnds(i uint32, err error) {
	r, e := c.route, c.route.engine
	c.request, c.answer = 0, nil
	c.gen++
	if err == nil {
		c.leave(capacity.Success, capacity.Success)
		if b := r.breakerOf(c.process); b != nil {
			b.Record(c.permit, breaker.Success, e.time())
			c.permit = breaker.Permit{}
		}
		if b := r.budgetOf(c.process); b != nil {
			b.Deposit()
		}
		c.end(i, "")
		return
	}
	c.fails(i, &retry.Failure{Err: err})
}

// fails asks the policy, and then the budget, what follows a failure.
func (c *call) fails(i uint32, f *retry.Failure) {
	r, e := c.route, c.route.engine
	p, now := &r.client.Policy, e.time()
	in := retry.Inputs{Now: now}
	if !f.Refused && r.gated() {
		c.leave(p.Samples(r.client.throttlePolicy(), *f))
	}
	if b := r.breakerOf(c.process); b != nil {
		if !f.Refused {
			b.Record(c.permit, p.Sample(r.client.Breaker, *f), now)
			c.permit = breaker.Permit{}
		}
		in.Refusal.Breaker = r.client.Breaker.Name
		in.Refusal.State, in.Refusal.AdmitsAt = b.State()
	}
	if p.Jitter != retry.JitterNone || len(p.PerError) > 0 {
		in.Sample = r.jitter.Float64()
	}
	state, verdict := p.Decide(c.state, *f, in)
	c.state = state
	if verdict.Reason == "" && !f.Refused {
		if b := r.budgetOf(c.process); b != nil && b.WithdrawAt(now) != nil {
			verdict.Reason = retry.ErrBudget
		}
	}
	if verdict.Reason != "" {
		c.end(i, verdict.Reason)
		return
	}
	c.gen++
	e.after(int64(verdict.Wait), retries, i, c.gen)
}

// end ends the call. reason is why the call failed, or "".
func (c *call) end(i uint32, reason retry.Reason) {
	r, e := c.route, c.route.engine
	if e.observe != nil {
		e.observe(c, "end "+string(reason))
	}
	parent := c.parent
	second := r.now()
	if reason == "" {
		second.OK++
		r.durations.add(e.now - c.begun)
	} else {
		second.Failed++
		r.reasons[reason]++
	}
	c.free(i)
	if parent != 0 {
		e.requests.at(parent).childEnds(parent, i, reason == "")
		return
	}
	e.loads[r.loadOf()].callEnds()
}

// cancel ends the call because the request that makes it was abandoned.
func (c *call) cancel(i uint32) {
	switch {
	case c.waits != nowhere:
		c.leaveLine()
		c.giveBack()
	default:
		c.hangUp()
		c.release(capacity.Neutral)
		c.giveBack()
	}
	if b := c.route.breakerOf(c.process); b != nil && c.permit.Probe != 0 {
		b.Record(c.permit, breaker.Neutral, c.route.engine.time())
	}
	c.route.now().Failed++
	c.route.reasons[retry.ErrCanceled]++
	c.free(i)
}

// free releases the place of the call.
func (c *call) free(i uint32) {
	c.gen++
	c.route.engine.calls.release(i)
}

// shares returns the share of the processes whose breaker is not closed, and the remaining
// tokens as a share of full budgets.
func (r *route) shares(now time.Time) (open, tokens float64) {
	n := r.group.processes
	for process := range n {
		if b := r.breakerOf(uint32(process)); b != nil {
			if state, _ := b.State(); state != breaker.Closed {
				open += 1 / float64(n)
			}
		}
		if b := r.budgetOf(uint32(process)); b != nil {
			tokens += b.LeftAt(now) / r.client.Budget.Burst / float64(n)
		}
	}
	return open, tokens
}
