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

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An owner is the part of an engine that owns runs. It has a random id, and a lease that covers
// all of its runs.
type owner struct {
	e       *Engine
	id      string
	release func() error // removes the mark of a [storage.Liveness]; or nil
	// valid is the end of the lease as far as this process may rely on it. It is counted from
	// the time at which the last renewal was sent, in nanoseconds since begun.
	begun    time.Time
	valid    atomic.Int64
	gaps     atomic.Uint64 // renewals after the end of the lease, before which another engine may have claimed runs
	ahead    atomic.Int64  // the time of the store at begun, in nanoseconds since 1970
	workers  atomic.Int64  // the number of calls of Work
	stopping atomic.Int64  // the number of those calls that drain
	quit     chan struct{}
	done     chan struct{}
}

// ensureOwner returns the owner of the engine. The first call begins its lease.
func (e *Engine) ensureOwner(ctx context.Context) (*owner, error) {
	if o, err := e.currentOwner(); o != nil || err != nil {
		return o, err
	}
	select { // not a mutex, because the store may take a long time
	case e.owning <- struct{}{}:
		defer func() { <-e.owning }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if o, err := e.currentOwner(); o != nil || err != nil {
		return o, err
	}
	o := &owner{e: e, id: record.Token(8), begun: time.Now(), quit: make(chan struct{}), done: make(chan struct{})}
	if live, ok := e.ns.Store.(storage.Liveness); ok {
		release, err := live.Hold(o.id)
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

// currentOwner returns the owner of the engine, nil before the first run, or ErrClosed.
func (e *Engine) currentOwner() (*owner, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	return e.owner, nil
}

func (o *owner) key() storage.Key { return o.e.ns.Key(storage.KindOwner, "", o.id) }

// alive reports whether no other engine can have claimed the runs of o yet.
func (o *owner) alive() bool { return o.aliveAt(time.Since(o.begun)) }

// aliveAt does the same as alive, at a time that is given as the duration since the lease
// began.
func (o *owner) aliveAt(d time.Duration) bool { return d < time.Duration(o.valid.Load()) }

// clock records the time of the store that was returned for an update sent at the given time.
func (o *owner) clock(sent time.Duration, shown time.Time) {
	o.ahead.Store(shown.Add(-sent).UnixNano())
}

// now returns the time of the store, or a slightly later time. It is used to select records
// that are due. The store makes the final decision.
func (o *owner) now() time.Time { return time.Unix(0, o.ahead.Load()).Add(time.Since(o.begun)).UTC() }

// renew extends the lease.
func (o *owner) renew(ctx context.Context) error {
	sent := time.Since(o.begun)
	host, _ := os.Hostname() // for display only
	pid := os.Getpid()
	var handlers []string
	if o.workers.Load() > o.stopping.Load() { // a worker that drains claims nothing
		handlers = o.e.handlerKeys()
	}
	var now time.Time
	gap := false
	sel := storage.Select{Keys: []storage.Key{o.key()}}
	err := o.e.ns.Store.Update(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(o.key())
		now = tx.Now
		b, err := record.Decode[record.Owner](r)
		if err != nil {
			return storage.Writes{}, err
		}
		if r.Version == 0 {
			r.Bucket = record.Month(tx.Now)
			b = record.Owner{Host: host, PID: pid, Started: tx.Now}
		}
		gap = tx.Now.After(b.Until) && o.valid.Load() > 0
		b.Lease, b.Until = o.e.ns.Lease, tx.Now.Add(o.e.ns.Lease)
		b.Panicked, b.Panic, b.Stopping = "", "", o.stopping.Load() > 0 // the process has survived the panic
		b.Handlers = handlers
		r.Due = b.Until
		if err := record.Encode(&r, &b); err != nil {
			return storage.Writes{}, err
		}
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
	if err != nil {
		return fmt.Errorf("renewing the lease: %w", err)
	}
	o.clock(sent, now)
	if gap {
		o.gaps.Add(1) // before alive returns true again
	}
	o.valid.Store(int64(sent + o.e.ns.Lease))
	return nil
}

// serve records the handlers of a worker until the returned function is called. If the store
// does not answer, the heartbeat records them.
func (o *owner) serve(ctx context.Context) (done func()) {
	if o.workers.Add(1) == 1 {
		_ = o.renew(ctx)
	}
	return func() { o.workers.Add(-1) }
}

// drain records that a worker drains. If the process is killed during that time, this is not a
// crash. The next renewal records the end of the draining.
func (o *owner) drain(ctx context.Context) (done func()) {
	o.stopping.Add(1)
	ctx, cancel := context.WithTimeout(ctx, o.e.ns.Lease/3)
	defer cancel()
	if err := o.renew(ctx); err != nil { // otherwise, the heartbeat records it
		o.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Err: err})
	}
	return func() { o.stopping.Add(-1) }
}

// heartbeat renews the lease until the engine is closed.
func (o *owner) heartbeat() {
	defer close(o.done)
	ticker := time.NewTicker(o.e.ns.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-o.quit:
			return
		case <-ticker.C:
		}
		select {
		case <-o.quit: // the last renewal took until the next one was due
			return
		default:
		}
		o.beat()
	}
}

// beat renews the lease, and compares the runs that the engine owns according to the store with
// the runs that it executes.
func (o *owner) beat() {
	ctx, cancel := context.WithTimeout(context.Background(), o.e.ns.Lease/3)
	defer cancel()
	if err := o.renew(ctx); err != nil {
		o.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Err: err})
		if !o.alive() {
			o.lapse()
		}
		return
	}
	o.verify(ctx)
	if err := o.reconcile(ctx); err != nil {
		o.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Err: err})
		return
	}
	o.e.expire(ctx, o.quit)
}

// reconcile compares the runs that o owns according to the store with the runs that are
// executed.
func (o *owner) reconcile(ctx context.Context) error {
	o.e.mu.Lock()
	lost := maps.Clone(o.e.left) // runs that are no longer owned
	o.e.mu.Unlock()
	q := storage.Query{Kind: storage.KindRun, Space: o.e.ns.Space, Owner: o.id}
	err := o.e.ns.Each(ctx, q, func(r storage.Record) error {
		delete(lost, r.Key.Run)
		o.reconcileRun(ctx, r)
		return nil
	})
	if err != nil {
		return err
	}
	o.e.mu.Lock()
	defer o.e.mu.Unlock()
	for run, fence := range lost {
		if o.e.left[run] == fence {
			delete(o.e.left, run)
		}
	}
	return nil
}

// verify halts the executions whose runs another engine has claimed during a gap in the lease.
func (o *owner) verify(ctx context.Context) {
	o.e.mu.Lock()
	executions := slices.Collect(maps.Values(o.e.active))
	o.e.mu.Unlock()
	for _, x := range executions {
		if err := x.verify(ctx); isStoreError(err) {
			o.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: x.id, Err: err})
		}
	}
}

// reconcileRun compares one run.
func (o *owner) reconcileRun(ctx context.Context, r storage.Record) {
	x := o.e.execution(r.Key.Run)
	if x == nil {
		o.e.claims.Lock() // runs that were claimed before this run was listed are then active
		x = o.e.execution(r.Key.Run)
		o.e.claims.Unlock()
	}
	switch {
	case x != nil && r.Status == storage.StatusCanceled:
		x.halt(ErrCanceled)
	case x != nil && r.Status == storage.StatusPaused:
		if b, err := record.Decode[record.Run](r); err == nil && b.Hold != nil {
			x.hold(r.Fence, b.Hold)
		}
	case x == nil:
		// Either its claim was committed, but the reply was lost, or its end could not be
		// recorded.
		if err := o.e.releaseRun(ctx, r.Key, o.id, r.Fence); err != nil {
			o.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: r.Key.Run, Err: err})
		}
	}
}

// releaseRun releases a run that is not executed, so that any engine may claim it.
func (e *Engine) releaseRun(ctx context.Context, run storage.Key, owner string, fence uint64) error {
	e.mu.Lock()
	called := e.left[run.Run] == fence
	e.mu.Unlock()
	err := e.ns.Update(ctx, []storage.Key{run}, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(run)
		if r.Owner != owner || r.Fence != fence {
			return w, nil
		}
		if b, unreadable := record.Decode[record.Run](r); unreadable == nil && b.Job != nil {
			if b.LeaveJob(&r); fence == 1 && !called {
				b.Job = nil // the attempt that the claim has started was not made
			}
			err = record.Encode(&r, &b)
		}
		release(&r, tx.Now)
		return storage.Writes{Put: []storage.Record{r}}, err
	})
	if err == nil && called {
		e.mu.Lock()
		delete(e.left, run.Run)
		e.mu.Unlock()
	}
	return err
}

// release removes the owner of a run.
func release(r *storage.Record, now time.Time) {
	if r.Owner = ""; r.Handler != "" && r.Status == storage.StatusOpen {
		r.Due = now // due for a worker
	}
}

// lapse cancels the attempts that another engine would repeat, because other engines may claim
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
	limited, cancel := context.WithTimeout(ctx, o.e.ns.Lease)
	defer cancel()
	ctx = namespace.WithoutGrace(limited) // after that, other engines own the runs
	// A run whose end could not be recorded must not keep an owner that no longer exists.
	q := storage.Query{Kind: storage.KindRun, Space: o.e.ns.Space, Owner: o.id}
	err := o.e.ns.Each(ctx, q, func(r storage.Record) error {
		return o.e.releaseRun(ctx, r.Key, o.id, r.Fence)
	})
	if err == nil {
		err = o.e.ns.Update(ctx, []storage.Key{o.key()}, func(tx storage.Tx) (storage.Writes, error) {
			return storage.Writes{Delete: []storage.Key{o.key()}}, nil
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

// hold halts the execution if the run was paused under its fence. An execution with a later
// fence continues, because the run was resumed in the meantime.
func (x *execution) hold(fence uint64, h *record.Hold) {
	if x.claimed.Load() && x.fence == fence {
		x.halt(held(x.id, h))
	}
}

// expire deletes the same records as admin.Client.Expire. It is called with each renewal. It
// ends when there is nothing left to delete, when quit is closed, or after a sixth of the
// lease, because the next renewal must not be late.
func (e *Engine) expire(ctx context.Context, quit <-chan struct{}) {
	begun := time.Now() // close to the time of the store; it only selects records
	stop := func() bool {
		select {
		case <-quit:
			return true
		default:
			return time.Since(begun) >= e.ns.Lease/6
		}
	}
	more, err := true, error(nil)
	for more && err == nil && !stop() {
		more, err = e.ns.ExpireDue(ctx, begun, stop)
	}
	if err == nil {
		err = e.ns.ExpireOwners(ctx, begun)
	}
	if err != nil {
		e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Err: err})
	}
}
