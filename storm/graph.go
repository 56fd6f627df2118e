package storm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

// cycles reports services that call each other in a cycle. Each cycle is reported once.
func (r *scenario) cycles(root *syntax.Node) {
	const unseen, open, done = 0, 1, 2
	state := map[string]int{}
	var path []string
	var visit func(name string)
	visit = func(name string) {
		state[name] = open
		path = append(path, name)
		s := r.sys.Services[slices.Index(r.services, name)]
		for i, t := range s.Calls {
			switch state[t.Service] {
			case unseen:
				visit(t.Service)
			case open:
				begin := slices.Index(path, t.Service)
				names := append(slices.Clone(path[begin:]), t.Service)
				at := root.Get("services").Value.Get(name).Value.Get("calls").Value.Items[i].Get("service").Value.Span
				r.problem(at, "P903", "services call each other in a cycle: %s", strings.Join(names, " → "))
			}
		}
		path = path[:len(path)-1]
		state[name] = done
	}
	for _, name := range r.services {
		if state[name] == unseen {
			visit(name)
		}
	}
}

// overloaded reports services that cannot serve their load even without a storm.
func (r *scenario) overloaded(root *syntax.Node, sys *System) {
	held := sys.held()
	for i, rate := range sys.offered() {
		s := &sys.Services[i]
		capacity := float64(s.workers()) / held[i]
		if rate < capacity {
			continue
		}
		calls := ""
		if len(s.Calls) > 0 {
			calls = fmt.Sprintf(", which it holds for %s with the calls that it makes", seconds(held[i]))
		}
		r.problem(root.Get("services").Value.Get(s.Name).At, "P102",
			"the service is overloaded before the storm: %s of %s, by %s%s: add workers, or lower the load", PerSecond(rate),
			PerSecond(capacity), count(s.workers(), "worker"), calls)
	}
}

// callersFirst returns the indexes of the services in an order in which callers precede the
// services that they call. There must be no cycles.
func (s *System) callersFirst() []int {
	seen := make([]bool, len(s.Services))
	var order []int
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, t := range s.Services[i].Calls {
			visit(s.index(t.Service))
		}
		order = append(order, i)
	}
	for i := range s.Services {
		visit(i)
	}
	slices.Reverse(order)
	return order
}

// offered returns the requests per second that each service receives without a storm. Only open
// loads count, because users who wait make no further calls.
func (s *System) offered() []float64 {
	rates := make([]float64, len(s.Services))
	for i := range s.Loads {
		l := &s.Loads[i]
		rates[s.index(l.Target.Service)] += l.Rate
	}
	for _, i := range s.callersFirst() {
		for _, t := range s.Services[i].Calls {
			rates[s.index(t.Service)] += rates[i]
		}
	}
	return rates
}

// index returns the index of a service.
func (s *System) index(name string) int {
	return slices.IndexFunc(s.Services, func(v Service) bool { return v.Name == name })
}

// held returns, for each service, the mean number of seconds for which a request occupies a
// worker if no request waits.
func (s *System) held() []float64 {
	held := make([]float64, len(s.Services))
	for _, i := range slices.Backward(s.callersFirst()) {
		v := &s.Services[i]
		var calls float64
		for _, t := range v.Calls {
			if each := held[s.index(t.Service)]; v.Parallel {
				calls = max(calls, each)
			} else {
				calls += each
			}
		}
		held[i] = max(v.Time.mean+calls, 1e-9)
	}
	return held
}
