package storm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// ClientOf returns the client that the policy with the given name describes. It returns
// false if the file has no such policy.
func ClientOf(f *policy.File, name string) (Client, bool) {
	i := slices.IndexFunc(f.Policies, func(p policy.Policy) bool { return p.Name == name })
	if i < 0 {
		return Client{}, false
	}
	p := &f.Policies[i]
	c := Client{Policy: p.Policy}
	c.Policy.Classes = withClasses(p.Classes)
	for _, b := range f.Breakers {
		switch {
		case b.Name != p.Breaker:
		case b.From.Name != "":
			c.Assumed = append(c.Assumed, fmt.Sprintf("breaker %s is a Go variable: no breaker", b.Name))
		default:
			limits := b.Policy.Effective()
			c.Breaker, c.BreakerStore = &limits, b.Store
		}
	}
	for _, b := range f.Budgets {
		switch {
		case b.Name != p.Budget:
		case b.From.Name != "":
			c.Assumed = append(c.Assumed, fmt.Sprintf("budget %s is a Go variable: no budget", b.Name))
		case b.Ratio == nil:
			c.Assumed = append(c.Assumed, fmt.Sprintf("budget %s counts the retries of a job: no budget", b.Name))
		default:
			limits := b.Ratio.Effective()
			limits.Name = b.Name
			c.Budget, c.BudgetStore = &limits, b.Store
		}
	}
	c.addLimits(f, p)
	return c, true
}

// addLimits adds the limits on the attempts of a policy.
func (c *Client) addLimits(f *policy.File, p *policy.Policy) {
	assume := func(what, name string, from policy.Symbol) bool {
		if from.Name != "" {
			c.Assumed = append(c.Assumed, fmt.Sprintf("%s %s is a Go variable: none", what, name))
		}
		return from.Name != ""
	}
	for _, l := range f.Concurrency {
		if l.Name == p.Concurrency && !assume("concurrency limit", l.Name, l.From) {
			limits := l.LimiterPolicy.Effective()
			c.Limiter = &limits
		}
	}
	for _, r := range f.Rates {
		if r.Name == p.Rate && !assume("rate", r.Name, r.From) {
			limits := r.RatePolicy.Effective()
			c.Rate, c.RateStore = &limits, r.Store
		}
	}
	for _, t := range f.Throttles {
		if t.Name == p.Throttle && !assume("throttle", t.Name, t.From) {
			limits := t.ThrottlePolicy.Effective()
			c.Throttle = &limits
		}
	}
	if p.Hedge != nil {
		c.Assumed = append(c.Assumed, "hedge: no second requests")
	}
}

// previewEvents is the number of events at which a preview is stopped.
const previewEvents = 5_000_000

// Preview simulates three runs of a client's first default storm, for use in a line of
// text or a picture. If this would take more than a few seconds, it returns an error.
// parallel is the number of simultaneous runs.
func Preview(c Client, parallel int) (*Result, error) {
	return Simulate(Default(c)[0], Options{Seeds: 3, Parallel: parallel, MaxEvents: previewEvents})
}

// withClasses returns the classes of a policy. It adds a test to each class, which matches the
// simulated failures of that class.
func withClasses(classes []retry.ErrorClass) []retry.ErrorClass {
	list := slices.Clone(classes)
	for i := range list {
		class := list[i].Class
		list[i].As = append(slices.Clone(list[i].As), func(err error) bool {
			f, ok := err.(*failure)
			return ok && f.class == class
		})
	}
	return list
}

// The default storm for an attempt timeout of one second: 20 processes make 800 calls per
// second to a service with 100 workers. A request takes 100 ms, so the workers are 80 % busy.
// The examples in the literature begin with this setup.
const (
	defaultWorkers = 100
	defaultBusy    = 0.8
	defaultClients = 20
	defaultBefore  = 20 // seconds before the event, and
	defaultEvent   = 10 // of the event, and
	defaultAfter   = 90 // after it, all multiplied by the attempt timeout in seconds
	defaultLoss    = 0.7
	defaultLongest = time.Hour // the longest attempt
)

// Default returns the two default storms for a client. In the first storm, a service
// loses 70 % of its workers for a short time. In the second storm, 70 % of its requests
// fail. The service takes a tenth of the attempt timeout for a request. If this is more
// than a second, all times of the storm are scaled up and the rate is scaled down, so
// that the same number of requests wait. Attempts longer than an hour are simulated as
// one-hour attempts.
func Default(c Client) []*System {
	limit := cmp.Or(c.Policy.AttemptTimeout, c.Policy.Timeout)
	if limit <= 0 {
		limit = time.Second
		c.Patience = limit
		c.Assumed = append(slices.Clone(c.Assumed), "no attempt_timeout: callers wait for 1s")
	}
	if limit > defaultLongest {
		c.Assumed = append(slices.Clone(c.Assumed), fmt.Sprintf("attempts have a limit of %s instead of %s",
			duration.Format(defaultLongest), duration.Format(limit)))
		limit, c.Policy.AttemptTimeout = defaultLongest, defaultLongest
	}
	scale := max(limit, time.Second)
	unit := float64(scale) / 1e9
	mean := max(limit/10, time.Millisecond)
	service := Service{Name: "service", Workers: defaultWorkers, Time: ExponentialTime(mean), Queue: Unlimited}
	if limit < time.Second {
		// Serve as many requests per second as with a timeout of one second, as long as there
		// are enough workers that the queue does not fluctuate on its own.
		service.Workers = int(max(defaultWorkers*limit/time.Second, defaultWorkers/10))
	}
	rate := defaultBusy * service.Capacity()
	clients := max(1, min(defaultClients, int(rate/4)))
	load := Load{Name: "clients", Target: Target{Service: service.Name, Client: c}, Clients: clients, Rate: rate}
	system := func(name string, e Event) *System {
		e.At, e.For, e.Service = defaultBefore*scale, defaultEvent*scale, service.Name
		return &System{
			Name: name, Services: []Service{service}, Loads: []Load{load}, Events: []Event{e},
			Length: e.At + e.For + after(&c.Policy, unit),
		}
	}
	return []*System{
		system("capacity", Event{Effect: Capacity, Factor: 1 - defaultLoss}),
		system("errors", Event{Effect: Errors, Factor: defaultLoss, Class: retriedClass(&c.Policy)}),
	}
}

// after returns how long the default storm continues after its event: long enough for the
// longest waits of the policy, but not too long to simulate.
func after(p *retry.Policy, unit float64) time.Duration {
	var waits time.Duration
	for k := 1; k < min(p.MaxAttempts, 20); k++ {
		_, _, most := p.Bounds(k, 0)
		waits = min(waits+most, time.Hour)
	}
	least := time.Duration(defaultAfter * unit * 1e9)
	return max(least, min(3*least, 3*waits))
}

// retriedClass returns a class of errors that the policy retries. It prefers the usual classes.
func retriedClass(p *retry.Policy) retry.Class {
	list := []retry.Class{retry.ClassServerError, retry.ClassNetwork, retry.ClassRateLimit, retry.ClassTimeout}
	for _, c := range p.Classes {
		list = append(list, c.Class)
	}
	for _, class := range list {
		if p.Retries(failureOf(class)) {
			return class
		}
	}
	return list[0]
}
