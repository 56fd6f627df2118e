package storm

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// A group is a number of processes that call services: those of a load, or the instances
// of a service. Each process has one breaker and one budget for each name.
type group struct {
	engine    *engine
	stores    *group // with what all processes share
	processes int

	breakerNames, budgetNames []string
	breakerPolicies           []breaker.Policy
	budgetPolicies            []budget.Policy
	breakers                  []*breaker.Model // of all names, process by process
	budgets                   []*budget.Budget
}

// newGroup returns a group without breakers and budgets. The engine does not know the
// group of the stores, whose stores is nil.
func newGroup(e *engine, stores *group, processes int) *group {
	g := &group{engine: e, stores: stores, processes: processes}
	if stores != nil {
		e.groups = append(e.groups, g)
	}
	return g
}

// reset gives each process breakers that are closed and budgets that are full.
func (g *group) reset() {
	now := g.engine.time()
	g.breakers, g.budgets = g.breakers[:0], g.budgets[:0]
	for range g.processes {
		for _, p := range g.breakerPolicies {
			g.breakers = append(g.breakers, breaker.NewModel(p, now))
		}
		for _, p := range g.budgetPolicies {
			g.budgets = append(g.budgets, budget.NewAt(p, now))
		}
	}
}

// A part refers to a breaker or budget of a process.
type part struct {
	group *group // nil: there is none
	index int    // among those of a process
}

// join adds the breaker and the budget of a client to the processes of the group, or to
// what all processes share, unless they have them.
func (g *group) join(c *Client) (ofBreaker, ofBudget part) {
	if c.Breaker != nil {
		at := g
		if c.BreakerStore {
			at = g.stores
		}
		i := slices.Index(at.breakerNames, c.Breaker.Name)
		if i < 0 {
			i = len(at.breakerNames)
			at.breakerNames = append(at.breakerNames, c.Breaker.Name)
			at.breakerPolicies = append(at.breakerPolicies, *c.Breaker)
		}
		ofBreaker = part{at, i}
	}
	if c.Budget != nil {
		at := g
		if c.BudgetStore {
			at = g.stores
		}
		i := slices.Index(at.budgetNames, c.Budget.Name)
		if i < 0 {
			i = len(at.budgetNames)
			at.budgetNames = append(at.budgetNames, c.Budget.Name)
			at.budgetPolicies = append(at.budgetPolicies, *c.Budget)
		}
		ofBudget = part{at, i}
	}
	return ofBreaker, ofBudget
}

// at returns the place of the part of a process.
func (p part) at(process uint32, each int) int {
	if p.group.processes == 1 {
		process = 0
	}
	return int(process)*each + p.index
}

// A route is a target of a load or service: all of its calls are under one policy.
type route struct {
	engine          *engine
	index           uint32
	from            string
	to              *service
	client          *Client
	group           *group
	breaker, budget part
	jitter          *rand.Rand

	seconds   []RouteSecond
	durations histogram // of the calls that succeeded in this second
	reasons   map[retry.Reason]int
}

// breakerOf returns the breaker of a process, or nil.
func (r *route) breakerOf(process uint32) *breaker.Model {
	if g := r.breaker.group; g != nil {
		return g.breakers[r.breaker.at(process, len(g.breakerNames))]
	}
	return nil
}

// budgetOf returns the budget of a process, or nil.
func (r *route) budgetOf(process uint32) *budget.Budget {
	if g := r.budget.group; g != nil {
		return g.budgets[r.budget.at(process, len(g.budgetNames))]
	}
	return nil
}

// A call is one call under a policy: the loop of a generated wrapper. Its methods take
// its place in the slab.
type call struct {
	state   retry.CallState
	permit  breaker.Permit
	route   *route
	answer  error // that the attempt will get
	begun   int64
	process uint32
	gen     uint32 // of the attempt or wait that is in progress
	request uint32 // of the attempt that is running, or 0
	parent  uint32 // the request that makes the call, or 0: a load does
	sibling uint32 // the next call of the parent that is in progress, or 0
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

// admit makes the next attempt if all that guards the service admits it. The steps are
// those of a wrapper, in the same order: a limit of attempts that are in progress or of
// their rate is a further step between the peek at the breaker and its permit.
func (c *call) admit(i uint32) {
	r := c.route
	if b := r.breakerOf(c.process); b != nil {
		permit, ok := b.Admit(r.engine.time())
		if !ok {
			c.fails(i, &retry.Failure{Err: retry.ErrBreakerOpen, Refused: true})
			return
		}
		c.permit = permit
	}
	c.attempt(i)
}

// attempt sends a request, and sets the limit of the attempt.
func (c *call) attempt(i uint32) {
	r, e := c.route, c.route.engine
	now, p := e.time(), &r.client.Policy
	if c.state.Deadline.IsZero() && p.Timeout > 0 {
		c.state.Deadline = now.Add(p.Timeout)
	}
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

// expire ends the attempt at its limit. The service may go on with the request.
func (c *call) expire(i uint32) {
	c.leave()
	c.attemptEnds(i, context.DeadlineExceeded)
}

// leave ends the wait for the request. The service may notice that.
func (c *call) leave() {
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

// fails asks the policy what follows a failure, and then the budget.
func (c *call) fails(i uint32, f *retry.Failure) {
	r, e := c.route, c.route.engine
	p, now := &r.client.Policy, e.time()
	in := retry.Inputs{Now: now}
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

// end ends the call: with the reason of a failure, or "".
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

// cancel ends the call because the request that makes it has been abandoned.
func (c *call) cancel(i uint32) {
	c.leave()
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

// shares returns the share of the processes whose breaker is not closed, and the tokens
// that are left in budgets, as a share of full ones.
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
