package durable

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A RunInfo describes a run.
type RunInfo struct {
	ID         string
	Status     Status
	Owner      string // the engine that executes it, or ""
	Fence      uint64 // the number of claims so far
	Handler    string // the function that workers call, or ""
	Priority   int    // see [Priority]
	Version    int
	Parent     string // the run within which it was called, or ""
	Created    time.Time
	Claimed    time.Time // by its last owner
	Ended      time.Time
	Deadline   time.Time
	Due        time.Time // the end of a parked run's wait, or when the results of one that has ended are deleted
	Recoveries int       // crashes that it may have caused since a step made progress
	Error      string    // of a failed run
	// Policies are the settings of the policies under which its steps were executed, by
	// the names of the policies: several of one name after its policy file was changed,
	// the latest last. At most 8 of each are kept.
	Policies map[string][]retry.Settings
}

// runStatuses are the statuses of runs.
var runStatuses = []Status{
	StatusOpen, StatusParked, StatusPaused, StatusSucceeded, StatusFailed, StatusCanceled, StatusTimedOut, StatusExpired,
}

// List returns the runs that a query selects, in its order: by default by id. Kind and
// Space of the query are set by the engine. An error ends the sequence.
//
// In [OrderNewest] and [OrderOldest], a page is found at once among any number of runs,
// also with Status or with one of Handlers. Runs that are created meanwhile change no
// page after a [Cursor].
func (e *Engine) List(ctx context.Context, q Query) iter.Seq2[RunInfo, error] {
	q.Kind, q.Space = KindRun, e.space
	if q.Order == OrderKey {
		return sequence(e, ctx, q, runInfo)
	}
	switch { // an index has the runs of each status
	case len(q.Status) == 0 && q.Attention:
		q.Status = []Status{StatusPaused}
	case len(q.Status) == 0:
		q.Status = runStatuses
	}
	if q.FromRun == "" && q.BeforeRun == "" {
		return sequence(e, ctx, q, runInfo)
	}
	return e.listIDs(ctx, q)
}

// listIDs returns the runs that a query with bounds of ids selects, in the order of
// their creation. No index has both: a page of the ids shows whether they are so few
// that all of them are read and sorted. Otherwise the runs are read in their order, and
// those with other ids are passed over.
func (e *Engine) listIDs(ctx context.Context, q Query) iter.Seq2[RunInfo, error] {
	return func(yield func(RunInfo, error) bool) {
		bounds := Query{Kind: q.Kind, Space: q.Space, Run: q.Run, FromRun: q.FromRun, BeforeRun: q.BeforeRun}
		records, next, err := e.store.List(ctx, bounds)
		if err == nil && next != "" {
			sequence(e, ctx, q, runInfo)(yield)
			return
		}
		var runs []RunInfo
		for _, r := range records {
			run, _, wrong := runInfo(r)
			if err = cmp.Or(err, wrong); q.Selects(r) {
				runs = append(runs, run)
			}
		}
		after, wrong := q.Position()
		if err = cmp.Or(err, wrong); err != nil {
			yield(RunInfo{}, err)
			return
		}
		compare := compareRuns(q.Order)
		slices.SortFunc(runs, func(a, b RunInfo) int { return compare(&a, &b) })
		for _, run := range runs {
			if last := (&RunInfo{ID: after.Run, Created: after.Created}); q.From != "" && compare(last, &run) >= 0 {
				continue
			}
			if !yield(run, nil) {
				return
			}
		}
	}
}

// compareRuns returns the function that orders runs as o does.
func compareRuns(o Order) func(a, b *RunInfo) int {
	return func(a, b *RunInfo) int {
		switch o {
		case OrderOldest:
			return Position{a.Created, a.ID, ""}.Compare(Position{b.Created, b.ID, ""})
		case OrderNewest:
			return Position{b.Created, b.ID, ""}.Compare(Position{a.Created, a.ID, ""})
		}
		return strings.Compare(a.ID, b.ID)
	}
}

// runInfo describes the run of a record.
func runInfo(r Record) (RunInfo, bool, error) {
	b, err := open[runBody](r)
	return RunInfo{
		ID: r.Key.Run, Status: r.Status, Owner: r.Owner, Fence: r.Fence, Handler: r.Handler,
		Priority: int(r.Priority), Version: b.Version, Parent: b.Parent,
		Created: r.Created, Claimed: b.Claimed, Ended: b.Ended, Deadline: b.Deadline, Due: r.Due,
		Recoveries: b.Recoveries, Error: b.Error, Policies: b.Policies,
	}, true, err
}
