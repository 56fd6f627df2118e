package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/riverqueue/river"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/runtime/durable"
)

// A bulkStarter starts many jobs at once.
type bulkStarter interface {
	startMany(ctx context.Context, n int) (int, error)
	close() error
}

// startMany returns a contender that starts jobs, which nobody executes, in an empty
// database.
func (s *server) startMany(name string, open func(ctx context.Context, url string) (bulkStarter, error)) contender {
	return contender{name: name, prepare: func(ctx context.Context, _ string, n int) (*trial, error) {
		url, err := s.newDatabase(ctx)
		if err != nil {
			return nil, err
		}
		system, err := open(ctx, url)
		if err != nil {
			return nil, err
		}
		cpu, written := s.cpu(), s.written(ctx)
		return &trial{
			run: func() error {
				started, err := system.startMany(ctx, n)
				if err == nil && started != n {
					err = fmt.Errorf("%d of %d jobs were started", started, n)
				}
				return err
			},
			close: system.close,
			note: func(f *figure) {
				f.server, f.wal = (s.cpu()-cpu)/time.Duration(n), (s.written(ctx)-written)/float64(n)
			},
		}, nil
	}}
}

// openStartMany opens an engine without a handler.
func openStartMany(ctx context.Context, url string) (bulkStarter, error) {
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	inner, err := durable.New(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &engine{Engine: inner, store: store}, nil
}

func (e *engine) startMany(ctx context.Context, n int) (int, error) {
	return durable.StartMany(ctx, e.Engine, chargeJob, func(yield func(string, int) bool) {
		for i := 0; i < n && yield(strconv.Itoa(i), i); i++ {
		}
	})
}

// A riverStarter inserts jobs of River, as many in a call as StartMany does in a statement.
type riverStarter struct {
	*riverClient
	insert func(context.Context, []river.InsertManyParams) (int, error)
}

// openInsertMany opens River with InsertMany, which returns the jobs and whether each was
// a duplicate.
func openInsertMany(ctx context.Context, url string) (bulkStarter, error) {
	c, err := openRiverClient(ctx, url, maxCallers, &chargeWorker{})
	if err != nil {
		return nil, err
	}
	return &riverStarter{c, func(ctx context.Context, jobs []river.InsertManyParams) (int, error) {
		inserted, err := c.InsertMany(ctx, jobs)
		return len(inserted), err
	}}, nil
}

// openInsertManyFast opens River with InsertManyFast, which copies the jobs, and fails for
// a duplicate.
func openInsertManyFast(ctx context.Context, url string) (bulkStarter, error) {
	c, err := openRiverClient(ctx, url, maxCallers, &chargeWorker{})
	if err != nil {
		return nil, err
	}
	return &riverStarter{c, c.InsertManyFast}, nil
}

func (r *riverStarter) startMany(ctx context.Context, n int) (started int, err error) {
	const atOnce = 5000
	jobs := make([]river.InsertManyParams, 0, atOnce)
	for i := range n {
		if jobs = append(jobs, river.InsertManyParams{Args: chargeArgs{i}}); len(jobs) < atOnce && i < n-1 {
			continue
		}
		inserted, err := r.insert(ctx, jobs)
		if started += inserted; err != nil {
			return started, err
		}
		jobs = jobs[:0]
	}
	return started, nil
}

func (r *riverStarter) close() error {
	r.pool.Close() // the client was never started
	return nil
}
