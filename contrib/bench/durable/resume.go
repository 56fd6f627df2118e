package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// A process that has finished 2 steps is killed in the third. The records of
// the second are then copied in SQL, as if it had finished n steps: writing
// them one by one would take minutes. What is measured is the resume, until the
// first step that is not recorded is executed.
var (
	resumeTable = table{
		name: "resume", title: "A killed run with 100,000 finished steps is resumed, per step",
		n: 100_000, rounds: 3, columns: stepColumns,
		contenders: []contender{
			{name: "retrygen", prepare: prepareResume},
			{name: "DBOS, `synchronous=NORMAL`", prepare: prepareRecovery},
		},
	}
	finishedTable = table{
		name: "finished", title: "A killed run with 1,000,000 finished steps is resumed, per step",
		n: 1_000_000, rounds: 1, columns: stepColumns,
		contenders: []contender{{name: "retrygen", prepare: prepareResume}},
	}
)

const executed = 2 // steps of the process that is killed

func prepareResume(ctx context.Context, dir string, n int) (*trial, error) {
	if err := runChild("resume", dir); err != nil {
		return nil, err
	}
	err := fill(filepath.Join(dir, "retrygen.db"), `INSERT INTO retry_record (kind, space, run, id, version, status, fence, handler, attention, bucket, body)
SELECT kind, space, run, 'charge/' || value, version, status, fence, handler, attention, bucket,
	replace(body, 'order-1"', 'order-' || value || '"')
FROM retry_record, generated WHERE id = 'charge/1'`, n)
	if err != nil {
		return nil, err
	}
	w := &work{}
	e, err := openSQLiteEngine(dir, w)
	if err != nil {
		return nil, err
	}
	return &trial{
		run: func() error {
			err := e.Run(ctx, "settle", func(ctx context.Context) error { return e.replay(ctx, n) })
			return errors.Join(err, w.done(1))
		},
		close: e.close,
	}, nil
}

// replay executes n finished steps and another one, one after the other.
func (e *engine) replay(ctx context.Context, n int) error {
	for i := range n + 1 {
		r, err := e.charge(ctx, &charge, i)
		if err != nil {
			return err
		}
		if want := fmt.Sprint("order-", i); r.ID != want {
			return fmt.Errorf("step %d returned the receipt of %s", i, r.ID)
		}
	}
	return nil
}

// crashResume is the process that is killed.
func crashResume(dir string) error {
	e, err := openSQLiteEngine(dir, &work{})
	if err != nil {
		return err
	}
	return e.Run(context.Background(), "settle", func(ctx context.Context) error {
		if err := e.replay(ctx, executed-1); err != nil {
			return err
		}
		_, err := genapi.Call(ctx, &charge, genapi.ID("last"), genapi.Digest{}, func(context.Context) (receipt, error) {
			kill()
			return receipt{}, nil
		})
		return err
	})
}

func prepareRecovery(ctx context.Context, dir string, n int) (*trial, error) {
	if err := runChild("recovery", dir); err != nil {
		return nil, err
	}
	err := fill(filepath.Join(dir, "dbos.db"), `INSERT INTO operation_outputs (workflow_uuid, function_id, output,
	function_name, started_at_epoch_ms, completed_at_epoch_ms, serialization, application_name)
SELECT workflow_uuid, value, output, function_name, started_at_epoch_ms, completed_at_epoch_ms, serialization,
	application_name
FROM operation_outputs, generated WHERE function_id = 1`, n)
	if err != nil {
		return nil, err
	}
	w := &work{}
	r := &recovery{entered: make(chan struct{}), begin: make(chan struct{}), done: make(chan error, 1)}
	r.body = func(ctx dbos.Context) error { return r.replay(ctx, n) }
	if err := r.open(ctx, dir, w); err != nil {
		return nil, err
	}
	// DBOS looks for workflows to recover about once a second. That is not
	// measured.
	select {
	case <-r.entered:
	case <-time.After(time.Minute):
		return nil, errors.Join(errors.New("the workflow was not recovered"), r.close())
	}
	return &trial{
		run: func() error {
			close(r.begin)
			return errors.Join(<-r.done, w.done(1))
		},
		close: r.close,
	}, nil
}

// A recovery is DBOS with the workflow that is killed and recovered.
type recovery struct {
	*workflows
	body           func(dbos.Context) error
	entered, begin chan struct{}
	done           chan error
}

func (r *recovery) open(ctx context.Context, dir string, w *work) error {
	c, err := newDBOSContext(ctx, dbos.Config{DatabaseURL: "sqlite:" + filepath.Join(dir, "dbos.db")})
	if err != nil {
		return err
	}
	r.workflows = &workflows{Context: c, work: w}
	dbos.RegisterWorkflow(c, r.settle, dbos.WithWorkflowName("settle"))
	return dbos.Launch(c)
}

// settle shadows that of workflows.
func (r *recovery) settle(ctx dbos.Context, _ settlement) (int, error) {
	close(r.entered)
	<-r.begin
	err := r.body(ctx)
	r.done <- err
	return 0, err
}

func (r *recovery) replay(ctx dbos.Context, n int) error {
	for i := range n + 1 {
		if _, err := dbos.RunAsStep(ctx, r.step(i), stepOptions...); err != nil {
			return err
		}
	}
	return nil
}

// crashRecovery is the process that is killed.
func crashRecovery(dir string) error {
	r := &recovery{entered: make(chan struct{}), begin: make(chan struct{}), done: make(chan error, 1)}
	r.body = func(ctx dbos.Context) error {
		if err := r.replay(ctx, executed-1); err != nil {
			return err
		}
		_, err := dbos.RunAsStep(ctx, func(context.Context) (receipt, error) {
			kill()
			return receipt{}, nil
		}, stepOptions...)
		return err
	}
	if err := r.open(context.Background(), dir, &work{}); err != nil {
		return err
	}
	close(r.begin)
	_, err := dbos.RunWorkflow(r.Context, r.settle, settlement{}, dbos.WithWorkflowID("settle"))
	return errors.Join(err, <-r.done)
}

// fill executes insert, in which the table generated has the numbers of the
// steps up to n that are missing.
func fill(path, insert string, n int) error {
	db, err := openSQLite(path, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(`WITH RECURSIVE generated (value) AS (
	SELECT ? WHERE ? < ? UNION ALL SELECT value + 1 FROM generated WHERE value + 1 < ?) `+insert,
		executed, executed, n, n)
	return err
}
