package durable

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// A WorkOption changes a default of [Engine.Work].
type WorkOption func(*workOptions)

type workOptions struct {
	runs  int
	poll  time.Duration
	drain time.Duration
}

// Runs sets how many runs a worker executes at a time. The default is 10.
func Runs(n int) WorkOption { return func(o *workOptions) { o.runs = max(n, 1) } }

// Poll sets how often a worker that has nothing to do asks the store for runs.
// The default is 1s. Runs that the same engine starts are found at once.
func Poll(d time.Duration) WorkOption {
	return func(o *workOptions) { o.poll = max(d, time.Millisecond) }
}

// Drain sets how long a worker that ends lets its runs go on. After that, their
// contexts end, and the runs stay open for other workers. The default is 30s.
func Drain(d time.Duration) WorkOption { return func(o *workOptions) { o.drain = max(d, 0) } }

// Work executes the runs that are due and whose handler and version are
// registered (see [Handle]), those of dead workers among them, until ctx ends. It
// touches no others. It then claims no further runs, waits for those that it
// executes (see [Drain]), and returns nil. Errors of the store are reported as
// [EventStoreError] and do not end it; [Engine.Close] ends it with [ErrClosed].
func (e *Engine) Work(ctx context.Context, options ...WorkOption) error {
	o := workOptions{runs: 10, poll: time.Second, drain: 30 * time.Second}
	for _, option := range options {
		option(&o)
	}
	if _, err := e.own(ctx); err != nil {
		return err
	}
	// The runs outlive ctx by the time for draining.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	w := &worker{e: e, options: o, slots: make(chan struct{}, o.runs), wake: make(chan struct{}, 1)}
	e.mu.Lock()
	e.workers = append(e.workers, w)
	e.mu.Unlock()
	defer w.leave()
	for ctx.Err() == nil {
		switch err := w.claim(ctx, inner); {
		case errors.Is(err, ErrClosed):
			w.running.Wait()
			return err
		case err != nil && ctx.Err() == nil:
			e.event(ctx, Event{Kind: EventStoreError, Err: err})
		}
		timer := time.NewTimer(o.poll)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	stop := time.AfterFunc(o.drain, func() { cancel(ErrClosed) })
	defer stop.Stop()
	w.running.Wait()
	return nil
}

// A worker is one call of Work.
type worker struct {
	e       *Engine
	options workOptions
	slots   chan struct{} // one for each run that is executed
	wake    chan struct{} // something may be due
	running sync.WaitGroup
}

func (w *worker) leave() {
	w.e.mu.Lock()
	defer w.e.mu.Unlock()
	w.e.workers = slices.DeleteFunc(w.e.workers, func(other *worker) bool { return other == w })
}

// wakeWorkers lets the workers of this engine look for runs.
func (e *Engine) wakeWorkers() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.workers {
		select {
		case w.wake <- struct{}{}:
		default: // it is going to
		}
	}
}

// claim starts the execution of due runs, as many as there is room for.
func (w *worker) claim(ctx, inner context.Context) error {
	if _, err := w.e.own(ctx); err != nil {
		return err
	}
	free := cap(w.slots) - len(w.slots)
	if free == 0 {
		return nil
	}
	runs, err := w.e.dueRuns(ctx, free)
	for _, r := range runs {
		w.slots <- struct{}{} // this goroutine alone takes slots
		w.running.Go(func() {
			executed := false
			defer func() {
				if <-w.slots; executed {
					w.e.wakeWorkers() // a run that cannot be claimed waits for the next poll
				}
			}()
			executed = w.e.execute(inner, r)
		})
	}
	return err
}

// dueRuns returns runs that are due, or whose owners are dead, and for which a
// handler is registered.
func (e *Engine) dueRuns(ctx context.Context, limit int) ([]Record, error) {
	e.mu.Lock()
	handlers := make([]string, 0, len(e.handlers))
	for key := range e.handlers {
		handlers = append(handlers, key)
	}
	e.mu.Unlock()
	if len(handlers) == 0 {
		return nil, nil
	}
	slices.Sort(handlers)
	q := Query{
		Kind: KindRun, Space: e.space, Handlers: handlers, Status: []Status{StatusOpen, StatusParked},
		Limit: min(limit, MaxPage),
	}
	due := q
	due.DueBy = time.Now() // nearly that of the store, which decides in the claim
	runs, err := e.readable(ctx, due, limit)
	if err != nil || len(runs) >= limit {
		return runs, err
	}
	owners, err := e.deadOwners(ctx)
	for _, id := range owners {
		q.Owner = id
		orphans, failed := e.readable(ctx, q, limit-len(runs))
		runs, err = append(runs, orphans...), errors.Join(err, failed)
		if len(runs) >= limit {
			break
		}
	}
	return runs, err
}

// readable returns as many of the runs that a query selects. Those that a newer
// version has written are left to it.
func (e *Engine) readable(ctx context.Context, q Query, limit int) (runs []Record, err error) {
	err = e.each(ctx, q, func(r Record) error {
		if _, err := open[runBody](r); err != nil {
			e.event(ctx, Event{Kind: EventStoreError, Run: r.Key.Run, Err: err})
			return nil
		}
		if runs = append(runs, r); len(runs) == limit {
			return errStopped
		}
		return nil
	})
	if err == errStopped {
		err = nil
	}
	return runs, err
}

// deadOwners returns the owners whose leases have ended, or whose processes the
// store knows to be dead.
func (e *Engine) deadOwners(ctx context.Context) (dead []string, err error) {
	h, knows := e.store.(Holder)
	now := time.Now()
	err = e.each(ctx, Query{Kind: KindOwner, Space: e.space}, func(r Record) error {
		if id := r.Key.ID; !r.Due.After(now) || knows && h.Dead(id) {
			dead = append(dead, id)
		}
		return nil
	})
	return dead, err
}

// execute executes one run that was due when it was listed. It reports whether
// it could claim it.
func (e *Engine) execute(ctx context.Context, r Record) bool {
	e.mu.Lock()
	h := e.handlers[r.Handler]
	e.mu.Unlock()
	owner, err := e.own(ctx)
	if err != nil {
		return false
	}
	x, err := e.activate(ctx, r.Key.Run, owner)
	if err != nil {
		return false // it is being executed
	}
	defer e.deactivate(x)
	c, err := x.claim(ctx, &runOptions{worker: true})
	if err != nil {
		e.event(ctx, Event{Kind: EventStoreError, Run: x.id, Err: err})
		return false
	}
	if c.owned != nil || c.err != nil || c.result != nil || c.again {
		return false // another worker was faster
	}
	_, err = x.execute(ctx, func(ctx context.Context) (payload, error) { return h.invoke(ctx, x.run.Input) })
	if isStoreError(err) {
		e.event(ctx, Event{Kind: EventStoreError, Run: x.id, Err: err})
	}
	return true
}
