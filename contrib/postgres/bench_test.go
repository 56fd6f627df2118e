package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// payload is the body of the records of benchmarks: 265 bytes.
var payload = bytes.Repeat([]byte(`{"policy":"charge","failed":1,"lost":0,"waited":"2s"}`), 5)

// benchURL returns the URL of a database whose commits wait for the disk.
func benchURL(b *testing.B) string {
	return pgtest.Start(b, "fsync=on").URL(b)
}

// times are durations of one operation.
type times []time.Duration

// median returns the median in microseconds.
func (t times) median() float64 {
	slices.Sort(t)
	return float64(t[len(t)/2].Nanoseconds()) / 1000
}

// BenchmarkUpdate inserts a row by hand and updates a step in turns, so that both
// meet with the same load. It reports the medians and their ratios: of a record that
// is inserted, as the start of an attempt, and of one that is updated with an entry,
// as its end. Both lock the record of the run, too.
func BenchmarkUpdate(b *testing.B) {
	url := benchURL(b)
	store := open(b, url)
	ctx := b.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE TABLE raw (id bigint PRIMARY KEY, body bytea NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	put(b, store, storage.Record{Key: runKey("run"), Bucket: month, Body: payload})
	var raws, starts, ends times
	for i := 0; b.Loop(); i++ {
		step := stepKey(fmt.Sprintf("Payments.Charge/%08d", i))
		begin := time.Now()
		if _, err := conn.Exec(ctx, "INSERT INTO raw VALUES ($1, $2)", i, payload); err != nil {
			b.Fatal(err)
		}
		raws = append(raws, time.Since(begin))
		r := storage.Record{
			Key: step, Status: storage.StatusExecuting, Fence: 1, Attention: true, Bucket: month, Body: payload,
		}
		begin = time.Now()
		write(b, store, storage.Writes{Put: []storage.Record{r}}, runKey("run"), step)
		starts = append(starts, time.Since(begin))
		r.Status, r.Attention = storage.StatusSucceeded, false
		begin = time.Now()
		write(b, store, storage.Writes{Put: []storage.Record{r}, Add: []storage.Entry{
			{Step: step, Attempt: 1, At: month, Bucket: month, Body: payload},
		}}, runKey("run"), step)
		ends = append(ends, time.Since(begin))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(raws.median(), "insert-µs")
	b.ReportMetric(starts.median(), "start-µs")
	b.ReportMetric(ends.median(), "end-µs")
	b.ReportMetric(starts.median()/raws.median(), "start-ratio")
	b.ReportMetric(ends.median()/raws.median(), "end-ratio")
}

// write writes w, for which it locks keys.
func write(b *testing.B, store *postgres.Store, w storage.Writes, keys ...storage.Key) {
	err := store.Update(b.Context(), storage.Select{Keys: keys},
		func(storage.Tx) (storage.Writes, error) { return w, nil })
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCallers executes steps: one caller, and 64 callers with a run each, whose
// updates share transactions because they have one engine, or do not because each
// has its own.
func BenchmarkCallers(b *testing.B) {
	url := benchURL(b)
	for _, test := range []struct {
		name             string
		callers, engines int
	}{{"one", 1, 1}, {"shared", 64, 1}, {"alone", 64, 64}} {
		b.Run(test.name, func(b *testing.B) {
			store := open(b, url, postgres.Schema(fmt.Sprint(test.name, b.N)))
			engines := make([]*durable.Engine, test.engines)
			for i := range engines {
				var err error
				if engines[i], err = durable.New(store); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			steps(b, engines, test.callers)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
			for _, e := range engines {
				if err := e.Close(b.Context()); err != nil {
					b.Error(err)
				}
			}
		})
	}
}

// steps executes b.N steps in runs of several callers.
func steps(b *testing.B, engines []*durable.Engine, callers int) {
	var next atomic.Int64
	var all sync.WaitGroup
	step := func(context.Context) (string, error) { return string(payload), nil }
	for c := range callers {
		all.Go(func() {
			run := func(ctx context.Context) error {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					if _, err := durable.Step(ctx, strconv.FormatInt(i, 10), &retry.Policy{}, step); err != nil {
						return err
					}
				}
				return nil
			}
			if err := engines[c%len(engines)].Run(b.Context(), fmt.Sprint("bench-", c), run); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}

// BenchmarkBudget: 64 callers execute steps whose first attempts fail, and take a
// grant from one budget for the second. In an engine their updates share
// transactions; alone, the same updates queue for the record of the budget. Not one
// grant is lost or given twice.
func BenchmarkBudget(b *testing.B) {
	const callers = 64
	url := benchURL(b)
	b.Run("shared", func(b *testing.B) {
		engine, err := durable.New(open(b, url, postgres.Schema(fmt.Sprint("shared", b.N))))
		if err != nil {
			b.Fatal(err)
		}
		grants := (b.N + 1) / 2
		var next, retries, refused atomic.Int64
		policy := retry.Policy{Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: retry.None}}
		step := func(ctx context.Context) (string, error) {
			if retry.AttemptNumber(ctx) == 1 {
				return "", errors.New(string(payload[:100]))
			}
			retries.Add(1)
			return string(payload), nil
		}
		b.ResetTimer()
		err = engine.Run(b.Context(), "bench", func(ctx context.Context) error {
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						_, err := durable.Step(ctx, strconv.FormatInt(i, 10), &policy, step)
						if errors.Is(err, job.ErrBudget) {
							refused.Add(1)
						} else if err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			return nil
		}, durable.Budget(job.BudgetPolicy{Retries: grants, PerUnit: 1, MaxRetries: retry.Unlimited}))
		b.StopTimer()
		if err != nil || retries.Load() != int64(grants) || refused.Load() != int64(b.N-grants) {
			b.Errorf("got %d retries, %d refusals and error %v, want %d grants", retries.Load(), refused.Load(), err, grants)
		}
		b.ReportMetric(float64(2*b.N+2*grants)/b.Elapsed().Seconds(), "updates/s")
		if err := engine.Close(b.Context()); err != nil {
			b.Error(err)
		}
	})
	b.Run("alone", func(b *testing.B) {
		store := open(b, url, postgres.Schema(fmt.Sprint("alone", b.N)))
		run := runKey("bench")
		budget := storage.Key{Kind: storage.KindBudget, Space: "test", Run: "bench"}
		put(b, store, storage.Record{Key: run, Bucket: month})
		var next atomic.Int64
		var all sync.WaitGroup
		b.ResetTimer()
		for range callers {
			all.Go(func() {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					twoAttempts(b, store, run, stepKey(strconv.FormatInt(i, 10)), budget)
				}
			})
		}
		all.Wait()
		b.StopTimer()
		if got := number(get(b, store, budget)); got != b.N {
			b.Errorf("got %d grants, want %d", got, b.N)
		}
		b.ReportMetric(float64(4*b.N)/b.Elapsed().Seconds(), "updates/s")
	})
}

// twoAttempts makes the updates of a step whose first attempt fails.
func twoAttempts(b *testing.B, store *postgres.Store, run, step, budget storage.Key) {
	r := storage.Record{Key: step, Attention: true, Bucket: month, Body: payload}
	for attempt := 1; attempt <= 2; attempt++ {
		r.Status = storage.StatusExecuting
		write(b, store, storage.Writes{Put: []storage.Record{r}}, run, step)
		keys := []storage.Key{run, step, budget}
		err := store.Update(b.Context(), storage.Select{Keys: keys}, func(tx storage.Tx) (storage.Writes, error) {
			r.Status = storage.StatusSucceeded
			w := storage.Writes{Put: []storage.Record{r}, Add: []storage.Entry{
				{Step: step, Attempt: attempt, At: tx.Now, Bucket: month, Body: payload},
			}}
			if attempt == 1 {
				taken := tx.Records[2]
				taken.Bucket, taken.Body = month, strconv.AppendInt(nil, int64(number(taken)+1), 10)
				w.Put = append(w.Put, taken)
			}
			return w, nil
		})
		if err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkResume resumes a run with finished steps.
func BenchmarkResume(b *testing.B) { durabletest.BenchmarkResume(b, open(b, benchURL(b)), 100_000) }

// BenchmarkExpire deletes ended runs: jobs that are their own step, and runs with steps.
func BenchmarkExpire(b *testing.B) {
	for _, steps := range []int{0, 3} {
		b.Run(fmt.Sprint("steps=", steps), func(b *testing.B) {
			durabletest.BenchmarkExpire(b, open(b, benchURL(b)), steps)
		})
	}
}
