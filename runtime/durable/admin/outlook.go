package admin

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An Outlook reports facts about listed runs that their own records do not contain:
// whether an engine is executing them, whether a worker has their handler, and whether
// they are kept until a person has dealt with them. For more about a single run, use
// [Client.Why].
type Outlook struct {
	engines, handlers map[string]bool // of live engines
	kept              map[string]bool // runs
}

// Outlook returns the outlook for runs. It makes two queries, or more if the runs have
// many steps that need a person's attention.
func (c *Client) Outlook(ctx context.Context, runs []RunInfo) (o Outlook, err error) {
	if o.engines, o.handlers, err = c.live(ctx); err != nil {
		return o, err
	}
	var over []string
	for _, r := range runs {
		if r.deletion() {
			over = append(over, r.ID)
		}
	}
	o.kept, err = c.ns.Blocked(ctx, over)
	return o, err
}

// Executes reports whether a live engine is executing a run.
func (o Outlook) Executes(r RunInfo) bool { return o.engines[r.Owner] }

// Orphaned reports whether the engine that was executing a run is dead.
func (o Outlook) Orphaned(r RunInfo) bool { return r.Owner != "" && !o.engines[r.Owner] }

// NoWorker reports whether no live worker has the handler that a run needs to continue.
// Such a run waits until a worker with this handler starts.
func (o Outlook) NoWorker(r RunInfo) bool {
	goesOn := r.Status == storage.StatusOpen || r.Status == storage.StatusParked
	return goesOn && r.Handler != "" && !o.Executes(r) && !o.handlers[r.Handler]
}

// Kept reports whether a run that has ended is kept after its Due time, until a person
// has dealt with its dead letters and its steps in doubt.
func (o Outlook) Kept(r RunInfo) bool { return o.kept[r.ID] }

// deletion reports whether Due is when the results of the run are deleted.
func (r *RunInfo) deletion() bool { return r.Status.EndsRun() && !r.Due.IsZero() }

// live returns the live engines, and the handlers of their workers.
func (c *Client) live(ctx context.Context) (engines, handlers map[string]bool, err error) {
	now := time.Now()
	engines, handlers = map[string]bool{}, map[string]bool{}
	for o, err := range c.Owners(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if o.Dead || !o.Until.After(now) {
			continue
		}
		engines[o.Owner] = true
		for _, h := range o.Handlers {
			handlers[h] = true
		}
	}
	return engines, handlers, nil
}
