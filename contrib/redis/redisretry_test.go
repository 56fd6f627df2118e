//go:build unix

package redisretry_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisretry "github.com/retrygen/retrygen/contrib/redis"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/shared"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestBudget(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	durabletest.RunBudget(t, func(_ *testing.T, dir string) shared.Store { return s.store(dir) })
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	durabletest.RunBreaker(t, func(_ *testing.T, dir string) shared.Store { return s.store(dir) })
}

// TestRate: two processes together start no more attempts than one rate would.
func TestRate(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := capacity.RatePolicy{Name: "partner", Events: 200, Burst: 10, MaxWait: time.Second}
	var started atomic.Int64
	var callers sync.WaitGroup
	begun := time.Now()
	for range 2 {
		rate := capacity.NewSharedRate(p)
		link := shared.Link{Store: s.store("rate"), Forgetful: true}
		conn, err := link.Connect(t.Context(), shared.Set{Rates: []*capacity.Rate{rate}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		for range 4 {
			callers.Go(func() {
				for range 25 {
					if err := rate.Wait(t.Context()); err != nil {
						t.Error(err)
					}
					started.Add(1)
				}
			})
		}
	}
	callers.Wait()
	most := float64(p.Burst) + time.Since(begun).Seconds()*float64(p.Events)
	if n := started.Load(); n != 200 || float64(n) > most {
		t.Errorf("%d attempts started in %v, which is more than %.0f", n, time.Since(begun), most)
	}
}

// TestWeakGuarantee: nobody takes a Store for one that keeps runs, and a link has to
// accept that it forgets.
func TestWeakGuarantee(t *testing.T) {
	store := startServer(t).store("test")
	if _, is := any(store).(storage.Store); is {
		t.Error("an engine would accept it")
	}
	g := store.Guarantee()
	if g.SurvivesProcess || g.SurvivesPower || g.SurvivesNode || g.Shared != storage.SharedByCluster {
		t.Errorf("%+v promises too much", g)
	}
	if _, err := (shared.Link{Store: store}).Connect(t.Context()); !errors.Is(err, shared.ErrForgetful) {
		t.Errorf("err = %v, want ErrForgetful", err)
	}
}

// TestRefused: what is not one breaker or ratio budget is refused, and not
// executed.
func TestRefused(t *testing.T) {
	s := startServer(t)
	store := s.store("test")
	s.do("SET", "test:budget::text", "x")
	s.do("HSET", "test:budget::hash", "version", "one", "body", "{}")
	decide := func(tx storage.Tx) (storage.Writes, error) { return storage.Writes{Put: tx.Records}, nil }
	for name, tt := range map[string]struct {
		sel    storage.Select
		decide func(storage.Tx) (storage.Writes, error)
		want   error
	}{
		"two records": {storage.Select{Keys: []storage.Key{budgetKey("a"), budgetKey("b")}}, decide, storage.ErrStore},
		"a query":     {storage.Select{Queries: []storage.Query{{Kind: storage.KindBudget}}}, decide, storage.ErrStore},
		"a step": {storage.Select{Keys: []storage.Key{{Kind: storage.KindStep, Run: "r", ID: "s"}}}, decide,
			storage.ErrStore},
		"the budget of a run": {
			storage.Select{Keys: []storage.Key{{Kind: storage.KindBudget, Run: "r"}}}, decide, storage.ErrStore,
		},
		"a string":       {storage.Select{Keys: []storage.Key{budgetKey("text")}}, decide, storage.ErrStore},
		"a foreign hash": {storage.Select{Keys: []storage.Key{budgetKey("hash")}}, decide, storage.ErrFormat},
		"a deletion": {storage.Select{Keys: []storage.Key{budgetKey("a")}}, func(tx storage.Tx) (storage.Writes, error) {
			return storage.Writes{Delete: []storage.Key{budgetKey("a")}}, nil
		}, storage.ErrStore},
		"history": {storage.Select{Keys: []storage.Key{budgetKey("a")}}, func(tx storage.Tx) (storage.Writes, error) {
			return storage.Writes{Add: []storage.Entry{{Step: budgetKey("a"), Attempt: 1}}}, nil
		}, storage.ErrStore},
		"an error of decide": {storage.Select{Keys: []storage.Key{budgetKey("a")}}, func(storage.Tx) (storage.Writes, error) {
			return storage.Writes{}, io.ErrNoProgress
		}, io.ErrNoProgress},
	} {
		if err := store.Update(t.Context(), tt.sel, tt.decide); !errors.Is(err, tt.want) {
			t.Errorf("%s: err = %v, want %v", name, err, tt.want)
		}
	}
	if records, err := store.Get(t.Context(), []storage.Key{budgetKey("a")}); err != nil || records[0].Version != 0 {
		t.Errorf("%+v, %v: want nothing written", records, err)
	}
	if _, err := store.Get(t.Context(), []storage.Key{{Kind: storage.KindRun, Run: "r"}}); !errors.Is(err,
		storage.ErrStore) {
		t.Errorf("Get of a run: err = %v, want ErrStore", err)
	}
}

// count adds a byte to a record, and returns the time of the update.
func count(ctx context.Context, store *redisretry.Store, key storage.Key) (now time.Time, err error) {
	err = store.Update(ctx, storage.Select{Keys: []storage.Key{key}}, func(tx storage.Tx) (storage.Writes, error) {
		now = tx.Now
		r := tx.Records[0]
		r.Body = append(r.Body[:len(r.Body):len(r.Body)], 'x')
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
	return now, err
}

// TestNoLostUpdate: 8 clients that update one record see all updates of the others.
func TestNoLostUpdate(t *testing.T) {
	s := startServer(t)
	var wg sync.WaitGroup
	for range 8 {
		store := s.store("test")
		wg.Go(func() {
			for range 25 {
				if _, err := count(t.Context(), store, budgetKey("n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	records, err := s.store("test").Get(t.Context(), []storage.Key{budgetKey("n")})
	if err != nil || len(records[0].Body) != 8*25 {
		t.Errorf("%d updates are left, %v; want %d", len(records[0].Body), err, 8*25)
	}
}

// TestClockOfServer: the time of an update is that of the server.
func TestClockOfServer(t *testing.T) {
	s := startServer(t)
	store, client := s.store("test"), s.client()
	before, err := client.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	now, err := count(t.Context(), store, budgetKey("n"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := client.Time(t.Context()).Result()
	if err != nil || now.Before(before) || now.After(after) {
		t.Errorf("%v, %v; want between %v and %v", now, err, before, after)
	}
}

// A lossy is a hook that loses replies of a script that has been executed.
type lossy struct {
	mu    sync.Mutex
	after int // scripts that are answered before
	lose  int // scripts whose reply is lost then
}

func (l *lossy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lossy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		l.mu.Lock()
		defer l.mu.Unlock()
		if script := cmd.Name() == "evalsha" || cmd.Name() == "eval"; err != nil || !script {
			return err // NOSCRIPT, or a command that begins a connection
		}
		if l.after--; l.after >= 0 || l.lose == 0 {
			return nil
		}
		l.lose--
		cmd.SetErr(io.EOF)
		return io.EOF
	}
}

// TestLostReply: a write whose reply is lost is repeated, and counts once. If no
// reply ever comes, it may have been made.
func TestLostReply(t *testing.T) {
	s := startServer(t)
	for _, tt := range []struct {
		lose int
		want error
	}{{2, nil}, {100, storage.ErrUnknown}} {
		client := s.client()
		client.AddHook(&lossy{after: 1, lose: tt.lose}) // the read is answered
		key := budgetKey("lost")
		s.do("DEL", "test:budget::lost")
		if _, err := count(t.Context(), s.storeOf(client, "test"), key); !errors.Is(err, tt.want) {
			t.Errorf("%d replies lost: err = %v, want %v", tt.lose, err, tt.want)
		}
		records, err := s.store("test").Get(t.Context(), []storage.Key{key})
		if err != nil || string(records[0].Body) != "x" {
			t.Errorf("%d replies lost: body %q, %v; want one update", tt.lose, records[0].Body, err)
		}
	}
}

// A process has a breaker and a budget on a server.
type process struct {
	budget  *shared.Budget
	breaker *breaker.Breaker

	mu     sync.Mutex
	events []error
}

func (s *server) connect() *process {
	s.t.Helper()
	p := &process{
		budget:  shared.NewBudget(budget.Policy{Name: "server", Burst: 20, MinPerSecond: budget.NoRefill}),
		breaker: breaker.New(breaker.Policy{Name: "server", Failures: 1, OpenFor: time.Hour}),
	}
	link := shared.Link{Store: s.store("test"), Forgetful: true, OnEvent: func(_ context.Context, ev events.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, ev.Err)
	}}
	c, err := link.Connect(s.t.Context(), shared.Set{
		Breakers: []*breaker.Breaker{p.breaker}, Budgets: []*shared.Budget{p.budget},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close(context.Background()) }) // the server of some is dead
	return p
}

// saw reports whether an error was reported.
func (p *process) saw(want error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, err := range p.events {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

// fail makes a call that fails, and reports whether it was executed.
func (p *process) fail(ctx context.Context) (executed bool) {
	policy := retry.Policy{Name: "ping", Schedule: retry.Schedule{MaxAttempts: 1}}
	_, _ = retry.DoWith(ctx, &policy, retry.Shared{Breaker: p.breaker}, func(context.Context) (int, error) {
		executed = true
		return 0, errors.New("connection refused")
	})
	return executed
}

// TestServerKilled: without the server, a budget spends its part and then refuses
// with the error of the store, and a breaker decides alone. When an empty server is
// back, the old part is void, and both are shared again.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	one, two := s.connect(), s.connect()
	if err := one.budget.Withdraw(); err != nil {
		t.Fatal(err)
	}
	s.kill()
	spent := 1
	var err error
	for err = one.budget.Withdraw(); err == nil; err = one.budget.Withdraw() {
		spent++
	}
	if spent > 20 || !errors.Is(err, retry.ErrBudget) || !errors.Is(err, storage.ErrStore) {
		t.Errorf("%d retries, then %v; want at most 20, then ErrBudget and ErrStore", spent, err)
	}
	if !one.fail(t.Context()) || one.fail(t.Context()) {
		t.Error("without the server, the breaker does not open for its process")
	}
	s.eventually("the failure is reported", func() bool { return one.saw(storage.ErrStore) && two.saw(storage.ErrStore) })
	if two.breaker.State() != breaker.Closed {
		t.Errorf("the other breaker is %v without the server", two.breaker.State())
	}
	s.start()
	s.eventually("the other breaker opens", func() bool { return two.breaker.State() == breaker.Open })
	s.eventually("retries again", func() bool { return one.budget.Withdraw() == nil })
}

// TestFlushed: after FLUSHALL and SCRIPT FLUSH, leases are void, which is reported,
// and breakers are closed.
func TestFlushed(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	one, two := s.connect(), s.connect()
	if err := one.budget.Withdraw(); err != nil {
		t.Fatal(err)
	}
	one.fail(t.Context())
	s.eventually("open", func() bool { return two.breaker.State() == breaker.Open })
	s.do("FLUSHALL")
	s.do("SCRIPT", "FLUSH")
	s.eventually("closed", func() bool {
		return one.breaker.State() == breaker.Closed && two.breaker.State() == breaker.Closed
	})
	s.eventually("the loss is reported", func() bool { return one.saw(shared.ErrLeaseLost) })
	spent := 0
	for _, p := range []*process{one, two} {
		for p.budget.Withdraw() == nil {
			spent++
		}
	}
	if spent != 20 {
		t.Errorf("%d retries after the loss, want the 20 of a new budget", spent)
	}
}

// TestServerHangs: a server that is stopped delays a retry by a second, and the
// next ones not at all.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := s.connect()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for range 100 {
		if err := p.budget.Withdraw(); !errors.Is(err, retry.ErrBudget) {
			t.Fatalf("err = %v, want ErrBudget", err)
		}
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("100 retries were refused after %v, want about a second", took)
	}
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.eventually("retries again", func() bool { return p.budget.Withdraw() == nil })
}

// TestContextTimeout: a client that ignores contexts is refused.
func TestContextTimeout(t *testing.T) {
	for _, c := range []redis.UniversalClient{
		redis.NewClient(&redis.Options{}), redis.NewClusterClient(&redis.ClusterOptions{}),
		redis.NewRing(&redis.RingOptions{}),
	} {
		if _, err := redisretry.New(c, "test"); err == nil {
			t.Errorf("%T is accepted", c)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoMemory: a server that refuses writes makes a budget refuse retries, with
// the reason.
func TestNoMemory(t *testing.T) {
	s := startServer(t)
	p := s.connect()
	s.do("CONFIG", "SET", "maxmemory", "1")
	err := p.budget.Withdraw()
	if !errors.Is(err, retry.ErrBudget) || !errors.Is(err, storage.ErrStore) || errors.Is(err, storage.ErrUnknown) {
		t.Errorf("err = %v, want ErrBudget and ErrStore", err)
	}
	s.do("CONFIG", "SET", "maxmemory", "0")
	s.eventually("retries again", func() bool { return p.budget.Withdraw() == nil })
}
