package console

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest/bigstore"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var (
	bigRuns  = flag.Int("runs", 1_000, "runs of the stores of BenchmarkPages")
	bigSteps = flag.Int("steps", 50_000, "steps of the stores of BenchmarkPages")
)

// loadPages returns the pages that are measured on a large store: also those that a
// filter makes search, and those in the middle of a list.
func loadPages(t testing.TB, e *durable.Engine) []string {
	t.Helper()
	var failed admin.RunInfo
	q := storage.Query{Status: []storage.Status{storage.StatusFailed}, Limit: 1}
	for r, err := range e.Admin().List(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		failed = r
		break
	}
	var letter admin.StepInfo
	n := 0
	for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Status: []storage.Status{storage.StatusDead}}) {
		if err != nil {
			t.Fatal(err)
		}
		letter = s
		if n++; n == 100 {
			break
		}
	}
	after := storage.After(letter.Run, letter.Step)
	return []string{
		"/", "/runs", link("/runs", "after", storage.AfterCreated(failed.Created, failed.ID)),
		"/runs?status=timed+out", "/runs?handler=none",
		link("/run", "id", failed.ID), link("/run", "id", failed.ID, "after", "Mail.Send/0000011"),
		link("/step", "run", letter.Run, "id", letter.Step),
		"/dead", link("/dead", "after", after), "/dead?class=timeout", "/dead?class=unknown",
		"/dead?class=" + string(bigstore.Rare),
		"/dead?class=other", "/dead?class=other&text=x", "/dead?text=validation",
		link("/dead", "run", letter.Run), "/shared", link("/shared", "after", storage.After(failed.ID, "")), "/policies",
	}
}

// BenchmarkPages measures the time of each page in the server, while the console
// counts the store in the background:
//
//	go test -run '^$' -bench Pages -runs 10000 -steps 1000000 -benchtime 20x -timeout 1h ./internal/console
func BenchmarkPages(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			store := openStore(b, kind)
			size := bigstore.Size{Runs: *bigRuns, Steps: *bigSteps, Until: time.Now()}
			if err := bigstore.Fill(b.Context(), store, size); err != nil {
				b.Fatal(err)
			}
			e := engine(b, store)
			s, err := New(Config{Client: e.Admin(), Store: kind})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for _, path := range loadPages(b, e) {
				b.Run(path, func(b *testing.B) { benchmarkPage(b, s, path) })
			}
			b.Run("counting", func(b *testing.B) {
				for b.Loop() {
					select {
					case <-s.counter.finished:
					case <-b.Context().Done():
					}
				}
				b.ReportMetric(s.counter.latest.Load().Took.Seconds(), "s")
			})
		})
	}
}

func openStore(b *testing.B, kind string) storage.Store {
	var store storage.Store
	var err error
	if kind == "sqlite" {
		store, err = sqlite.Open(filepath.Join(b.TempDir(), "retry.db"))
	} else {
		store, err = postgres.Open(b.Context(), pgtest.URL(b))
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	return store
}

// benchmarkPage measures a page. p50-ms and max-ms are of single requests.
func benchmarkPage(b *testing.B, s *Server, path string) {
	var times []time.Duration
	for b.Loop() {
		begun := time.Now()
		if status := request(s, path); status != http.StatusOK {
			b.Fatalf("status %d", status)
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(times[len(times)/2]), "p50-ms")
	b.ReportMetric(ms(times[len(times)-1]), "max-ms")
}

// request asks a console for a page, and returns the status.
func request(s *Server, path string) int {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code
}

// A counted is a store that counts what it returns.
type counted struct {
	storage.Store
	rows atomic.Int64
}

func (c *counted) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	records, next, err := c.Store.List(ctx, q)
	c.rows.Add(int64(len(records)))
	return records, next, err
}

func (c *counted) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	c.rows.Add(int64(len(keys)))
	return c.Store.Get(ctx, keys)
}

func (c *counted) History(
	ctx context.Context, key storage.Key, from storage.Cursor,
) ([]storage.Entry, storage.Cursor, error) {
	entries, next, err := c.Store.History(ctx, key, from)
	c.rows.Add(int64(len(entries)))
	return entries, next, err
}

func (c *counted) Entries(ctx context.Context, after storage.Entry, limit int) ([]storage.Entry, error) {
	entries, err := c.Store.Entries(ctx, after, limit)
	c.rows.Add(int64(len(entries)))
	return entries, err
}

// TestPageReads: what a page reads does not grow with the store, except for a search,
// whose time is limited.
func TestPageReads(t *testing.T) {
	store := &counted{Store: memory.New()}
	size := bigstore.Size{Runs: 500, Steps: 20_000, Until: time.Now()}
	if err := bigstore.Fill(t.Context(), store, size); err != nil {
		t.Fatal(err)
	}
	e := engine(t, store)
	paths := loadPages(t, e)
	s, err := New(Config{Client: e.Admin(), Store: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, path := range paths {
		for deadline := time.Now().Add(30 * time.Second); ; {
			if time.Now().After(deadline) {
				t.Fatal("the background does not stop reading")
			}
			passes := s.counter.latest.Load()
			before := store.rows.Load()
			if status := request(s, path); status != http.StatusOK {
				t.Errorf("%s: status %d", path, status)
			}
			read := store.rows.Load() - before
			if s.counter.latest.Load() != passes || s.counter.busy.Load() {
				continue // the background has read, too
			}
			if limit := int64(2*storage.MaxPage + 500); read > limit {
				t.Errorf("%s: read %d rows, want at most %d", path, read, limit)
			}
			break
		}
	}
}
