package admin

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An Outlook is what becomes of some runs, as far as that is not in their records. It is
// for lists: [Client.Why] says more of one run.
type Outlook struct {
	engines, handlers map[string]bool // that live
	kept              map[string]bool // runs
}

// Outlook reads the outlook of runs: the engines, and which of the runs have steps that
// keep them. It takes two queries, or more if runs have many such steps.
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

// Executes reports whether an engine that lives executes a run.
func (o Outlook) Executes(r RunInfo) bool { return o.engines[r.Owner] }

// Orphaned reports whether the engine of a run is dead.
func (o Outlook) Orphaned(r RunInfo) bool { return r.Owner != "" && !o.engines[r.Owner] }

// NoWorker reports whether a run would go on now or later, and no worker that lives has
// its handler: it will not go on before one starts.
func (o Outlook) NoWorker(r RunInfo) bool {
	goesOn := r.Status == storage.StatusOpen || r.Status == storage.StatusParked
	return goesOn && r.Handler != "" && !o.Executes(r) && !o.handlers[r.Handler]
}

// Kept reports whether a run that has ended is not deleted at its Due, but kept until
// somebody has looked at its dead letters and its steps in doubt.
func (o Outlook) Kept(r RunInfo) bool { return o.kept[r.ID] }

// deletion reports whether Due is when the results of the run are deleted.
func (r *RunInfo) deletion() bool { return r.Status.EndsRun() && !r.Due.IsZero() }

// live returns the engines that live, and the handlers of their workers.
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
