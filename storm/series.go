package storm

// A ServiceSeries contains a service's measurements for each second, averaged over all
// runs: see [ServiceSecond].
type ServiceSeries struct {
	Name     string    `json:"name"`
	Capacity float64   `json:"capacity"` // requests per second that the service can serve when there are no events
	Offered  []float64 `json:"offered"`
	First    []float64 `json:"first"`
	Good     []float64 `json:"good"`
	Wasted   []float64 `json:"wasted"`
	Failed   []float64 `json:"failed"`
	Refused  []float64 `json:"refused"`
	Dropped  []float64 `json:"dropped"`
	Queue    []float64 `json:"queue"`
	Busy     []float64 `json:"busy"`
	P50      []float64 `json:"p50_seconds"`
	P99      []float64 `json:"p99_seconds"`
}

// A RouteSeries contains a route's measurements for each second, averaged over all runs:
// see [RouteSecond].
type RouteSeries struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Policy   string    `json:"policy"`
	Calls    []float64 `json:"calls"`
	Attempts []float64 `json:"attempts"`
	OK       []float64 `json:"ok"`
	Failed   []float64 `json:"failed"`
	P50      []float64 `json:"p50_seconds"`
	P99      []float64 `json:"p99_seconds"`
	Open     []float64 `json:"open_breakers"`
	Tokens   []float64 `json:"budget_left"`

	HasBreaker bool `json:"-"`
	HasBudget  bool `json:"-"`
}

// Series returns the measurements for each second, averaged over all runs. The services
// are in the order of the system, and so are the routes. The routes of loads come last.
func (r *Result) Series() (services []ServiceSeries, routes []RouteSeries) {
	capacities := r.System.capacities()
	for i := range r.System.Services {
		mean := func(f func(*ServiceSecond) float64) []float64 {
			return r.mean(func(run *Run, second int) float64 { return f(&run.Services[i].Seconds[second]) })
		}
		services = append(services, ServiceSeries{
			Name:     r.System.Services[i].Name,
			Capacity: capacities[i],
			Offered:  mean(func(s *ServiceSecond) float64 { return float64(s.Offered) }),
			First:    mean(func(s *ServiceSecond) float64 { return float64(s.First) }),
			Good:     mean(func(s *ServiceSecond) float64 { return float64(s.Good) }),
			Wasted:   mean(func(s *ServiceSecond) float64 { return float64(s.Wasted) }),
			Failed:   mean(func(s *ServiceSecond) float64 { return float64(s.Failed) }),
			Refused:  mean(func(s *ServiceSecond) float64 { return float64(s.Refused) }),
			Dropped:  mean(func(s *ServiceSecond) float64 { return float64(s.Dropped) }),
			Queue:    mean(func(s *ServiceSecond) float64 { return float64(s.Queue) }),
			Busy:     mean(func(s *ServiceSecond) float64 { return float64(s.Busy) }),
			P50:      mean(func(s *ServiceSecond) float64 { return s.P50 }),
			P99:      mean(func(s *ServiceSecond) float64 { return s.P99 }),
		})
	}
	targets := r.System.targets()
	for i := range r.Runs[0].Routes {
		mean := func(f func(*RouteSecond) float64) []float64 {
			return r.mean(func(run *Run, second int) float64 { return f(&run.Routes[i].Seconds[second]) })
		}
		route, client := &r.Runs[0].Routes[i], &targets[i].Client
		series := RouteSeries{
			From: route.From, To: route.To, Policy: route.Policy,
			Calls:    mean(func(s *RouteSecond) float64 { return float64(s.Calls) }),
			Attempts: mean(func(s *RouteSecond) float64 { return float64(s.Attempts) }),
			OK:       mean(func(s *RouteSecond) float64 { return float64(s.OK) }),
			Failed:   mean(func(s *RouteSecond) float64 { return float64(s.Failed) }),
			P50:      mean(func(s *RouteSecond) float64 { return s.P50 }),
			P99:      mean(func(s *RouteSecond) float64 { return s.P99 }),
			Open:     mean(func(s *RouteSecond) float64 { return s.Open }),
			Tokens:   mean(func(s *RouteSecond) float64 { return s.Tokens }),

			HasBreaker: client.Breaker != nil,
			HasBudget:  client.Budget != nil,
		}
		routes = append(routes, series)
	}
	return services, routes
}

// mean returns the means of the runs for each second.
func (r *Result) mean(of func(run *Run, second int) float64) []float64 {
	list := make([]float64, r.System.seconds())
	for second := range list {
		for _, run := range r.Runs {
			list[second] += of(run, second) / float64(len(r.Runs))
		}
	}
	return list
}

// capacities returns the requests per second that each service can serve, if no request
// waits for a worker.
func (s *System) capacities() []float64 {
	list := s.held()
	for i := range list {
		list[i] = float64(s.Services[i].workers()) / list[i]
	}
	return list
}

// Reasons returns the reasons why a load's calls failed, over all runs, each with its
// share of the failed calls.
func (r *Result) Reasons(load int) map[string]float64 {
	shares := map[string]float64{}
	total := 0
	for _, run := range r.Runs {
		for _, n := range r.System.loadRoute(run, load).Reasons {
			total += n
		}
	}
	for _, run := range r.Runs {
		for reason, n := range r.System.loadRoute(run, load).Reasons {
			shares[reason] += float64(n) / float64(total)
		}
	}
	return shares
}
