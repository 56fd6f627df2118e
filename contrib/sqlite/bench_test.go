//go:build unix

package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// payload is the body of the records of benchmarks: 265 bytes.
var payload = bytes.Repeat([]byte(`{"policy":"charge","failed":1,"lost":0,"waited":"2s"}`), 5)

// times are durations of one operation.
type times []time.Duration

// median returns the median in microseconds.
func (t times) median() float64 {
	slices.Sort(t)
	return float64(t[len(t)/2].Nanoseconds()) / 1000
}

// A raw connection does the same work by hand: begin, upsert, commit, with the
// schema and settings of a store.
type raw struct{ begin, upsert, commit *sql.Stmt }

func newRaw(b *testing.B) raw {
	path := filepath.Join(b.TempDir(), "raw.db")
	filled(b, path, 1)
	conn := other(b, path)
	execute(b, conn, "PRAGMA synchronous = FULL")
	prepare := func(text string) *sql.Stmt {
		statement, err := conn.PrepareContext(context.Background(), text)
		if err != nil {
			b.Fatal(err)
		}
		return statement
	}
	return raw{prepare("BEGIN IMMEDIATE"), prepare(`
INSERT INTO retry_record (kind, space, run, id, version, status, fence, handler, attention, bucket, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET version = excluded.version, status = excluded.status, fence = excluded.fence,
	handler = excluded.handler, attention = excluded.attention, bucket = excluded.bucket, body = excluded.body`),
		prepare("COMMIT")}
}

func (r raw) write(b *testing.B, id string) {
	_, err := r.begin.Exec()
	if err == nil {
		_, err = r.upsert.Exec(4, "test", "run", id, 1, 3, 1, "", 0, 0, string(payload))
	}
	if err == nil {
		_, err = r.commit.Exec()
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkUpdate writes a new record by hand and by Update, in turns, so that
// both meet with the same load. It reports the medians and their ratio.
func BenchmarkUpdate(b *testing.B) {
	byHand, store := newRaw(b), newStore(b)
	var raws, updates times
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprintf("Payments.Charge/%08d", i)
		begin := time.Now()
		byHand.write(b, id)
		middle := time.Now()
		put(b, store, storage.Record{Key: stepKey(id), Status: storage.StatusExecuting, Fence: 1, Body: payload})
		raws, updates = append(raws, middle.Sub(begin)), append(updates, time.Since(middle))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(raws.median(), "raw-µs")
	b.ReportMetric(updates.median(), "update-µs")
	b.ReportMetric(updates.median()/raws.median(), "ratio")
}

// BenchmarkCallers executes steps of one engine, whose records one caller or 64
// write: those of concurrent callers share transactions.
func BenchmarkCallers(b *testing.B) {
	step := func(context.Context) (string, error) { return string(payload), nil }
	for _, callers := range []int{1, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			engine, err := durable.New(newStore(b))
			if err != nil {
				b.Fatal(err)
			}
			var next atomic.Int64
			err = engine.Run(b.Context(), "bench", func(ctx context.Context) error {
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							_, err := durable.Step(ctx, strconv.FormatInt(i, 10), nil, step)
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
			if err := engine.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkRepeat updates a record to what it is.
func BenchmarkRepeat(b *testing.B) {
	store := newStore(b)
	r := storage.Record{Key: stepKey("a"), Body: payload}
	for b.Loop() {
		put(b, store, r)
	}
}

// BenchmarkGet reads one of 10,000 records.
func BenchmarkGet(b *testing.B) {
	store := newStore(b)
	fill(b, store, 10_000)
	for i := 0; b.Loop(); i++ {
		get(b, store, stepKey(fmt.Sprintf("%08d", i%10_000)))
	}
}

// BenchmarkList reads 10,000 records in pages of 1,000.
func BenchmarkList(b *testing.B) {
	store := newStore(b)
	fill(b, store, 10_000)
	for b.Loop() {
		n := 0
		q := storage.Query{Kind: storage.KindStep, Space: "test", Run: "run"}
		for more := true; more; more = q.From != "" {
			page, next, err := store.List(b.Context(), q)
			if err != nil {
				b.Fatal(err)
			}
			n, q.From = n+len(page), next
		}
		if n != 10_000 {
			b.Fatalf("%d records", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/record")
}

func fill(b *testing.B, store storage.Store, n int) {
	var records []storage.Record
	for i := range n {
		records = append(records, storage.Record{Key: stepKey(fmt.Sprintf("%08d", i)), Body: payload})
	}
	for chunk := range slices.Chunk(records, 1000) {
		put(b, store, chunk...)
	}
}

// childLoad writes records from several goroutines and prints the longest wait
// in milliseconds.
func childLoad(args []string) {
	store := must1(sqlite.Open(args[0]))
	callers, updates := must1(strconv.Atoi(args[2])), must1(strconv.Atoi(args[3]))
	fmt.Println("ready")
	waitForLine()
	var mu sync.Mutex
	var longest time.Duration
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for j := range updates {
				begin := time.Now()
				must(within(store, time.Minute, storage.Record{
					Key: stepKey(fmt.Sprintf("%s-%d-%d", args[1], i, j)), Status: storage.StatusExecuting, Body: payload,
				}))
				mu.Lock()
				longest = max(longest, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	fmt.Println(longest.Microseconds())
}

// BenchmarkProcesses lets four processes write to one database, with one caller
// each, and reports the longest wait of a caller.
func BenchmarkProcesses(b *testing.B) {
	const updates = 2000 // of a process
	var longest float64
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "state.db")
		filled(b, path, 1)
		var running []*process
		for i := range 4 {
			p := start(b, "load", path, fmt.Sprint(i), "1", fmt.Sprint(updates))
			p.expect("ready")
			running = append(running, p)
		}
		for _, p := range running {
			p.send()
		}
		for _, p := range running {
			wait, err := strconv.Atoi(p.line())
			if err != nil {
				b.Fatal(err)
			}
			longest = max(longest, float64(wait)/1000)
		}
	}
	b.ReportMetric(longest, "longest-ms")
	b.ReportMetric(4*updates*float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

// BenchmarkWork executes b.N runs with a trivial function by one worker, which
// claims them.
func BenchmarkWork(b *testing.B) {
	for _, slots := range []int{1, 16, 64} {
		b.Run(strconv.Itoa(slots), func(b *testing.B) {
			engine, err := durable.New(newStore(b))
			if err != nil {
				b.Fatal(err)
			}
			defer engine.Close(b.Context())
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var left atomic.Int64
			left.Store(int64(b.N))
			durable.Handle(engine, "count", func(context.Context, int) (int, error) {
				if left.Add(-1) == 0 {
					cancel()
				}
				return 0, nil
			})
			var all sync.WaitGroup
			for first := range 64 {
				all.Go(func() {
					for i := first; i < b.N; i += 64 {
						if err := durable.Start(b.Context(), engine, "count", fmt.Sprintf("run-%08d", i), i); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ResetTimer()
			if err := engine.Work(ctx, durable.MaxRuns(slots)); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// BenchmarkResume resumes a run with finished steps.
func BenchmarkResume(b *testing.B) { durabletest.BenchmarkResume(b, newStore(b), 100_000) }

// BenchmarkExpire deletes ended runs: jobs that are their own step, and runs with steps.
func BenchmarkExpire(b *testing.B) {
	for _, steps := range []int{0, 3} {
		b.Run(fmt.Sprint("steps=", steps), func(b *testing.B) {
			durabletest.BenchmarkExpire(b, newStore(b), steps)
		})
	}
}
