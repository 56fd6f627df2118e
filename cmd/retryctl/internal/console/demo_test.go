package console

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/contrib/recovery"
	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// The demo is a store whose runs were executed by engines, over a day that ends now:
// in a bubble of synctest, on a store in memory whose clock is that of the day. Its
// records are then copied to SQLite.

// demoDay is the time that the demo covers.
const demoDay = 24 * time.Hour

// A shifted is a store with another clock.
type shifted struct {
	storage.Store
	by time.Duration
}

func (s shifted) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	return s.Store.Update(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
		tx.Now = tx.Now.Add(s.by)
		return decide(tx)
	})
}

// demo returns the store of the demo in a file, and the folder of its receipts.
func demo(t testing.TB) (store *sqlite.Store, receipts string) {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "demo.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	data := day(t.(*testing.T), time.Now().Round(time.Microsecond))
	for page := range slices.Chunk(data.records, 200) {
		write(t, store, page, data.entries)
	}
	receipts = t.TempDir()
	agent(t, store, receipts)
	return store, receipts
}

// write copies records, with their entries.
func write(
	t testing.TB, store storage.Store, records []storage.Record, entries map[storage.Key][]storage.Entry,
) {
	t.Helper()
	var keys []storage.Key
	var w storage.Writes
	for _, r := range records {
		keys = append(keys, r.Key)
		r.Version = 0
		w.Put = append(w.Put, r)
		w.Add = append(w.Add, entries[r.Key]...)
	}
	err := store.Update(t.Context(), storage.Select{Keys: keys}, func(storage.Tx) (storage.Writes, error) {
		return w, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dayData is what a store contains.
type dayData struct {
	records []storage.Record
	entries map[storage.Key][]storage.Entry
}

// read reads a store.
func read(ctx context.Context, store storage.Store) (*dayData, error) {
	d := &dayData{entries: map[storage.Key][]storage.Entry{}}
	for kind := storage.KindRun; kind <= storage.KindBreaker; kind++ {
		for q := (storage.Query{Kind: kind}); ; {
			records, next, err := store.List(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, r := range records {
				d.records = append(d.records, r)
				entries, _, err := store.History(ctx, r.Key, "")
				if err != nil {
					return nil, err
				}
				d.entries[r.Key] = entries
			}
			if q.From = next; next == "" {
				break
			}
		}
	}
	return d, nil
}

// Policies of the demo.
var (
	chargePolicy = retry.Policy{
		Name: "charge", RetryUnknown: true, AttemptTimeout: 20 * time.Second,
		Schedule: retry.Schedule{MaxAttempts: 5, InitialDelay: 4 * time.Second, MaxDelay: time.Minute},
	}
	mailPolicy = retry.Policy{Name: "mail", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: 2 * time.Second}}
	bankPolicy = retry.Policy{
		Name: "bank", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 8, InitialDelay: 45 * time.Minute, MaxDelay: 4 * time.Hour},
	}
	postPolicy = retry.Policy{Name: "post", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 2}}

	charge = genapi.StepPolicy{
		Name: "Payments.Charge", Policy: &chargePolicy, Idempotent: true, OnExhausted: genapi.ExhaustedDeadLetter,
		Breaker: &breaker.Policy{Name: "bank", Failures: 12, OpenFor: 10 * time.Minute},
	}
	mail = genapi.StepPolicy{
		Name: "Mail.Receipt", Policy: &mailPolicy, Idempotent: true, OnExhausted: genapi.ExhaustedDeadLetter,
		Budget: &budget.Policy{Name: "mail", Burst: 40, Ratio: 0.2, MinPerSecond: 0.01},
	}
	transfer = genapi.StepPolicy{Name: "Bank.Transfer", Policy: &bankPolicy, ParkAfter: time.Minute}
	once     = genapi.StepPolicy{Name: "Ledger.Post", Policy: &postPolicy}
)

// An attempt is what one attempt of the demo does.
type attempt struct {
	takes time.Duration
	err   error
}

var (
	errBusy    = errors.New("503 Service Unavailable: the bank is busy, try again later")
	errRefused = errors.New("dial tcp 10.2.0.7:443: connect: connection refused")
	errInvalid = errors.New("validation: the account of the customer is closed")
	errMail    = errors.New("550 5.1.1 no such mailbox")
)

// call calls a step whose attempts do what is given, the last one again and again.
func call(ctx context.Context, s *genapi.StepPolicy, id any, attempts ...attempt) error {
	_, err := genapi.Call(ctx, s, genapi.ID(id), genapi.Arguments("id", id), func(ctx context.Context) (string, error) {
		info, _ := durable.Current(ctx)
		a := attempts[min(info.Attempt, len(attempts))-1]
		select {
		case <-time.After(a.takes):
			return "receipt", a.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	return err
}

// day executes the runs of the demo.
func day(t *testing.T, end time.Time) (data *dayData) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		memory := memory.New()
		store := shifted{memory, end.Sub(begin.Add(demoDay))}
		until := func(before time.Duration) { time.Sleep(time.Until(begin.Add(demoDay - before))) }
		e := engine(t, store)
		ctx, cancel := context.WithCancel(t.Context())
		orders(ctx, e, begin)
		until(50 * time.Minute)
		imports(ctx, e)
		until(30 * time.Minute)
		_ = e.Run(ctx, "transfer-2214", func(ctx context.Context) error {
			return call(ctx, &transfer, "2214", attempt{3 * time.Second, errBusy})
		})
		_ = e.Run(ctx, "transfer-2215", func(ctx context.Context) error {
			return call(ctx, &transfer, "2215", attempt{2 * time.Second, errRefused})
		})
		doubt(t, store)
		if err := e.Admin().Pause(ctx, "transfer-2215", admin.By("ada", "the bank has announced maintenance")); err != nil {
			t.Error(err)
		}
		until(6 * time.Minute)
		var running sync.WaitGroup
		settle(t, store)
		running.Go(func() {
			_ = e.Run(ctx, "settle-today", settlement)
		})
		until(0)
		synctest.Wait()
		var err error
		if data, err = read(ctx, memory); err != nil {
			t.Error(err)
		}
		cancel()
		running.Wait()
	})
	return data
}

func engine(t testing.TB, store storage.Store) *durable.Engine {
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// orders executes a run every few minutes.
func orders(ctx context.Context, e *durable.Engine, begin time.Time) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	for i := 0; time.Since(begin) < demoDay-time.Hour; i++ {
		var steps []func(ctx context.Context) error
		for n := range 1 + random.IntN(4) {
			id := fmt.Sprint(1000+i, "-", n)
			attempts := []attempt{{200*time.Millisecond + some(2*time.Second), nil}}
			for range max(0, random.IntN(9)-5) {
				attempts = append([]attempt{{some(5 * time.Second), errBusy}}, attempts...)
			}
			if random.IntN(40) == 0 {
				attempts = []attempt{{some(4 * time.Second), []error{errRefused, errBusy, errInvalid}[random.IntN(3)]}}
			}
			steps = append(steps, func(ctx context.Context) error { return call(ctx, &charge, id, attempts...) })
		}
		wrong := random.IntN(60) == 0
		steps = append(steps, func(ctx context.Context) error {
			if wrong {
				return call(ctx, &mail, i, attempt{time.Second, errMail})
			}
			return call(ctx, &mail, i, attempt{some(time.Second), nil})
		})
		id := fmt.Sprintf("order/%04d", 1000+i)
		_ = e.Run(ctx, id, func(ctx context.Context) (err error) {
			for _, step := range steps {
				err = errors.Join(err, step(ctx))
			}
			if random.IntN(8) == 0 {
				return err
			}
			return nil
		})
		time.Sleep(5*time.Minute + some(8*time.Minute))
	}
}

// settlement is the run of the timeline.
func settlement(ctx context.Context) error {
	charges := [][]attempt{
		{{3 * time.Second, nil}}, {{2 * time.Second, nil}}, {{4 * time.Second, errBusy}, {2 * time.Second, nil}},
		{{2 * time.Second, nil}},
		{{20 * time.Second, errBusy}, {6 * time.Second, errBusy}, {5 * time.Second, nil}},
		{{25 * time.Second, nil}, {4 * time.Second, nil}},
		{{3 * time.Second, nil}},
		{{12 * time.Second, nil}, {7 * time.Second, nil}},
		{{2 * time.Second, errInvalid}},
		{
			{6 * time.Second, errRefused}, {6 * time.Second, errRefused}, {6 * time.Second, errRefused},
			{3 * time.Second, nil},
		},
		{{2 * time.Second, nil}}, {{3 * time.Second, nil}},
		{{time.Hour, nil}},
	}
	_, err := durable.Step(ctx, "open-orders", nil, func(context.Context) (int, error) {
		time.Sleep(2 * time.Second)
		return len(charges), nil
	})
	if err != nil {
		return err
	}
	for i, attempts := range charges {
		if err := call(ctx, &charge, 4100+i, attempts...); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// settle executes the settlement in a process that dies, so that an attempt is lost.
func settle(t *testing.T, store storage.Store) {
	faulty := durabletest.CrashAt(store, 0)
	ctx, cancel := faulty.Context(t.Context())
	defer cancel()
	time.AfterFunc(97*time.Second, faulty.Crash)
	_ = engine(t, faulty).Run(ctx, "settle-today", settlement)
	time.Sleep(35 * time.Second)
}

// doubt executes a step that is not idempotent in a process that dies.
func doubt(t *testing.T, store storage.Store) {
	faulty := durabletest.CrashAt(store, 0)
	ctx, cancel := faulty.Context(t.Context())
	defer cancel()
	time.AfterFunc(10*time.Second, faulty.Crash)
	post := func(ctx context.Context) error { return call(ctx, &once, "2026-11", attempt{time.Minute, nil}) }
	_ = engine(t, faulty).Run(ctx, "ledger-close", post)
	time.Sleep(time.Minute)
	_ = engine(t, store).Run(t.Context(), "ledger-close", post)
}

// imports executes a group.
func imports(ctx context.Context, e *durable.Engine) {
	var shards []string
	for i := range 40 {
		shards = append(shards, fmt.Sprintf("shard-%02d", i))
	}
	policy := job.GroupPolicy{
		Name: "copy", Workers: 8, OnUnitFailure: job.FailureDeadLetter, MaxFailures: 10,
		Budget: &job.BudgetPolicy{Retries: 60, PerUnit: 4},
	}
	_ = e.Run(ctx, "import-7", func(ctx context.Context) error {
		_, err := durable.Group(ctx, job.NewGroup(policy, "import-7"), shards,
			func(ctx context.Context, unit string) (int, error) {
				i := int(unit[len(unit)-1] - '0')
				attempts := []attempt{{time.Duration(2+i) * time.Second, nil}}
				switch {
				case unit == "shard-17" || unit == "shard-31":
					attempts = []attempt{{3 * time.Second, errRefused}}
				case i%3 == 0:
					attempts = append([]attempt{{2 * time.Second, errBusy}}, attempts...)
				}
				return 1, call(ctx, &genapi.StepPolicy{Name: "copy-shard", Policy: &mailPolicy, Idempotent: true},
					unit, attempts...)
			}, nil)
		return err
	})
}

// agent executes a run whose step is timed out, with a receipt, on the real clock.
func agent(t testing.TB, store storage.Store, receipts string) {
	t.Helper()
	s := genapi.StepPolicy{Name: "implement", Idempotent: true, Policy: &retry.Policy{
		Name: "agent_step", AttemptTimeout: 40 * time.Millisecond, Scope: "step", Capture: true,
		Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: 20 * time.Millisecond},
	}}
	r := &recovery.Recorder{
		Base: receipts, Run: "agent-run-12", Flow: "build",
		Changes: func(context.Context) ([]string, error) { return []string{"src/auth.go", "src/auth_test.go"}, nil },
	}
	r.Checkpoint("plan")
	ctx := r.Begin(t.Context(), recovery.Step{
		ID: "implement", Agent: "code-implementer",
		Progress: func() (recovery.Phase, string) { return recovery.PhaseWork, "writing tests" },
		Artifacts: func(context.Context) ([]recovery.Artifact, error) {
			return []recovery.Artifact{{Path: "RUN_BASE/build/impl_changes.md", BytesWritten: 4096}}, nil
		},
	})
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	err = e.Run(ctx, "agent-run-12", func(ctx context.Context) error {
		return call(ctx, &s, "auth", attempt{time.Hour, nil}, attempt{5 * time.Millisecond, nil})
	})
	if err := errors.Join(err, e.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(receipts, "build")); err != nil {
		t.Fatal(err)
	}
}
