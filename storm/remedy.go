package storm

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// A Remedy is a change to a system that was tried in a simulation.
type Remedy struct {
	Change  string // description of the change, such as "a budget of 10 %"
	Verdict Verdict
}

// String returns the change and its verdict.
func (r *Remedy) String() string { return r.Change + ": " + r.Verdict.Text() }

// remedies lists the changes that are tried, beginning with changes of policies. Each function
// reports whether it has changed anything.
var remedies = []struct {
	change string
	apply  func(*System) bool
}{
	{"a budget of 10 %", withBudget},
	{"a breaker at a failure rate of 50 %", withBreaker},
	{"at most 2 attempts", withTwoAttempts},
	{"a queue of half as many requests as workers", withQueue},
	{"a service that drops the requests of callers that have gone", withNotice},
}

// Remedies tries changes that may help the load with the given index to recover. It
// returns up to the given number of changes that let the load recover in every run. It
// tries each change in fewer runs than o specifies, because the result is only advice. If
// the simulation of a change reaches a limit, the change is not a remedy.
func Remedies(sys *System, load, most int, o Options) (list []Remedy) {
	const runs = 2
	o.Seeds, o.Progress = runs, nil
	for _, r := range remedies {
		changed := sys.clone()
		if !r.apply(changed) {
			continue
		}
		result, err := Simulate(changed, o)
		if err != nil {
			continue
		}
		if v := result.Verdicts[load]; v.Recovered() == runs {
			list = append(list, Remedy{r.change, v})
		}
		if len(list) == most {
			break
		}
	}
	return list
}

// clone returns a copy whose services, loads and targets may be changed.
func (s *System) clone() *System {
	c := *s
	c.Services, c.Loads = slices.Clone(s.Services), slices.Clone(s.Loads)
	for i := range c.Services {
		c.Services[i].Calls = slices.Clone(c.Services[i].Calls)
	}
	return &c
}

// eachRetry calls f with the clients that retry, and reports whether f has changed any.
func (s *System) eachRetry(f func(*Client) bool) (changed bool) {
	for _, t := range s.targets() {
		if t.Client.Policy.MaxAttempts != 1 && f(&t.Client) {
			changed = true
		}
	}
	return changed
}

func withBudget(s *System) bool {
	return s.eachRetry(func(c *Client) bool {
		if c.Budget != nil && c.Budget.Ratio <= 0.1 {
			return false
		}
		c.Budget, c.BudgetStore = &budget.Policy{Name: "remedy", Ratio: 0.1, MinPerSecond: 0.5, Burst: 10}, false
		return true
	})
}

func withBreaker(s *System) bool {
	limits := breaker.Policy{Name: "remedy", FailureRate: 0.5, OpenFor: 5 * time.Second}.Effective()
	return s.eachRetry(func(c *Client) bool {
		if c.Breaker != nil {
			return false
		}
		c.Breaker = &limits
		return true
	})
}

func withTwoAttempts(s *System) bool {
	return s.eachRetry(func(c *Client) bool {
		if c.Policy.MaxAttempts <= 2 {
			return false
		}
		c.Policy.MaxAttempts = 2
		c.Policy.PerError = slices.Clone(c.Policy.PerError)
		for i := range c.Policy.PerError {
			c.Policy.PerError[i].MaxAttempts = min(c.Policy.PerError[i].MaxAttempts, 2)
		}
		return true
	})
}

func withQueue(s *System) (changed bool) {
	for i := range s.Services {
		service := &s.Services[i]
		if most := max(service.Workers/2, 1); service.Queue > most {
			service.Queue, changed = most, true
		}
	}
	return changed
}

func withNotice(s *System) (changed bool) {
	for i := range s.Services {
		changed = changed || !s.Services[i].Notices
		s.Services[i].Notices = true
	}
	return changed
}
