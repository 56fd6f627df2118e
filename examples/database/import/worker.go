package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A place is where the state of the runs is, and where the servers are.
type place struct {
	store string // sqlite:FILE, or the URL of a PostgreSQL database
	space string // the namespace of this execution of the program
	url   string // of the servers
}

// A Report is the result of the job.
type Report struct {
	Imported, Rows int
	Decision       string
}

// engine opens the store, and returns an engine over it. close closes both.
func (p *place) engine(
	ctx context.Context, options ...durable.Option,
) (e *durable.Engine, closeAll func() error, err error) {
	var store interface {
		storage.Store
		Close() error
	}
	if file, ok := strings.CutPrefix(p.store, "sqlite:"); ok {
		store, err = sqlite.Open(file)
	} else {
		store, err = postgres.Open(ctx, p.store, postgres.Schema("retry_example_import"))
	}
	if err != nil {
		return nil, nil, err
	}
	// Other workers wait for the lease of a dead one, except on SQLite, which knows
	// the processes of the machine.
	options = append(options, durable.Namespace(p.space), durable.Lease(2*time.Second))
	if e, err = durable.New(store, options...); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return e, func() error { return errors.Join(e.Close(context.Background()), store.Close()) }, nil
}

// A worker is one of the processes that execute the job.
type worker struct {
	client *Client
	out    io.Writer
}

// work executes runs until ctx ends.
func work(ctx context.Context, out io.Writer, p place, name string) (err error) {
	w := &worker{out: out, client: &Client{
		URL: p.url, Worker: name,
		// Over a connection of its own, no request is repeated by net/http.
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}}
	engine, closeAll, err := p.engine(ctx, durable.OnEvent(w.observe()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	durable.Handle(engine, "import", w.importAll)
	durable.Handle(engine, "shard", w.importShard)
	return engine.Work(ctx, durable.MaxRuns(6), durable.Poll(100*time.Millisecond), durable.Drain(2*time.Second))
}

// importAll imports all shards. Each one is a run, which any worker executes. While
// they do, no process executes importAll: GroupRuns returns an error that parks it.
func (w *worker) importAll(ctx context.Context, shards []string) (Report, error) {
	run, _ := durable.Current(ctx)
	outcome, err := durable.GroupRuns(ctx, NewImport(run.Run).Group, "shard", shards,
		func(shard string) string { return shard },
		func(early job.Outcome[int]) {
			r := report(early)
			fmt.Fprintf(w.out, "provisional result: %d of %d shards, %d rows (%s)\n", r.Imported, len(shards), r.Rows,
				r.Decision)
		})
	return report(outcome), err
}

// importShard imports one shard, and returns the number of its rows.
func (w *worker) importShard(ctx context.Context, shard string) (int, error) {
	rows, err := w.client.RetryRead(ctx, shard)
	if err != nil {
		return 0, err
	}
	return w.client.RetryWrite(ctx, shard, rows)
}

func report(o job.Outcome[int]) Report {
	r := Report{Imported: len(o.Results), Decision: o.Decision.String()}
	for _, rows := range o.Results {
		r.Rows += rows
	}
	return r
}

// observe returns a function that prints what happens to the runs of a dead worker,
// and the first refusal of the budget.
func (w *worker) observe() func(context.Context, events.Event) {
	var once sync.Once
	return func(_ context.Context, e events.Event) {
		shard := e.Run[strings.LastIndex(e.Run, "/")+1:]
		switch e.Kind {
		case events.EventLost:
			fmt.Fprintf(w.out, "worker %s takes over %s: attempt %d of %s was lost, another one follows\n",
				w.client.Worker, shard, e.Attempt, e.Name)
		case events.EventJob:
			if e.Job.Kind == job.EventBudgetExhausted {
				once.Do(func() {
					fmt.Fprintf(w.out, "worker %s: no retry for %s: %v\n", w.client.Worker, e.Job.Unit, e.Job.Err)
				})
			}
		case events.EventStoreError:
			fmt.Fprintf(w.out, "worker %s: the store: %v\n", w.client.Worker, e.Err)
		}
	}
}
