package storm

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// TestHeap: entries leave the heap in the order of their times, and those of the same time
// in the order in which they were pushed.
func TestHeap(t *testing.T) {
	var h heap
	random := rand.New(rand.NewPCG(1, 2))
	var want []int64
	for i := range 2000 {
		at := random.Int64N(300)
		h.push(at, worked, uint32(i), 0)
		want = append(want, at)
	}
	slices.Sort(want)
	last := entry{}
	for i, at := range want {
		e := h.pop()
		if e.at != at || i > 0 && e.at == last.at && e.ref < last.ref || e.kind() != worked {
			t.Fatalf("entry %d: got %+v after %+v, want the time %d", i, e, last, at)
		}
		last = e
	}
	if len(h.entries) > 0 {
		t.Errorf("%d entries are left", len(h.entries))
	}
}

// chain returns a system of three services under a storm, with all kinds of events.
func chain() *System {
	p := retry.Policy{Name: "three", Schedule: retry.Schedule{
		MaxAttempts: 3, InitialDelay: 100 * time.Millisecond, Jitter: retry.JitterFull,
	}, AttemptTimeout: time.Second}
	limits := breaker.Policy{Name: "db", FailureRate: 0.5, OpenFor: 2 * time.Second}.Effective()
	tokens := budget.Policy{Name: "calls"}.Effective()
	client := Client{Policy: p}
	guarded := Client{
		Policy: p, Breaker: &limits, Budget: &tokens, BudgetStore: true,
		Limiter: &capacity.LimiterPolicy{Name: "db", Limit: 5, Target: 50 * time.Millisecond, MaxWait: 30 * time.Millisecond},
		Rate:    &capacity.RatePolicy{Name: "db", Events: 80, Burst: 5, MaxWait: 100 * time.Millisecond},
	}
	throttled := Client{Policy: p, Throttle: &capacity.ThrottlePolicy{Name: "mail"}}
	return &System{
		Services: []Service{
			{Name: "shop", Instances: 4, Workers: 20, Time: LognormalTime(20*time.Millisecond, 100*time.Millisecond), Queue: 10,
				Calls: []Target{{"db", guarded}, {"mail", throttled}}, Parallel: true, Notices: true},
			{Name: "db", Workers: 10, Time: ExponentialTime(10 * time.Millisecond), Queue: Unlimited},
			{Name: "mail", Workers: 10, Time: ConstantTime(10 * time.Millisecond), Queue: 20, Notices: true},
		},
		Loads: []Load{
			{Name: "web", Target: Target{"shop", client}, Clients: 5, Rate: 300},
			{Name: "batch", Target: Target{"db", guarded}, Users: 20, Think: time.Second},
		},
		Events: []Event{
			{At: 5 * time.Second, For: 3 * time.Second, Service: "db", Effect: Capacity, Factor: 0.25},
			{At: 9 * time.Second, For: time.Second, Service: "mail", Effect: Down},
			{At: 11 * time.Second, For: 2 * time.Second, Load: "web", Effect: Surge, Factor: 3},
			{At: 12 * time.Second, For: 2 * time.Second, Load: "batch", Effect: Surge, Factor: 2},
			{At: 14 * time.Second, Service: "shop", Effect: Restart},
			{At: 15 * time.Second, For: 2 * time.Second, Service: "db", Effect: Errors, Factor: 0.5, Class: retry.ClassTimeout},
			{At: 18 * time.Second, For: 2 * time.Second, Service: "mail", Effect: Slowness, Factor: 30},
		},
		Length: 25 * time.Second,
	}
}

// TestConservation: every request ends exactly once, and every call as well.
func TestConservation(t *testing.T) {
	sys := chain()
	for seed := range uint64(5) {
		e := newEngine(sys, seed)
		if err := e.run(nil); err != nil {
			t.Fatal(err)
		}
		if inside := e.requests.live(); e.made != e.ended+inside {
			t.Errorf("%d requests were made: %d have ended, and %d are in progress", e.made, e.ended, inside)
		}
		for _, s := range e.services {
			var offered, ended int
			for _, second := range s.seconds {
				offered += second.Offered
				ended += second.Good + second.Wasted + second.Failed + second.Refused + second.Dropped
			}
			if offered == 0 || offered != ended+s.busy+s.queued {
				t.Errorf("%s: %d requests: %d have ended, %d are served, %d wait", s.spec.Name, offered, ended, s.busy, s.queued)
			}
		}
		checkPermits(t, e)
		var calls, ended int
		for _, r := range e.routes {
			for _, second := range r.seconds {
				calls, ended = calls+second.Calls, ended+second.OK+second.Failed
			}
		}
		if live := e.calls.live(); calls != ended+live {
			t.Errorf("%d calls began: %d have ended, and %d are in progress", calls, ended, live)
		}
	}
}

// checkPermits checks that each permit in use, and each place in a line, is of a call.
func checkPermits(t *testing.T, e *engine) {
	t.Helper()
	held, waiting := map[*limiter]int{}, map[*line]int{}
	for i := uint32(1); i <= e.calls.used; i++ {
		c := e.calls.at(i)
		switch {
		case slices.Contains(e.calls.free, i):
		case c.waits == forPermit:
			waiting[&c.limiter.line]++
		case c.waits == forTurn:
			waiting[&c.rate.line]++
		case c.limiter != nil:
			held[c.limiter]++
		}
	}
	for _, g := range e.groups {
		for _, l := range g.limiters.models {
			if l.inUse != held[l] || l.queued != waiting[&l.line] {
				t.Errorf("%d permits in use, %d waiting; want %d, %d", l.inUse, l.queued, held[l], waiting[&l.line])
			}
		}
		for _, r := range g.rates.models {
			if r.queued != waiting[&r.line] {
				t.Errorf("%d calls wait for a turn, want %d", r.queued, waiting[&r.line])
			}
		}
	}
}

// TestDeterministic: the same seed gives the same run, alone or in parallel, and another
// seed another one.
func TestDeterministic(t *testing.T) {
	sys := chain()
	one, err := Simulate(sys, Options{Seeds: 3})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Simulate(sys, Options{Seeds: 3, Parallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range one.Runs {
		one.Runs[i].Took, other.Runs[i].Took = 0, 0
	}
	if !reflect.DeepEqual(one.Runs, other.Runs) {
		t.Error("the same seeds gave different runs")
	}
	if reflect.DeepEqual(one.Runs[0].Services, one.Runs[1].Services) {
		t.Error("different seeds gave the same run")
	}
}

// TestLimit: a run with too many events, or with too many calls at a time, is stopped.
func TestLimit(t *testing.T) {
	if _, err := Simulate(chain(), Options{MaxEvents: 100}); err == nil {
		t.Error("got no error for 100 events")
	}
	e := newEngine(chain(), 1)
	e.most = 50
	if err := e.run(nil); err == nil {
		t.Error("got no error for 50 calls and requests at a time")
	}
}

// TestPercentile: a percentile is within 3 % of what it should be.
func TestPercentile(t *testing.T) {
	var h histogram
	for i := range 10_000 {
		h.add(int64(i) * int64(time.Millisecond))
	}
	for _, p := range []float64{0.01, 0.5, 0.99} {
		if got, want := h.percentile(p), 10*p; got < want*0.97 || got > want*1.03 {
			t.Errorf("%v: got %v, want %v", p, got, want)
		}
	}
}

// TestDefaultLongest: the default storm of a policy with very long attempts says that it
// simulates shorter ones.
func TestDefaultLongest(t *testing.T) {
	sys := Default(Client{Policy: retry.Policy{Name: "read", AttemptTimeout: 1_000_000 * time.Hour}})[0]
	if got, want := sys.Length, 120*time.Hour; got != want {
		t.Errorf("the storm is %s long, want %s", got, want)
	}
	want := []string{"read: attempts have a limit of 1h instead of 1000000h"}
	if got := sys.Assumed(); !slices.Equal(got, want) {
		t.Errorf("got the assumptions %q, want %q", got, want)
	}
}

// TestNotHarmed: a load that no event harms has recovered, and its reason does not hide the
// calls that fail all the time.
func TestNotHarmed(t *testing.T) {
	hasty := Client{Policy: retry.Policy{
		Name: "hasty", Schedule: retry.Schedule{MaxAttempts: 1}, AttemptTimeout: time.Millisecond,
	}}
	for _, test := range []struct {
		client Client
		want   string
	}{
		{once, "no call is lost"},
		{hasty, "100 % of the calls fail, but hardly more than before any event"},
	} {
		sys := &System{
			Services: []Service{{Name: "db", Workers: 10, Time: ConstantTime(10 * time.Millisecond), Queue: Unlimited}},
			Loads:    []Load{{Name: "web", Target: Target{"db", test.client}, Rate: 100}},
			Length:   20 * time.Second,
		}
		r, err := Simulate(sys, Options{Seeds: 1})
		if err != nil {
			t.Fatal(err)
		}
		if v := &r.Verdicts[0]; v.Harmed() || v.Recovered() != 1 || r.Reason(0) != test.want {
			t.Errorf("%s: harmed %t, recovered in %d runs, %q", test.client.Policy.Name, v.Harmed(), v.Recovered(), r.Reason(0))
		}
	}
}

// TestCallsOfOneService: two calls of a service to the same service keep their own clients,
// and do not draw the same jitter.
func TestCallsOfOneService(t *testing.T) {
	sys := chain()
	shop := &sys.Services[0]
	shop.Calls[1].Service = shop.Calls[0].Service
	result, err := Simulate(sys, Options{Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, routes := result.Series()
	if !routes[0].HasBreaker || !routes[0].HasBudget || routes[1].HasBreaker || routes[1].HasBudget {
		t.Errorf("the routes have other breakers and budgets than their clients: %+v, %+v", routes[0], routes[1])
	}
	if e := newEngine(sys, 1); e.routes[0].jitter.Uint64() == e.routes[1].jitter.Uint64() {
		t.Error("both routes draw the same jitter")
	}
}

func TestPerSecond(t *testing.T) {
	for rate, want := range map[float64]string{0.25: "0.25/s", 999.6: "1,000/s", 1234567: "1,234,567/s",
		1e21: "1,000,000,000,000,000,000,000/s"} {
		if got := PerSecond(rate); got != want {
			t.Errorf("PerSecond(%g) = %s, want %s", rate, got, want)
		}
	}
}
