package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A handler executes the runs that are started under its name.
type handler struct {
	invoke  func(context.Context, *record.Payload) (record.Payload, error)
	options runOptions // the options of its runs
	limits  record.Limits
	job     *jobStep // the step of its runs if they are jobs, or nil
}

// adopt adds the settings of the handler to a run that is claimed for the first time.
func (h *handler) adopt(r *storage.Record, b *record.Run) {
	h.options.adopt(r, b)
	if h.job != nil {
		b.Job = h.job.start
	}
}

// Handle registers a function under a name and, if the options contain one, a [Version].
// The function executes the runs that [Start] creates with this name and version. It is
// called by [Engine.Work] in any process that has registered it. The other options apply
// to all these runs, whichever process starts them, unless Start has set the same option.
// The first worker that claims a run adds these options to the run.
//
// Handle panics if [Concurrency] or [StartRate] allows no run to start, if the name is
// empty or contains characters other than letters, digits and ".-_", or if it is already
// registered. If the function panics, the process ends, as with any other panic. Another
// worker then executes the run. After 10 panics without progress, the run is paused.
func Handle[In, Out any](
	e *Engine, name string, fn func(context.Context, In) (Out, error), options ...HandleOption,
) {
	h := &handler{}
	h.invoke = func(ctx context.Context, input *record.Payload) (record.Payload, error) {
		var in In
		if err := input.Decode(e.ns.Codec, &in); err != nil {
			return record.Payload{}, inputError(fromContext(ctx).x.id, err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return record.Payload{}, err
		}
		return record.NewPayload(e.ns.Codec, out), nil
	}
	e.handle(name, h, options)
}

// handle registers a handler.
func (e *Engine) handle(name string, h *handler, options []HandleOption) {
	var given handleOptions
	for _, option := range options {
		option.handle(&given)
	}
	h.options, h.limits = newRunOptions(given.run), given.limits
	key, err := handlerKey(name, h.options.version)
	if err = errors.Join(err, given.limits.Check()); err != nil {
		panic("durable: " + err.Error())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handlers[key] != nil {
		panic(fmt.Sprintf("durable: handler %q is registered twice", key))
	}
	e.handlers[key] = h
}

// handlerKeys returns the sorted keys of the registered handlers.
func (e *Engine) handlerKeys() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.handlers))
}

// registered returns the handlers of the engine, by the keys that runs record.
func (e *Engine) registered() map[string]*handler {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.handlers)
}

// handlerKey returns the key of a handler that a run records. A worker claims only runs whose
// handler and version it has registered.
func handlerKey(name string, version int) (string, error) {
	allowed := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_", r)
	}
	if name == "" || len(name) > record.MaxID || strings.ContainsFunc(name, func(r rune) bool { return !allowed(r) }) {
		return "", fmt.Errorf("%w: handler %.40q: use letters, digits, dots, hyphens and underscores", ErrID, name)
	}
	if version == 0 {
		return name, nil
	}
	return name + "@" + strconv.Itoa(version), nil
}

// StartAt delays the start of a run until t, by the store's clock.
func StartAt(t time.Time) RunOption { return func(o *runOptions) { o.at = t } }

// Start creates a run with the input in. The run's function is the one that is registered
// under name, in this process or a different one. A worker executes the run: see
// [Engine.Work]. If the run already exists with the same name and input, Start does
// nothing. If it exists with a different name or input, Start returns a [*ConflictError].
// Two inputs are the same if the [Codec] encodes them to the same bytes, or if the
// recorded input decodes to a value with the same genapi.Arguments. The input of a run
// whose results were deleted is not compared: see [Retention].
//
// If the store's reply is lost, Start repeats the transaction. [events.EventCreated] is
// reported at most once for a run. It is not reported if the first reply was lost.
//
// If Start is called within a run, the new run is a child of that run. It is canceled and
// paused together with its parent, but continues if its parent ends. If the parent is
// paused, Start returns its [*PausedError].
func Start[In any](ctx context.Context, e *Engine, name, id string, in In, options ...RunOption) error {
	input := record.NewPayload(e.ns.Codec, in)
	if input.Refuse != "" {
		return inputError(id, input.Refused())
	}
	s, err := e.newStart(ctx, name, options)
	if err != nil {
		return err
	}
	run, err := s.run(ctx, id, &input)
	if err != nil {
		return err
	}
	found, err := s.create(ctx, []runStart{run})
	if err != nil || found[0] == nil || sameRun(found[0], e.ns.Codec, in) {
		return err
	}
	return &ConflictError{[]string{id}}
}

// newRun returns the record of a run that workers execute.
func newRun(
	r storage.Record, handler string, input *record.Payload, o *runOptions, now time.Time,
) (storage.Record, record.Run) {
	n := o.insertion(r.Key.Space, handler)
	created, b := n.Record(storage.NewRun{Run: r.Key.Run}, now), o.body()
	created.Version = r.Version
	b.Budget, b.Input, b.Deadline = o.budget != nil, input, created.Deadline
	return created, b
}

// insertion returns the common part of new runs of a handler, without their body.
func (o *runOptions) insertion(space, handler string) storage.Insertion {
	return storage.Insertion{
		Space: space, Handler: handler, Priority: o.rank(0), Start: o.at, Timeout: o.timeout,
	}
}

// body returns the common part of the bodies of new runs.
func (o *runOptions) body() record.Run {
	return record.Run{
		Version: o.version, Retention: o.retention, FailedRetention: o.failedRetention, Start: o.at,
		Correlation: o.correlation, Unlimited: o.unlimited,
	}
}

// adopt creates the budget of a run that gets it from its handler.
func (x *execution) adopt(ctx context.Context, h *handler) error {
	if !x.run.LacksBudget {
		return nil
	}
	policy := h.options.budget
	runKey, budgetKey := x.e.ns.Key(storage.KindRun, x.id, ""), x.e.ns.Key(storage.KindBudget, x.id, "")
	var view runView
	err := x.e.ns.Update(ctx, []storage.Key{runKey, budgetKey}, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(runKey)
		if r.Owner != x.owner.id || r.Fence != x.fence {
			return w, ErrFenced
		}
		b, err := record.Decode[record.Run](r)
		if err != nil {
			return w, err
		}
		if b.LacksBudget { // otherwise, the reply was lost
			b.LacksBudget, b.Budget = false, policy != nil
			if policy != nil {
				budget, failed := newCountBudget(tx.Record(budgetKey), *policy, r.Bucket)
				w.Put, err = append(w.Put, budget), failed
			}
			err = errors.Join(err, record.Encode(&r, &b))
			w.Put = append(w.Put, r)
		}
		view = runView{r, b}
		return w, err
	})
	if err != nil {
		return err
	}
	x.run, x.known = view.body, storage.Record{} // the record may have another version
	x.latest.Store(&view)
	return nil
}

// startOptions returns the options with which a run of a handler is created. The handler's
// other options are added by the first claim, in whichever process that is.
func (e *Engine) startOptions(handler string, options []RunOption) runOptions {
	o := newRunOptions(options)
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.handlers[handler]; h != nil {
		o.priority, o.budget = cmp.Or(o.priority, h.options.priority), cmp.Or(o.budget, h.options.budget)
	}
	return o
}

// childID returns the id of the step that records a child run.
func childID(run string) string { return record.ChildPrefix + record.Escape(run) }
