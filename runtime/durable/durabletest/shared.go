package durabletest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/shared"
)

// An OpenShared opens the store in a folder, like an [Open]. The test does not close the
// returned store. Subtests call it simultaneously.
type OpenShared func(t *testing.T, dir string) shared.Store

// RunBudget runs the conformance test of a store for ratio budgets that several processes
// share: together, they never make more retries than the policy allows. It takes a few
// seconds.
func RunBudget(t *testing.T, open OpenShared) {
	runShared(t, open, testDrainedByMany, testNoMoreThanOneBucket, testPartsReturned, testUnconnected, testConnectAgain)
}

// RunBreaker runs the conformance test of a store for breakers that several processes
// share. It takes a few seconds.
func RunBreaker(t *testing.T, open OpenShared) {
	runShared(t, open, testOpensEverywhere, testOneProbeOfMany, testProbeDies, testResetEverywhere)
}

func runShared(t *testing.T, open OpenShared, tests ...func(*testing.T, *sharing)) {
	for _, test := range tests {
		t.Run(name(test), func(t *testing.T) {
			t.Parallel() // they mostly wait
			test(t, &sharing{t: t, open: open, dir: t.TempDir()})
		})
	}
}

// shared is where the breakers and budgets of a subtest are.
type sharing struct {
	t    *testing.T
	open OpenShared
	dir  string
}

// connect connects breakers and budgets as another process would, until the end
// of the subtest.
func (s *sharing) connect(set shared.Set) *shared.Connection {
	s.t.Helper()
	link := shared.Link{
		Store: s.open(s.t, s.dir), Namespace: "shared", Forgetful: true,
		OnEvent: func(_ context.Context, ev events.Event) { s.t.Errorf("%v: %s: %v", ev.Kind, ev.Name, ev.Err) },
	}
	c, err := link.Connect(s.t.Context(), set)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			s.t.Errorf("Close: %v", err)
		}
	})
	return c
}

// budget connects a budget.
func (s *sharing) budget(p budget.Policy) (*shared.Budget, *shared.Connection) {
	s.t.Helper()
	b := shared.NewBudget(p)
	return b, s.connect(shared.Set{Budgets: []*shared.Budget{b}})
}

// breaker connects a breaker.
func (s *sharing) breaker(p breaker.Policy) *breaker.Breaker {
	s.t.Helper()
	b := breaker.New(p)
	s.connect(shared.Set{Breakers: []*breaker.Breaker{b}})
	return b
}

// eventually waits until a condition holds.
func (s *sharing) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(limit); !holds(); {
		if time.Now().After(end) {
			s.t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// testDrainedByMany: 4 processes of 8 goroutines find exactly the tokens that the
// budget has.
func testDrainedByMany(t *testing.T, s *sharing) {
	const burst = 60
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		b, _ := s.budget(budget.Policy{Name: "server", Burst: burst, MinPerSecond: budget.NoRefill})
		for range 8 {
			wg.Go(func() {
				for b.Withdraw() == nil {
					granted.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if n := granted.Load(); n != burst {
		t.Errorf("%d retries, want the %d that the budget has", n, burst)
	}
}

// testNoMoreThanOneBucket: random successes and failures of three processes are
// never granted a retry that one bucket would refuse.
func testNoMoreThanOneBucket(t *testing.T, s *sharing) {
	const burst, ratio = 8, 0.5 // exact in binary
	var budgets []*shared.Budget
	for range 3 {
		b, _ := s.budget(budget.Policy{Name: "server", Burst: burst, Ratio: ratio, MinPerSecond: budget.NoRefill})
		budgets = append(budgets, b)
	}
	r := rand.New(rand.NewPCG(1, 2))
	level, granted := float64(burst), 0
	for i := range 3000 {
		b := budgets[r.IntN(len(budgets))]
		if r.IntN(3) > 0 {
			b.Deposit()
			level = min(level+ratio, burst)
			continue
		}
		if b.Withdraw() != nil {
			continue
		}
		if granted++; level < 1 {
			t.Fatalf("operation %d: a retry is granted, and one bucket would have %g tokens", i, level)
		}
		level--
	}
	if granted <= burst {
		t.Errorf("%d retries, want more than %d: no deposit counted", granted, burst)
	}
}

// testPartsReturned: a process that ends in order gives back what it has not spent.
func testPartsReturned(t *testing.T, s *sharing) {
	p := budget.Policy{Name: "server", Burst: 10, MinPerSecond: budget.NoRefill}
	first, c := s.budget(p)
	if err := first.Withdraw(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, _ := s.budget(p)
	granted := 0
	for second.Withdraw() == nil {
		granted++
	}
	if granted != 9 {
		t.Errorf("%d retries, want the 9 that are left", granted)
	}
}

// testUnconnected: before it is connected and after its connection is closed, a
// budget refuses retries and says why.
func testUnconnected(t *testing.T, s *sharing) {
	b := shared.NewBudget(budget.Policy{Name: "server"})
	refuses := func(when string) {
		t.Helper()
		b.Deposit()
		if err := b.Withdraw(); !errors.Is(err, shared.ErrUnconnected) || !errors.Is(err, retry.ErrBudget) || b.Left() != 0 {
			t.Errorf("%s: err = %v, %g left; want ErrUnconnected, ErrBudget and none", when, err, b.Left())
		}
	}
	refuses("before")
	c := s.connect(shared.Set{Budgets: []*shared.Budget{b}})
	if err := b.Withdraw(); err != nil {
		t.Errorf("connected: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	refuses("after")
}

// testConnectAgain: a budget has one connection at a time.
func testConnectAgain(t *testing.T, s *sharing) {
	b, _ := s.budget(budget.Policy{Name: "server"})
	other := shared.NewBudget(budget.Policy{Name: "other"})
	link := shared.Link{Store: s.open(t, s.dir), Forgetful: true}
	if _, err := link.Connect(t.Context(), shared.Set{Budgets: []*shared.Budget{other, b}}); err == nil {
		t.Error("a budget is connected twice")
	}
	if err := other.Withdraw(); !errors.Is(err, shared.ErrUnconnected) {
		t.Errorf("err = %v, want ErrUnconnected: Connect failed", err)
	}
}

var errProbe = errors.New("connection refused")

// attempt makes one attempt with a breaker, and reports whether it was executed.
func attempt(ctx context.Context, b *breaker.Breaker, op func() error) (executed bool) {
	p := retry.Policy{Name: "ping", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 1}}
	_, _ = retry.DoWith(ctx, &p, retry.Shared{Breaker: b}, func(context.Context) (int, error) {
		executed = true
		return 0, op()
	})
	return executed
}

func fails() error    { return errProbe }
func succeeds() error { return nil }

// testOpensEverywhere: failures of one process open the breaker of the others, and
// the success of a probe closes it for all.
func testOpensEverywhere(t *testing.T, s *sharing) {
	p := breaker.Policy{Name: "server", Failures: 3, OpenFor: 300 * time.Millisecond}
	one, two, three := s.breaker(p), s.breaker(p), s.breaker(p)
	for range 3 {
		attempt(t.Context(), one, fails)
	}
	for _, b := range []*breaker.Breaker{two, three} {
		s.eventually("the others are not closed", func() bool { return b.State() != breaker.Closed })
	}
	late := s.breaker(p)
	if late.State() == breaker.Closed {
		t.Error("a process that connects later is closed")
	}
	s.eventually("a probe", func() bool { return attempt(t.Context(), two, succeeds) })
	for _, b := range []*breaker.Breaker{one, two, three, late} {
		s.eventually("all are closed", func() bool { return b.State() == breaker.Closed })
	}
}

// testOneProbeOfMany: of 4 processes of 8 goroutines, one makes the probe.
func testOneProbeOfMany(t *testing.T, s *sharing) {
	p := breaker.Policy{Name: "server", Failures: 1, OpenFor: 2 * time.Second} // in which all ask
	var breakers []*breaker.Breaker
	for range 4 {
		breakers = append(breakers, s.breaker(p))
	}
	attempt(t.Context(), breakers[0], fails)
	for _, b := range breakers {
		s.eventually("half-open", func() bool { return b.State() == breaker.HalfOpen })
	}
	var probes, asked atomic.Int64
	var wg sync.WaitGroup
	decided := make(chan struct{})
	const callers = 4 * 8
	for _, b := range breakers {
		for range callers / len(breakers) {
			wg.Go(func() {
				executed := attempt(t.Context(), b, func() error {
					probes.Add(1)
					if asked.Add(1) == callers {
						close(decided)
					}
					<-decided // the probe runs until all have asked
					return nil
				})
				if !executed && asked.Add(1) == callers {
					close(decided)
				}
			})
		}
	}
	wg.Wait()
	if n := probes.Load(); n != 1 {
		t.Errorf("%d probes, want 1", n)
	}
}

// testProbeDies: if the process of a probe dies, another process makes one after
// OpenFor.
func testProbeDies(t *testing.T, s *sharing) {
	const openFor = 300 * time.Millisecond
	p := breaker.Policy{Name: "server", Failures: 1, OpenFor: openFor}
	one, two := s.breaker(p), s.breaker(p)
	attempt(t.Context(), one, fails)
	s.eventually("the other knows", func() bool { return two.State() != breaker.Closed })
	dead := make(chan struct{})
	started := make(chan time.Time, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		s.eventually("the first probe", func() bool {
			asked := time.Now()
			return attempt(t.Context(), one, func() error {
				started <- asked
				<-dead // which is as if it never answered
				return nil
			})
		})
	})
	begun := <-started
	s.eventually("another probe", func() bool { return attempt(t.Context(), two, succeeds) })
	if waited := time.Since(begun); waited < openFor {
		t.Errorf("another probe after %v, want %v: the first one is not over", waited, openFor)
	}
	close(dead)
	wg.Wait()
}

// testResetEverywhere: an escalated breaker admits nothing until one process
// resets it for all.
func testResetEverywhere(t *testing.T, s *sharing) {
	p := breaker.Policy{Name: "server", Failures: 1, EscalateAfter: 2, OpenFor: 50 * time.Millisecond}
	one, two := s.breaker(p), s.breaker(p)
	attempt(t.Context(), one, fails)
	s.eventually("failed probes", func() bool { // one of a slow store may not count
		attempt(t.Context(), one, fails)
		return one.State() == breaker.Escalated
	})
	for _, b := range []*breaker.Breaker{one, two} {
		s.eventually("escalated", func() bool { return b.State() == breaker.Escalated })
	}
	two.Reset()
	s.eventually("closed again", func() bool { return one.State() == breaker.Closed })
}
