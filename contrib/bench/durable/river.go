package main

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// A queue is a system: a River job for each unit.
type queue[Tx any] struct {
	client    *river.Client[Tx]
	completed <-chan *river.Event
	closeDB   func() error
}

// openRiver is the opener of River on SQLite, in WAL mode with
// synchronous=FULL, and with the one connection that its documentation
// recommends.
func openRiver(ctx context.Context, dir string, w *work, callers int) (system, error) {
	db, err := openSQLite(filepath.Join(dir, "river.db"), 1)
	if err != nil {
		return nil, err
	}
	return newQueue[*sql.Tx](ctx, riversqlite.New(db), w, callers, db.Close)
}

func openRiverPG(ctx context.Context, pool *pgxpool.Pool, w *work, callers int) (system, error) {
	return newQueue(ctx, riverpgxv5.New(pool), w, callers, func() error { return nil })
}

func newQueue[Tx any](
	ctx context.Context, driver riverdriver.Driver[Tx], w *work, callers int, closeDB func() error,
) (*queue[Tx], error) {
	client, completed, err := newRiver(ctx, driver, &chargeWorker{do: w.do}, callers)
	if err != nil {
		return nil, err
	}
	return &queue[Tx]{client, completed, closeDB}, client.Start(ctx)
}

// newRiver returns a client that is not started, and the events of completed jobs.
func newRiver[Tx any](
	ctx context.Context, driver riverdriver.Driver[Tx], worker river.Worker[chargeArgs], slots int,
) (*river.Client[Tx], <-chan *river.Event, error) {
	logger := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: logger})
	if err != nil {
		return nil, nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	client, err := river.NewClient(driver, &river.Config{
		Logger: logger, Workers: workers, RetryPolicy: atOnce{}, MaxAttempts: 3,
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}},
		FetchCooldown: river.FetchCooldownMin, FetchPollInterval: river.FetchPollIntervalMin, // the shortest
	})
	if err != nil {
		return nil, nil, err
	}
	completed, _ := client.SubscribeConfig(&river.SubscribeConfig{
		Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: 100_000,
	})
	return client, completed, nil
}

// execute inserts the units one by one, as work comes, and waits until all are
// completed. They are worked meanwhile.
func (q *queue[Tx]) execute(ctx context.Context, n, callers int) error {
	err := share(n, callers, func(i int) error {
		_, err := q.client.Insert(ctx, chargeArgs{i}, nil)
		return err
	})
	if err != nil {
		return err
	}
	for range n {
		<-q.completed
	}
	return nil
}

func (q *queue[Tx]) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := q.client.Stop(ctx); err != nil {
		return err
	}
	return q.closeDB()
}

type chargeArgs struct {
	Unit int `json:"unit"`
}

func (chargeArgs) Kind() string { return "charge" }

type chargeWorker struct {
	river.WorkerDefaults[chargeArgs]
	do func(unit, attempt int) (receipt, error)
}

// Work records the receipt as the output of its job.
func (w *chargeWorker) Work(ctx context.Context, job *river.Job[chargeArgs]) error {
	receipt, err := w.do(job.Args.Unit, job.Attempt)
	if err != nil {
		return err
	}
	return river.RecordOutput(ctx, receipt)
}

// atOnce retries without a wait.
type atOnce struct{}

func (atOnce) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }
