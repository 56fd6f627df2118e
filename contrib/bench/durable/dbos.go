package main

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
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

// newDBOSContext returns a context before workflows are registered.
func newDBOSContext(ctx context.Context, config dbos.Config) (dbos.Context, error) {
	config.AppName, config.ApplicationVersion = "bench", "1"
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
