package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// riverJobs is a jobSystem: jobs that one client inserts and others work, each with
// connections of its own, as if they were other processes.
type riverJobs struct {
	starter *riverClient
	workers []*riverClient
	board   *board
	working bool
	inTx    bool // the worker completes its job: what River does in addition is not looked at
}

type riverClient struct {
	*river.Client[pgx.Tx]
	pool      *pgxpool.Pool
	completed <-chan *river.Event
}

// openRiverJobs opens River as it is: a job is completed some time after its worker has
// returned.
func openRiverJobs(ctx context.Context, url string, b *board, engines, slots int) (jobSystem, error) {
	return newRiverJobs(ctx, url, b, engines, slots, false)
}

// openRiverTx opens River with workers that complete their job before they return.
func openRiverTx(ctx context.Context, url string, b *board, engines, slots int) (jobSystem, error) {
	return newRiverJobs(ctx, url, b, engines, slots, true)
}

func newRiverJobs(ctx context.Context, url string, b *board, engines, slots int, inTx bool) (jobSystem, error) {
	r := &riverJobs{board: b, inTx: inTx}
	var err error
	if r.starter, err = openRiverClient(ctx, url, maxCallers, &chargeWorker{do: b.do}); err != nil {
		return nil, err
	}
	for range engines {
		worker := &txWorker{chargeWorker: chargeWorker{do: b.do}, board: b}
		var c *riverClient
		if inTx {
			c, err = openRiverClient(ctx, url, slots, worker)
		} else {
			c, err = openRiverClient(ctx, url, slots, &worker.chargeWorker)
		}
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		worker.pool = c.pool
		r.workers = append(r.workers, c)
	}
	return r, nil
}

func openRiverClient(
	ctx context.Context, url string, slots int, worker river.Worker[chargeArgs],
) (*riverClient, error) {
	pool, err := newPool(ctx, url, slots)
	if err != nil {
		return nil, err
	}
	client, completed, err := newRiver(ctx, riverpgxv5.New(pool), worker, slots)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &riverClient{client, pool, completed}, nil
}

func (r *riverJobs) start(ctx context.Context, unit int) error {
	_, err := r.starter.Insert(ctx, chargeArgs{unit}, nil)
	return err
}

func (r *riverJobs) work(ctx context.Context) error {
	r.working = true
	for _, c := range r.workers {
		go func() {
			for ev := range c.completed { // until the client is stopped
				if r.inTx {
					continue // the worker has recorded it
				}
				var args chargeArgs
				err := json.Unmarshal(ev.Job.EncodedArgs, &args)
				r.board.record(args.Unit, err)
			}
		}()
		if err := c.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *riverJobs) close() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, c := range r.workers {
		if r.working {
			err = errors.Join(err, c.Stop(ctx))
		}
		c.pool.Close()
	}
	r.starter.pool.Close()
	return err
}

// A txWorker completes its job in a transaction before it returns, as the end of a run is
// committed before its slot is free.
type txWorker struct {
	chargeWorker
	pool  *pgxpool.Pool
	board *board
}

// Work implements [river.Worker].
func (w *txWorker) Work(ctx context.Context, job *river.Job[chargeArgs]) error {
	if err := w.chargeWorker.Work(ctx, job); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	w.board.record(job.Args.Unit, err)
	return err
}
