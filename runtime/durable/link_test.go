package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/shared"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// openMemory returns a function that opens one memory store for each folder.
func openMemory() durabletest.OpenShared {
	var mu sync.Mutex
	stores := map[string]*memory.Store{}
	return func(_ *testing.T, dir string) shared.Store {
		mu.Lock()
		defer mu.Unlock()
		if stores[dir] == nil {
			stores[dir] = memory.New()
		}
		return stores[dir]
	}
}

func TestBudgetConformance(t *testing.T)  { durabletest.RunBudget(t, openMemory()) }
func TestBreakerConformance(t *testing.T) { durabletest.RunBreaker(t, openMemory()) }

// A linked is a process with a shared budget and a shared breaker, which may lose
// its store.
type linked struct {
	budget  *shared.Budget
	breaker *breaker.Breaker
	conn    *shared.Connection
	store   *durabletest.Faulty

	mu     sync.Mutex
	events []events.Event
}

var (
	linkBudget  = budget.Policy{Name: "server", Burst: 16, Ratio: 0.5, MinPerSecond: 1}
	linkBreaker = breaker.Policy{Name: "server", Failures: 2, OpenFor: 10 * time.Second}
)

func connect(t *testing.T, s storage.Store) *linked {
	t.Helper()
	p := &linked{
		budget: shared.NewBudget(linkBudget), breaker: breaker.New(linkBreaker), store: durabletest.CrashAt(s, 0),
	}
	link := shared.Link{Store: p.store, OnEvent: func(_ context.Context, ev events.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, ev)
	}}
	var err error
	p.conn, err = link.Connect(t.Context(), shared.Set{
		Breakers: []*breaker.Breaker{p.breaker}, Budgets: []*shared.Budget{p.budget},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.conn.Close(context.Background()) }) // the store of some has failed
	return p
}

// drain takes all retries that it gets, and returns their number.
func (p *linked) drain() (n int) {
	for p.budget.Withdraw() == nil {
		n++
	}
	return n
}

// saw returns the first error that was reported for a name.
func (p *linked) saw(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ev := range p.events {
		if ev.Kind == events.EventStoreError && ev.Name == name {
			return ev.Err
		}
	}
	return nil
}

// TestLeaseOfDeadProcess: the part of a process that died counts as spent, and is
// filled again once its lease has ended.
func TestLeaseOfDeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		dying, other := connect(t, store), connect(t, store)
		if err := dying.budget.Withdraw(); err != nil {
			t.Fatal(err)
		}
		dying.store.Crash()
		if n := other.drain(); n != 8 {
			t.Errorf("%d retries, want the 8 that the dead process has not leased", n)
		}
		time.Sleep(25 * time.Second) // the lease goes on
		if n := other.drain(); n > 8 {
			t.Errorf("%d retries before the end of the lease, want at most the other half", n)
		}
		time.Sleep(60 * time.Second)
		if n := other.drain(); n != 16 {
			t.Errorf("%d retries after it, want the full 16", n)
		}
	})
}

// TestBudgetWithoutStore: while the store fails, a process spends what it has until
// the end of its lease, and then refuses retries with the error of the store.
func TestBudgetWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, memory.New())
		if err := p.budget.Withdraw(); err != nil {
			t.Fatal(err)
		}
		p.store.Crash()
		if err := p.budget.Withdraw(); err != nil {
			t.Errorf("within the lease: %v", err)
		}
		time.Sleep(31 * time.Second)
		err := p.budget.Withdraw()
		if !errors.Is(err, retry.ErrBudget) || !errors.Is(err, storage.ErrStore) {
			t.Errorf("after it: err = %v, want ErrBudget and ErrStore", err)
		}
		if err := p.saw("budget server"); !errors.Is(err, storage.ErrStore) {
			t.Errorf("event: %v, want ErrStore", err)
		}
		policy := retry.Policy{Name: "ping", RetryUnknown: true,
			Schedule: retry.Schedule{InitialDelay: time.Millisecond}}
		_, err = retry.DoWith(t.Context(), &policy, retry.Shared{Budget: p.budget}, func(context.Context) (int, error) {
			return 0, errDown
		})
		if !errors.Is(err, retry.ErrBudget) || !errors.Is(err, storage.ErrStore) || !errors.Is(err, errDown) {
			t.Errorf("the error of the call: %v, want the store's and its own", err)
		}
	})
}

// TestDepositsOfOthers: the successes of one process fill a budget that another
// one has spent.
func TestDepositsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		linkBudget := linkBudget
		linkBudget.MinPerSecond = budget.NoRefill
		link := shared.Link{Store: store}
		var budgets []*shared.Budget
		for range 2 {
			b := shared.NewBudget(linkBudget)
			c, err := link.Connect(t.Context(), shared.Set{Budgets: []*shared.Budget{b}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(t.Context())
			budgets = append(budgets, b)
		}
		for budgets[0].Withdraw() == nil {
		}
		time.Sleep(6 * time.Second) // the other one learns that the budget is not full
		for range 100 {
			budgets[1].Deposit()
		}
		time.Sleep(15 * time.Second) // it has given back what it had earned
		n := 0
		for budgets[0].Withdraw() == nil {
			n++
		}
		if n == 0 || n > 16 {
			t.Errorf("%d retries, want some, and at most 16", n)
		}
	})
}

// TestFullBudgetIsQuiet: nobody writes a budget that is full, and a success costs
// neither memory nor the store.
func TestFullBudgetIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		p := connect(t, store)
		if err := p.budget.Withdraw(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		key := storage.Key{Kind: storage.KindBudget, ID: "server"}
		before, err := store.Get(t.Context(), []storage.Key{key})
		if err != nil || before[0].Version == 0 {
			t.Fatalf("%v, %v", before, err)
		}
		time.Sleep(time.Minute)
		if after, err := store.Get(t.Context(), []storage.Key{key}); err != nil || after[0].Version != before[0].Version {
			t.Errorf("version %d after %d, %v: want no write", after[0].Version, before[0].Version, err)
		}
		if !p.budget.Full() || p.budget.Left() != 16 {
			t.Errorf("full %v, %g left; want a full budget of 16", p.budget.Full(), p.budget.Left())
		}
		if n := testing.AllocsPerRun(100, p.budget.Deposit); n != 0 {
			t.Errorf("%g allocations for a success", n)
		}
	})
}

// TestForgottenLease: if the store loses its records, the part of a process is
// void, and that is reported.
func TestForgottenLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		p := connect(t, store)
		if err := p.budget.Withdraw(); err != nil {
			t.Fatal(err)
		}
		key := storage.Key{Kind: storage.KindBudget, ID: "server"}
		err := store.Update(t.Context(), storage.Select{Keys: []storage.Key{key}}, func(storage.Tx) (storage.Writes, error) {
			return storage.Writes{Delete: []storage.Key{key}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		if err := p.saw("budget server"); !errors.Is(err, shared.ErrLeaseLost) {
			t.Errorf("event: %v, want ErrLeaseLost", err)
		}
		if n := p.drain(); n != 16 {
			t.Errorf("%d retries, want the 16 of the new record and none of the old part", n)
		}
	})
}

// TestBreakerWithoutStore: while the store fails, a breaker decides alone. It
// agrees with the others again once the store answers.
func TestBreakerWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		cut, other := connect(t, store), connect(t, store)
		call := func(p *linked, err error) (executed bool) {
			policy := retry.Policy{Name: "ping", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 1}}
			_, _ = retry.DoWith(t.Context(), &policy, retry.Shared{Breaker: p.breaker}, func(context.Context) (int, error) {
				executed = true
				return 0, err
			})
			return executed
		}
		cut.store.Crash()
		call(cut, errDown)
		call(cut, errDown)
		if call(cut, nil) {
			t.Error("an open breaker admits a call")
		}
		time.Sleep(time.Second)
		if other.breaker.State() != breaker.Closed {
			t.Error("the other process knows of it without the store")
		}
		if err := cut.saw("breaker server"); !errors.Is(err, storage.ErrStore) {
			t.Errorf("event: %v, want ErrStore", err)
		}
		time.Sleep(10 * time.Second)
		if !call(cut, nil) || cut.breaker.State() != breaker.Closed {
			t.Errorf("state %v, want a probe of its own to close it", cut.breaker.State())
		}
	})
}

// TestStepAndWrapperShare: a durable step and a plain call share one breaker and
// one budget.
func TestStepAndWrapperShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		p := connect(t, store)
		e := newEngine(t, store)
		s := genapi.StepPolicy{
			Name: "ping",
			Policy: &retry.Policy{Name: "ping", RetryUnknown: true,
				Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: time.Millisecond}},
			Breaker: &linkBreaker, Budget: &linkBudget,
		}
		if p.drain() != 16 {
			t.Error("the budget is not full at first")
		}
		calls := 0
		_ = e.Run(t.Context(), "one", func(ctx context.Context) error {
			for i := range 2 {
				_, err := genapi.Call(ctx, &s, genapi.ID(i), genapi.Digest{}, down(&calls))
				if want := []error{retry.ErrBudget, retry.ErrBreakerOpen}[i]; !errors.Is(err, want) {
					t.Errorf("step %d: err = %v, want %v", i, err, want)
				}
			}
			return nil
		})
		time.Sleep(2 * time.Second)
		if state := p.breaker.State(); calls != 2 || state != breaker.Open {
			t.Errorf("%d calls of the step, and the breaker of the wrapper is %v; want 2, open", calls, state)
		}
	})
}

// TestLogOfLink: the log names the budget whose store has failed.
func TestLogOfLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		store := durabletest.CrashAt(memory.New(), 0)
		link := shared.Link{Store: store, OnEvent: events.Log(slog.New(slog.NewTextHandler(&out, nil)))}
		b := shared.NewBudget(linkBudget)
		c, err := link.Connect(t.Context(), shared.Set{Budgets: []*shared.Budget{b}})
		if err != nil {
			t.Fatal(err)
		}
		store.Crash()
		_ = b.Withdraw() // reported
		if err := c.Close(t.Context()); !errors.Is(err, storage.ErrStore) {
			t.Errorf("Close: %v, want ErrStore: the part was not given back", err)
		}
		if text := out.String(); !strings.Contains(text, `level=ERROR msg="store error" name="budget server"`) {
			t.Errorf("the log does not name the budget:\n%s", text)
		}
	})
}

// forgetful is a store that many processes share and that survives nothing.
type forgetful struct{ *memory.Store }

func (forgetful) Guarantee() storage.Guarantee {
	return storage.Guarantee{Shared: storage.SharedByCluster}
}

func TestForgetfulStore(t *testing.T) {
	link := shared.Link{Store: forgetful{memory.New()}}
	if _, err := link.Connect(t.Context()); !errors.Is(err, shared.ErrForgetful) {
		t.Errorf("err = %v, want ErrForgetful", err)
	}
	link.Forgetful = true
	c, err := link.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConnectFails(t *testing.T) {
	store := durabletest.CrashAt(memory.New(), 0)
	store.Crash()
	b := shared.NewBudget(linkBudget)
	_, err := shared.Link{Store: store}.Connect(t.Context(), shared.Set{Budgets: []*shared.Budget{b}})
	if !errors.Is(err, storage.ErrStore) {
		t.Errorf("err = %v, want ErrStore", err)
	}
	if err := b.Withdraw(); !errors.Is(err, shared.ErrUnconnected) {
		t.Errorf("err = %v, want ErrUnconnected", fmt.Sprint(err))
	}
}
