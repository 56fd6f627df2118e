package durable

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A WorkOption changes a default of [Engine.Work].
type WorkOption func(*workOptions)

type workOptions struct {
	maxRuns int
	poll    time.Duration
	drain   time.Duration
}

// MaxRuns sets how many runs a worker executes at the same time. The default is 10. While
// the ends of these runs are being recorded, the worker executes other runs, so it may
// own up to twice as many.
func MaxRuns(n int) WorkOption { return func(o *workOptions) { o.maxRuns = max(n, 1) } }

// Poll sets how often a worker asks the store for runs that are due and for runs of dead
// workers. The default is 1s. Runs that the same engine starts are found at once. If the
// store is a [storage.Notifier], changes by other engines are noticed as soon as it
// reports them.
func Poll(d time.Duration) WorkOption {
	return func(o *workOptions) { o.poll = max(d, time.Millisecond) }
}

// Drain sets how long a worker's runs may continue after its context has ended. After
// this time, the contexts of the runs end, and the runs stay open for other workers. The
// default is 30s.
func Drain(d time.Duration) WorkOption { return func(o *workOptions) { o.drain = max(d, 0) } }

// Work executes runs until ctx ends. It executes runs that are due and whose handler and
// version are registered (see [Handle]), including the runs of dead workers. It does not
// touch other runs. It claims as many runs as it may execute at the same time, from all
// handlers in turn, starting with the runs that have been due longest. The store's clock
// determines which runs are due. If this clock is set back, runs wait longer by the same
// amount of time.
//
// When ctx ends, Work claims no further runs, waits for the runs that it is executing
// (see [Drain]), and returns nil. After [Engine.Close], it returns [ErrClosed]. To let
// the first interrupt shut a program down in this way and a second one end it at once,
// use a context from [os/signal.NotifyContext] and call its stop function when the
// context has ended. Store errors, including [ErrIncarnation], are reported as
// [events.EventStoreError] and do not end Work.
//
// Work returns an error at once if no handler is registered.
func (e *Engine) Work(ctx context.Context, options ...WorkOption) error {
	if len(e.handlerKeys()) == 0 {
		return errNoHandler
	}
	o := workOptions{maxRuns: 10, poll: time.Second, drain: 30 * time.Second}
	for _, option := range options {
		option(&o)
	}
	owner, err := e.ensureOwner(ctx)
	if err != nil {
		if unsent(ctx, err) || err == context.Cause(ctx) {
			return nil // ctx has ended
		}
		return err
	}
	// The runs may continue after ctx has ended, for the time that draining takes.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	w := &worker{
		e: e, options: o, listener: e.ns.Listen(""), inner: inner,
		slots: make(chan struct{}, o.maxRuns), owned: make(chan struct{}, 2*o.maxRuns),
		unreadable: map[string]bool{}, swept: map[string]time.Time{},
		schedules: map[*periodic]scheduleView{}, later: map[string]time.Time{},
	}
	defer w.listener.Close()
	defer owner.serve(ctx)()
	if err = w.work(ctx); err == nil {
		stop := time.AfterFunc(o.drain, func() { cancel(ErrClosed) })
		defer stop.Stop()
		defer owner.drain(context.WithoutCancel(ctx))()
	}
	w.running.Wait()
	return err
}

var errNoHandler = errors.New("durable: a worker without a handler would execute nothing: call Handle before Work")

// A worker is one call of Work.
type worker struct {
	e        *Engine
	options  workOptions
	listener *namespace.Listener
	inner    context.Context // the context of the runs
	slots    chan struct{}   // contains an element for each run that is executed
	owned    chan struct{}   // contains an element for each run whose end is not yet recorded
	running  sync.WaitGroup

	turn       int                  // index of the handler that is first in the current turn
	looked     time.Time            // when orphans were last searched
	decided    time.Time            // when a decision on all due runs was last requested
	swept      map[string]time.Time // dead owners without a run for this worker, and when that was found
	schedules  map[*periodic]scheduleView
	later      map[string]time.Time // handlers whose rate allows no start before the given time
	unreadable map[string]bool      // runs written by a newer version that were already reported
}

// idlePause is the minimum time between a claim that has found nothing and the next one,
// because a notification reaches many workers.
const idlePause = 10 * time.Millisecond

// work claims runs until ctx ends.
func (w *worker) work(ctx context.Context) error {
	for ctx.Err() == nil {
		err := w.listener.Subscribe(ctx)
		idle, failed := w.claim(ctx)
		switch err = errors.Join(err, failed); {
		case errors.Is(err, ErrClosed):
			return ErrClosed
		case err != nil && ctx.Err() == nil:
			w.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Err: err})
		}
		if idle {
			namespace.Pause(ctx, min(idlePause, w.options.poll))
		}
		w.listener.Wait(ctx, w.patience())
	}
	return nil
}

// claim starts the runs of periods, and then claims and starts as many runs as the worker has
// room for. It reports whether there were no runs although there is room. If a period cannot be
// started, for example because its input cannot be encoded, other runs are not delayed.
func (w *worker) claim(ctx context.Context) (idle bool, err error) {
	// A renewal may have to wait for the claim.
	ctx, cancel := context.WithTimeout(ctx, w.e.ns.Lease/3)
	defer cancel()
	owner, err := w.e.ensureOwner(ctx)
	if err != nil {
		return true, err
	}
	late := w.startPeriods(ctx, owner.now())
	idle, err = w.claimRuns(ctx, owner)
	return idle, errors.Join(err, late)
}

func (w *worker) claimRuns(ctx context.Context, owner *owner) (idle bool, err error) {
	handlers := w.handlers()
	if w.free() == 0 {
		return false, nil
	}
	if !owner.alive() {
		if err := owner.renew(ctx); err != nil {
			return true, err
		}
	}
	found := false
	if now := time.Now(); now.Sub(w.looked) >= w.options.poll {
		w.looked = now
		found, err = w.claimOrphans(ctx, owner, handlers)
	}
	for w.free() > 0 && len(handlers) > 0 && err == nil {
		var more, all bool
		if more, all, err = w.claimNew(ctx, owner, handlers); !more && err == nil {
			w.decided = time.Now()
			handlers, more, err = w.claimDue(ctx, owner, handlers)
		}
		if found = found || more; all {
			break
		}
	}
	if errors.Is(err, storage.ErrUnknown) { // runs that are not executed may have been claimed
		err = errors.Join(err, owner.reconcile(ctx))
	}
	return !found, err
}

func (w *worker) free() int {
	return min(cap(w.slots)-len(w.slots), cap(w.owned)-len(w.owned))
}

// handlers returns the handlers of the engine, and begins with a different one in each turn.
func (w *worker) handlers() []string {
	names := w.e.handlerKeys()
	w.turn = (w.turn + 1) % len(names)
	return slices.Concat(names[w.turn:], names[:w.turn])
}

// query returns the query for the runs of some handlers. It adds room for the runs that cannot
// be read.
func (w *worker) query(limit int, handlers ...string) storage.Query {
	return storage.Query{
		Kind: storage.KindRun, Space: w.e.ns.Space, Handlers: handlers, Status: []storage.Status{
			storage.StatusOpen, storage.StatusParked,
		},
		Limit: min(limit+len(w.unreadable), storage.MaxPage),
	}
}

// claimDue claims runs that are due, an equal share for each handler. It returns the handlers
// that may have more.
func (w *worker) claimDue(ctx context.Context, o *owner, handlers []string) (rest []string, found bool, err error) {
	handlers, room, limiting, err := w.unlimited(ctx, o, handlers)
	if err != nil || len(handlers) == 0 {
		return nil, false, err
	}
	share := (w.free() + len(handlers) - 1) / len(handlers)
	queries := make([]storage.Query, len(handlers))
	for i, handler := range handlers {
		limit := share
		if n, limited := room[handler]; limited {
			limit = min(limit, n)
		}
		queries[i] = w.query(limit, handler)
		queries[i].DueBy = o.now()
	}
	before := len(w.unreadable)
	t, err := w.claimSelected(ctx, o, &claimRequest{limiting: limiting}, queries)
	if err != nil {
		return nil, false, err
	}
	if found = len(t.runs) > 0; found || len(w.unreadable) > before {
		for i, handler := range handlers {
			if t.selected[handler] == queries[i].Limit {
				rest = append(rest, handler)
			}
		}
	}
	return rest, found, nil
}

// claimOrphans claims runs of dead owners.
func (w *worker) claimOrphans(ctx context.Context, o *owner, handlers []string) (found bool, err error) {
	owners, err := w.e.deadOwners(ctx, o)
	if err != nil {
		return false, err
	}
	maps.DeleteFunc(w.swept, func(_ string, at time.Time) bool { return time.Since(at) >= w.e.ns.Lease })
	for _, dead := range owners {
		if _, swept := w.swept[dead.orphans.ID]; swept || w.free() == 0 {
			continue
		}
		q := w.query(w.free(), handlers...)
		q.Owner = dead.orphans.ID
		runs, _, err := w.e.ns.Store.List(ctx, q)
		if err != nil {
			return found, err
		}
		if len(runs) == 0 {
			w.swept[dead.orphans.ID] = time.Now()
			continue
		}
		dead.waits = make(map[string]time.Time, len(runs))
		for _, r := range runs {
			if dead.waits[r.Key.Run], err = w.e.waitsUntil(ctx, r.Key.Run); err != nil {
				return found, err
			}
		}
		if dead.limiting, _, err = w.limiting(ctx, o, handlers); err != nil {
			return found, err
		}
		t, err := w.claimSelected(ctx, o, &dead, []storage.Query{q})
		if err != nil {
			return found, err
		}
		found = found || len(t.runs) > 0
	}
	return found, nil
}

// deadOwners returns the owners whose leases have ended, or whose processes are dead according
// to the store.
func (e *Engine) deadOwners(ctx context.Context, o *owner) (dead []claimRequest, err error) {
	live, knows := e.ns.Store.(storage.Liveness)
	now := o.now()
	err = e.ns.Each(ctx, storage.Query{Kind: storage.KindOwner, Space: e.ns.Space}, func(r storage.Record) error {
		b, err := record.Decode[record.Owner](r)
		c := claimRequest{orphans: r.Key, dead: knows && live.Dead(r.Key.ID)}
		switch {
		case r.Key.ID == o.id || err != nil:
		case c.dead, !b.Until.After(now), b.Until.After(now.Add(b.Lease)): // the clock was set back
			dead = append(dead, c)
		}
		return nil
	})
	return dead, err
}

// claimSelected claims some of the runs that the queries select, in one transaction, and starts
// their executions. If one run cannot be started, the others still are.
func (w *worker) claimSelected(
	ctx context.Context, o *owner, c *claimRequest, queries []storage.Query,
) (t claimResult, err error) {
	e := w.e
	accepted, err := e.accepted(ctx)
	if err != nil {
		return t, err
	}
	c.owner, c.slots = o.key(), w.free()
	gaps := o.gaps.Load()
	e.claims.RLock() // until the runs are active
	defer e.claims.RUnlock()
	c.active, c.known = e.activeRuns(), e.registered()
	sent := time.Since(o.begun)
	sel := storage.Select{Keys: c.records(), Queries: queries}
	err = e.ns.Store.Update(ctx, sel, func(tx storage.Tx) (w storage.Writes, err error) {
		if t = (claimResult{now: tx.Now}); e.changed(accepted) {
			return w, nil
		}
		w, t, err = c.decide(tx)
		return w, err
	})
	if err != nil {
		return claimResult{}, err
	}
	o.clock(sent, t.now)
	for handler, wait := range t.later {
		w.sleepUntil(handler, wait)
	}
	for run, err := range t.unreadable {
		if !w.unreadable[run] {
			w.unreadable[run] = true
			e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: run, Err: err})
		}
	}
	for _, r := range t.runs {
		if r.status != 0 {
			e.ns.Event(ctx, events.Event{Kind: r.event(), Run: r.key.Run, Fence: r.fence, Err: r.err})
			continue
		}
		err = errors.Join(err, w.start(o, gaps, r))
	}
	return t, err
}

// start starts the execution of a run that was claimed.
func (w *worker) start(o *owner, gaps uint64, r claimedRun) error {
	x, err := w.e.activate(w.inner, r.key.Run, o)
	if err != nil { // the engine is closed, or has just begun to execute the run; the next renewal releases it
		return err
	}
	x.gaps.Store(gaps)
	x.handler = r.handler
	x.known = r.record // the transaction of the claim does not write the record again
	x.setClaim(w.inner, &r.claim)
	w.slots <- struct{}{} // only the goroutine of Work adds elements
	w.owned <- struct{}{}
	release := func(c chan struct{}) {
		<-c
		w.e.ns.Notify(x.id)
	}
	returned := sync.OnceFunc(func() { release(w.slots) })
	w.running.Go(func() {
		defer release(w.owned)
		defer returned()
		defer w.e.deactivate(x)
		w.execute(x, returned)
	})
	return nil
}

// execute executes a run that was claimed. It calls returned after the run's function has
// returned, and before the end is recorded.
func (w *worker) execute(x *execution, returned func()) {
	e := w.e
	e.mu.Lock()
	h := e.handlers[x.handler]
	e.mu.Unlock()
	x.holds = h.options.hold
	err := x.adopt(x.ctx, h)
	if err == nil {
		err = x.openJob(x.ctx, h)
	}
	if x.created = x.fence == 1 && x.run.Imports == 0; x.created {
		x.steps.complete = true
	} else if err == nil {
		err = x.load(x.ctx)
	}
	if err != nil {
		// The store has just failed, and x.ctx may have ended: release the run within the grace
		// period.
		ctx, cancel := namespace.WithGrace(x.ctx)
		defer cancel()
		err = errors.Join(err, e.releaseRun(ctx, e.ns.Key(storage.KindRun, x.id, ""), x.owner.id, x.fence))
	} else {
		_, err = x.execute(w.inner, func(ctx context.Context) (record.Payload, error) {
			defer returned()
			return h.invoke(ctx, x.run.Input)
		})
	}
	if isStoreError(err) {
		e.ns.Event(w.inner, events.Event{Kind: events.EventStoreError, Run: x.id, Err: err})
	}
}
