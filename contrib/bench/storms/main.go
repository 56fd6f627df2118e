// Storms compares package storm's simulations with real processes: a server with a
// limited number of workers, and clients that call it over HTTP with generated wrappers,
// while the server loses most of its workers for some time.
//
//	go run ./storms                   all scenarios, a few at a time: 3 minutes
//	go run ./storms -only plain/open  one of them
//
// For each scenario, it prints the results of the simulation and of the processes:
// whether the clients recover, when they recover, and the maximum load. The exit status
// is 1 if a verdict differs, or if a number differs by more than the tolerance.
package main

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/storm"
)

//go:generate go run ../../../cmd/retrygen .

//go:embed retry.yaml
var policies []byte

// The system of all scenarios.
const (
	workers   = 30
	mean      = 100 * time.Millisecond
	rate      = 240 // calls per second, of 300 that the service can serve
	processes = 3
	begin     = 8 * time.Second
	lasts     = 5 * time.Second
	length    = 45 * time.Second
	loss      = 0.7
)

// queues are the queues of the service.
var queues = map[string]int{"open": storm.Unlimited, "short": 20}

// A scenario has a policy and a queue.
type scenario struct{ policy, queue string }

func (s scenario) name() string { return s.policy + "/" + s.queue }

var scenarios = []scenario{
	{"once", "open"}, {"plain", "open"}, {"slow", "open"}, {"budgeted", "open"}, {"guarded", "open"}, {"both", "open"},
	{"limited", "open"}, {"adaptive", "open"}, {"paced", "open"}, {"throttled", "open"},
	{"plain", "short"}, {"budgeted", "short"},
}

func main() { os.Exit(run()) }

func run() int {
	only := flag.String("only", "", "only the `scenario`, as plain/open")
	parallel := flag.Int("parallel", 2, "how many scenarios run at a time")
	tolerance := flag.Float64("tolerance", 0.2, "the greatest difference of loads and times, as a share")
	serve := flag.String("serve", "", "be the server of a scenario with this `queue`")
	call := flag.String("call", "", "be a client of the server at this `address`")
	name := flag.String("policy", "", "the `policy` of the client")
	flag.Parse()
	switch {
	case *serve != "":
		return server(queues[*serve])
	case *call != "":
		return client(*call, *name)
	}
	file, problems := policy.Check("retry.yaml", policies)
	if file == nil {
		fmt.Fprintln(os.Stderr, "storms:", problems)
		return 2
	}
	if *only != "" && !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name() == *only }) {
		fmt.Fprintf(os.Stderr, "storms: there is no scenario %q: write one such as %s\n", *only, scenarios[0].name())
		return 2
	}
	runtime.GOMAXPROCS(1) // the processes need the others
	lines := make([]string, len(scenarios))
	status := make([]int, len(scenarios))
	slots := make(chan struct{}, max(*parallel, 1))
	var all sync.WaitGroup
	for i, s := range scenarios {
		if *only != "" && *only != s.name() {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			c, _ := storm.ClientOf(file, s.policy)
			lines[i], status[i] = compare(system(c, queues[s.queue]), s.policy, s.queue, *tolerance)
		})
	}
	all.Wait()
	fmt.Printf("%-16s  %-22s %-22s  %-9s %-9s  %s\n", "scenario", "simulated", "measured", "load", "load", "difference")
	worst := 0
	for i, line := range lines {
		fmt.Print(line)
		worst = max(worst, status[i])
	}
	return worst
}

// system returns the system of a scenario.
func system(c storm.Client, queue int) *storm.System {
	return &storm.System{
		Services: []storm.Service{{Name: "service", Workers: workers, Time: storm.ExponentialTime(mean), Queue: queue}},
		Loads: []storm.Load{{
			Name: "clients", Target: storm.Target{Service: "service", Client: c}, Clients: processes, Rate: rate,
		}},
		Events: []storm.Event{{At: begin, For: lasts, Service: "service", Effect: storm.Capacity, Factor: 1 - loss}},
		Length: length,
	}
}

// compare simulates a system and executes it with processes.
func compare(sys *storm.System, name, queue string, tolerance float64) (line string, status int) {
	label := fmt.Sprintf("%s/%s", name, queue)
	failed := func(err error) (string, int) { return fmt.Sprintf("%-16s  %v\n", label, err), 2 }
	simulated, err := storm.Simulate(sys, storm.Options{Seeds: 5})
	if err != nil {
		return failed(err)
	}
	measured, err := measure(sys, name, queue)
	if err != nil {
		return failed(err)
	}
	want, got := simulated.Verdicts[0], sys.Judge(measured, 0)
	var least, most storm.Outcome // the simulated ones differ as well, by their seeds
	for i, o := range want.Outcomes {
		if i == 0 || o.After < least.After {
			least.After = o.After
		}
		if i == 0 || o.Amplification < least.Amplification {
			least.Amplification = o.Amplification
		}
		most.After, most.Amplification = max(most.After, o.After), max(most.Amplification, o.Amplification)
	}
	difference := ""
	if recovered := want.Recovered(); recovered != 0 && recovered != len(want.Outcomes) {
		difference = "the seeds disagree"
	} else if got.Recovered != (recovered > 0) {
		difference, status = "verdict", 1
	}
	if got.Recovered && difference == "" {
		// A second is the resolution of both.
		if off := beyond(got.After.Seconds(), least.After.Seconds(), most.After.Seconds(), 2/tolerance); off > tolerance {
			difference, status = fmt.Sprintf("recovery %.0f %%", 100*off), 1
		}
	}
	if off := beyond(got.Amplification, least.Amplification, most.Amplification, 1); off > tolerance {
		difference, status = difference+fmt.Sprintf(" load %.0f %%", 100*off), 1
	}
	loads := fmt.Sprintf("%-9s %-9s", fmt.Sprintf("%.2f ×", most.Amplification), fmt.Sprintf("%.2f ×", got.Amplification))
	return fmt.Sprintf("%-16s  %-22s %-22s  %s  %s\n", label, verdict(want.Worst()), verdict(got), loads,
		cmp.Or(difference, "none")), status
}

// beyond returns by how much a value is outside of a range, as a share of the nearer end,
// which counts as at least unit.
func beyond(value, least, most, unit float64) float64 {
	return max(least-value, value-most, 0) / math.Max(unit, most)
}

func verdict(o storm.Outcome) string {
	switch {
	case !o.Recovered:
		return "never recovers"
	case !o.Harmed:
		return "no harm"
	}
	return fmt.Sprintf("recovers after %.0fs", o.After.Seconds())
}
