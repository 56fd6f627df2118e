package durable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// An owner is the part of an engine that owns runs: a random id and a lease,
// which covers all of them.
type owner struct {
	e       *Engine
	id      string
	release func() error // of the mark of a Holder, or nil
	// valid is the end of the lease as this process may count it: from when the
	// last renewal was sent, in nanoseconds since begun.
	begun    time.Time
	valid    atomic.Int64
	gaps     atomic.Uint64 // renewals after the end of the lease: somebody may have claimed runs before
	ahead    atomic.Int64  // what the clock of the store shows at begun, in nanoseconds since 1970
	workers  atomic.Int64  // calls of Work
	stopping atomic.Int64  // those that drain
	quit     chan struct{}
	done     chan struct{}
}

// own returns the owner of the engine, and begins its lease with the first call.
func (e *Engine) own(ctx context.Context) (*owner, error) {
	if o, err := e.owned(); o != nil || err != nil {
		return o, err
	}
	select { // not a mutex: the store may take its time
	case e.owning <- struct{}{}:
		defer func() { <-e.owning }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if o, err := e.owned(); o != nil || err != nil {
		return o, err
	}
	o := &owner{e: e, id: token(16), begun: time.Now(), quit: make(chan struct{}), done: make(chan struct{})}
	if h, ok := e.store.(Holder); ok {
		release, err := h.Hold(o.id)
		if err != nil {
			return nil, err
		}
		o.release = release
	}
	if err := o.renew(ctx); err != nil {
		return nil, errors.Join(err, o.unmark())
	}
	go o.heartbeat()
	e.mu.Lock()
	closed := e.closed
	if !closed {
		e.owner = o
	}
	e.mu.Unlock()
	if closed {
		return nil, errors.Join(ErrClosed, o.stop(context.WithoutCancel(ctx)))
	}
	return o, nil
}

// owned returns the owner of the engine, nil before the first run, or ErrClosed.
func (e *Engine) owned() (*owner, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	return e.owner, nil
}

func (o *owner) key() Key { return o.e.key(KindOwner, "", o.id) }

// alive reports whether no other engine may have claimed the runs of o yet.
func (o *owner) alive() bool { return time.Since(o.begun) < time.Duration(o.valid.Load()) }

// clock notes what the clock of the store has shown after an update was sent.
func (o *owner) clock(sent time.Duration, shown time.Time) {
	o.ahead.Store(shown.Add(-sent).UnixNano())
}

// now returns the time of the store, or somewhat later: it selects what is due,
// and the store decides.
func (o *owner) now() time.Time { return time.Unix(0, o.ahead.Load()).Add(time.Since(o.begun)).UTC() }

// renew extends the lease.
func (o *owner) renew(ctx context.Context) error {
	sent := time.Since(o.begun)
	host, _ := os.Hostname() // only for people
	pid := os.Getpid()
	var handlers []string
	if o.workers.Load() > o.stopping.Load() { // one that drains claims nothing
		handlers = o.e.handlerKeys()
	}
	var now time.Time
	gap := false
	err := o.e.store.Update(ctx, Select{Keys: []Key{o.key()}}, func(tx Tx) (Writes, error) {
		r := tx.Record(o.key())
		now = tx.Now
		b, err := open[ownerBody](r)
		if err != nil {
			return Writes{}, err
		}
		if r.Version == 0 {
			r.Bucket = month(tx.Now)
			b = ownerBody{Host: host, PID: pid, Started: tx.Now}
		}
		gap = tx.Now.After(b.Until) && o.valid.Load() > 0
		b.Lease, b.Until = o.e.lease, tx.Now.Add(o.e.lease)
		b.Panicked, b.Stopping = "", o.stopping.Load() > 0 // it has survived the panic
		b.Handlers = handlers
		r.Due = b.Until
		if err := write(&r, &b); err != nil {
			return Writes{}, err
		}
		return Writes{Put: []Record{r}}, nil
	})
	if err != nil {
		return fmt.Errorf("renewing the lease: %w", err)
	}
	o.clock(sent, now)
	if gap {
		o.gaps.Add(1) // before alive reports true again
	}
	o.valid.Store(int64(sent + o.e.lease))
	return nil
}

// serve records the handlers of a worker, until the function that it returns is
// called. If the store does not answer, the heartbeat does it.
func (o *owner) serve(ctx context.Context) (done func()) {
	if o.workers.Add(1) == 1 {
		_ = o.renew(ctx)
	}
	return func() { o.workers.Add(-1) }
}

// drain records that a worker drains: if the process is killed meanwhile, that is no
// crash. The end of the draining is recorded by the next renewal.
func (o *owner) drain(ctx context.Context) (done func()) {
	o.stopping.Add(1)
	ctx, cancel := context.WithTimeout(ctx, o.e.lease/3)
	defer cancel()
	if err := o.renew(ctx); err != nil { // or the heartbeat does it
		o.e.event(ctx, Event{Kind: EventStoreError, Err: err})
	}
	return func() { o.stopping.Add(-1) }
}

// heartbeat renews the lease until the engine closes.
func (o *owner) heartbeat() {
	defer close(o.done)
	ticker := time.NewTicker(o.e.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-o.quit:
			return
		case <-ticker.C:
		}
		select {
		case <-o.quit: // the last renewal has taken until the next was due
			return
		default:
		}
		o.beat()
	}
}

// beat renews the lease, and compares the runs that the store says are owned
// with those that are executed.
func (o *owner) beat() {
	ctx, cancel := context.WithTimeout(context.Background(), o.e.lease/3)
	defer cancel()
	if err := o.renew(ctx); err != nil {
		o.e.event(ctx, Event{Kind: EventStoreError, Err: err})
		if !o.alive() {
			o.lapse()
		}
		return
	}
	o.verify(ctx)
	if err := o.reconcile(ctx); err != nil {
		o.e.event(ctx, Event{Kind: EventStoreError, Err: err})
		return
	}
	o.e.expire(ctx, o.quit)
}

// reconcile compares the runs that o owns, as the store says, with those that are
// executed.
func (o *owner) reconcile(ctx context.Context) error {
	return o.e.each(ctx, Query{Kind: KindRun, Space: o.e.space, Owner: o.id}, func(r Record) error {
		o.reconcileRun(ctx, r)
		return nil
	})
}

// verify halts the executions whose runs somebody has claimed in a gap of the
// lease.
func (o *owner) verify(ctx context.Context) {
	o.e.mu.Lock()
	executions := slices.Collect(maps.Values(o.e.active))
	o.e.mu.Unlock()
	for _, x := range executions {
		if err := x.verify(ctx); isStoreError(err) {
			o.e.event(ctx, Event{Kind: EventStoreError, Run: x.id, Err: err})
		}
	}
}

// reconcileRun compares one run.
func (o *owner) reconcileRun(ctx context.Context, r Record) {
	x := o.e.execution(r.Key.Run)
	if x == nil {
		o.e.claims.Lock() // those that were claimed before the run was listed are active
		x = o.e.execution(r.Key.Run)
		o.e.claims.Unlock()
	}
	switch {
	case x != nil && r.Status == StatusCanceled:
		x.halt(ErrCanceled)
	case x != nil && r.Status == StatusPaused:
		if b, err := open[runBody](r); err == nil && b.Hold != nil {
			x.hold(r.Fence, b.Hold)
		}
	case x == nil:
		// Its claim was committed, but the reply was lost; or its end could not be
		// recorded.
		if err := o.e.disown(ctx, r.Key, o.id, r.Fence); err != nil {
			o.e.event(ctx, Event{Kind: EventStoreError, Run: r.Key.Run, Err: err})
		}
	}
}

// disown releases a run that is not executed, so that any engine may claim it.
func (e *Engine) disown(ctx context.Context, run Key, owner string, fence uint64) error {
	return e.update(ctx, []Key{run}, func(tx Tx) (Writes, error) {
		r := tx.Record(run)
		if r.Owner != owner || r.Fence != fence {
			return Writes{}, nil
		}
		release(&r, tx.Now)
		return Writes{Put: []Record{r}}, nil
	})
}

// release makes a run one without an owner.
func release(r *Record, now time.Time) {
	if r.Owner = ""; r.Handler != "" && r.Status == StatusOpen {
		r.Due = now // for a worker
	}
}

// lapse cancels the attempts that another engine would repeat: it may claim
// their runs from now on.
func (o *owner) lapse() {
	o.e.mu.Lock()
	defer o.e.mu.Unlock()
	for _, x := range o.e.active {
		x.lapse()
	}
}

// stop ends the lease.
func (o *owner) stop(ctx context.Context) error {
	close(o.quit)
	<-o.done
	limited, cancel := context.WithTimeout(ctx, o.e.lease)
	defer cancel()
	ctx = graced{limited} // others own the runs after that
	// Runs whose end could not be recorded must not have an owner that nobody
	// knows.
	err := o.e.each(ctx, Query{Kind: KindRun, Space: o.e.space, Owner: o.id}, func(r Record) error {
		return o.e.disown(ctx, r.Key, o.id, r.Fence)
	})
	if err == nil {
		err = o.e.update(ctx, []Key{o.key()}, func(tx Tx) (Writes, error) {
			return Writes{Delete: []Key{o.key()}}, nil
		})
	}
	return errors.Join(err, o.unmark())
}

func (o *owner) unmark() error {
	if o.release == nil {
		return nil
	}
	return o.release()
}

// hold halts the execution if the run was paused under its fence: a later one goes
// on, since the run was resumed meanwhile.
func (x *execution) hold(fence uint64, h *hold) {
	if x.claimed.Load() && x.fence == fence {
		x.halt(held(x.id, h))
	}
}
