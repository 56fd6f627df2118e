package main

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A workflows is a system: steps of DBOS workflows.
type workflows struct {
	dbos.Context
	work *work
	own  *sql.DB // or nil
}

// A settlement is the input of a workflow.
type settlement struct{ Units, Callers int }

// openDBOS is the opener of DBOS on SQLite as it opens it: synchronous=NORMAL.
func openDBOS(ctx context.Context, dir string, w *work, _ int) (system, error) {
	return newDBOS(ctx, dbos.Config{DatabaseURL: "sqlite:" + filepath.Join(dir, "dbos.db")}, w)
}

// openDBOSFull is the opener of DBOS on SQLite with the settings of DBOS, but
// synchronous=FULL.
func openDBOSFull(ctx context.Context, dir string, w *work, _ int) (system, error) {
	db, err := openSQLite(filepath.Join(dir, "dbos.db"), 8)
	if err != nil {
		return nil, err
	}
	s, err := newDBOS(ctx, dbos.Config{SQLiteSystemDB: db}, w)
	if err != nil {
		return nil, err
	}
	s.own = db
	return s, nil
}

const (
	dbosVersion = "1" // of the application
	dbosQueue   = "charges"
)

// newDBOSContext returns a context before workflows are registered.
func newDBOSContext(ctx context.Context, config dbos.Config) (dbos.Context, error) {
	config.AppName, config.ApplicationVersion = "bench", dbosVersion
	config.Logger = slog.New(slog.DiscardHandler)
	return dbos.NewContext(ctx, config)
}

func newDBOS(ctx context.Context, config dbos.Config, w *work) (*workflows, error) {
	c, err := newDBOSContext(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &workflows{Context: c, work: w}
	dbos.RegisterWorkflow(c, s.settle, dbos.WithWorkflowName("settle"))
	return s, dbos.Launch(c)
}

// settle is the workflow.
func (s *workflows) settle(ctx dbos.Context, in settlement) (int, error) {
	if in.Callers == 1 {
		for i := range in.Units {
			if _, err := dbos.RunAsStep(ctx, s.step(i), stepOptions...); err != nil {
				return 0, err
			}
		}
		return in.Units, nil
	}
	// Steps are numbered when they begin, by one goroutine.
	var flights []<-chan dbos.StepOutcome[receipt]
	for i := range in.Units {
		flight, err := dbos.Go(ctx, s.step(i), stepOptions...)
		if err != nil {
			return 0, err
		}
		if flights = append(flights, flight); len(flights) == in.Callers {
			if outcome := <-flights[0]; outcome.Err != nil {
				return 0, outcome.Err
			}
			flights = flights[1:]
		}
	}
	for _, flight := range flights {
		if outcome := <-flight; outcome.Err != nil {
			return 0, outcome.Err
		}
	}
	return in.Units, nil
}

// stepOptions have the shortest wait: its zero is the default of 100ms.
var stepOptions = []dbos.StepOption{
	dbos.WithStepName("charge"), dbos.WithStepMaxRetries(2), dbos.WithStepBaseInterval(time.Nanosecond),
}

// step returns the step of a unit.
func (s *workflows) step(unit int) dbos.Step[receipt] {
	attempt := 0
	return func(context.Context) (receipt, error) {
		attempt++
		return s.work.do(unit, attempt)
	}
}

func (s *workflows) execute(_ context.Context, n, callers int) error {
	handle, err := dbos.RunWorkflow(s.Context, s.settle, settlement{n, callers})
	if err != nil {
		return err
	}
	_, err = handle.GetResult()
	return err
}

func (s *workflows) close() error {
	err := dbos.Shutdown(s.Context, 10*time.Second)
	if s.own != nil {
		_ = s.own.Close()
	}
	return err
}

func openDBOSPG(ctx context.Context, pool *pgxpool.Pool, w *work, _ int) (system, error) {
	return newDBOS(ctx, dbos.Config{SystemDBPool: pool}, w)
}

// queuedWorkflows is a jobSystem: workflows in a queue.
type queuedWorkflows struct {
	dbos.Context
	steps   int
	pool    *pgxpool.Pool
	board   *board
	quit    context.CancelFunc
	reading sync.WaitGroup
}

func openDBOSJobs(ctx context.Context, url string, b *board, _, slots int) (jobSystem, error) {
	return openQueue(ctx, url, b, 1, slots)
}

// openDBOSTwoSteps opens a queue of workflows with two steps.
func openDBOSTwoSteps(ctx context.Context, url string, b *board, _, slots int) (jobSystem, error) {
	return openQueue(ctx, url, b, 2, slots)
}

func openQueue(ctx context.Context, url string, b *board, steps, slots int) (jobSystem, error) {
	pool, err := newPool(ctx, url, maxCallers)
	if err != nil {
		return nil, err
	}
	c, err := newDBOSContext(ctx, dbos.Config{SystemDBPool: pool})
	if err == nil {
		_, err = dbos.RegisterQueue(c, dbosQueue,
			dbos.WithWorkerConcurrency(slots), dbos.WithQueueBasePollingInterval(time.Millisecond)) // as River
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	s := &queuedWorkflows{Context: c, pool: pool, board: b, steps: steps}
	dbos.RegisterWorkflow(c, s.charge, dbos.WithWorkflowName(chargeJob))
	return s, nil
}

// charge is the workflow.
func (s *queuedWorkflows) charge(ctx dbos.Context, unit int) (receipt, error) {
	for range s.steps - 1 {
		reserve := func(context.Context) (receipt, error) { return s.board.receipt(unit), nil }
		if _, err := dbos.RunAsStep(ctx, reserve, stepOptions...); err != nil {
			return receipt{}, err
		}
	}
	return dbos.RunAsStep(ctx, func(context.Context) (receipt, error) { return s.board.do(unit, 1) }, stepOptions...)
}

func (s *queuedWorkflows) start(_ context.Context, unit int) error {
	_, err := dbos.Enqueue[receipt](s.Context, dbosQueue, chargeJob, unit,
		dbos.WithEnqueueWorkflowID(strconv.Itoa(unit)), dbos.WithEnqueueApplicationVersion(dbosVersion))
	return err
}

// work begins to execute workflows. DBOS does not report their ends: those that it
// has recorded are read when all steps have been called.
func (s *queuedWorkflows) work(ctx context.Context) error {
	ctx, s.quit = context.WithCancel(ctx)
	s.reading.Go(func() {
		select {
		case <-s.board.calledAll:
			if err := s.readEnds(ctx); err != nil && ctx.Err() == nil {
				s.board.record(0, err)
			}
		case <-ctx.Done():
		}
	})
	return dbos.Launch(s.Context)
}

// readEnds reads when workflows have ended, by the clock of the server, until all
// have.
func (s *queuedWorkflows) readEnds(ctx context.Context) error {
	const query = `SELECT workflow_uuid::int, completed_at FROM dbos.workflow_status WHERE status = 'SUCCESS'`
	for {
		rows, err := s.pool.Query(ctx, query)
		if err != nil {
			return err
		}
		ends, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
			Unit int
			At   int64 // in milliseconds
		}])
		if err != nil {
			return err
		}
		if len(ends) == len(s.board.recorded) {
			for _, end := range ends {
				s.board.recordAt(end.Unit, time.UnixMilli(end.At))
			}
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *queuedWorkflows) close() error {
	defer s.pool.Close()
	err := dbos.Shutdown(s.Context, 10*time.Second)
	if s.quit != nil {
		s.quit()
		s.reading.Wait()
	}
	return err
}
