package admin

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A RunInfo describes a run.
type RunInfo struct {
	ID         string
	Status     storage.Status
	Owner      string // the engine that is executing the run, or ""
	Fence      uint64 // number of claims so far
	Handler    string // name of the function that workers call, or ""
	Priority   int    // priority of the run: see durable.Priority
	Version    int
	Parent     string // the run that started this run, or ""
	Created    time.Time
	Claimed    time.Time // when the last owner claimed the run
	Ended      time.Time
	Deadline   time.Time
	Due        time.Time // when a parked run's wait ends, or when the results of an ended run are deleted
	Recoveries int       // crashes, possibly caused by the run, since a step last made progress
	Error      string    // error of a failed run
	// If the run's last crash was a panic of its function or of one of its steps, Panic
	// is the text of that panic. Otherwise, and after a success, it is "".
	Panic string
	// Policies contains the settings of the policies under which the steps were executed,
	// keyed by policy name. A policy that was changed during the run has several entries,
	// oldest first. At most 8 are kept for each name.
	Policies map[string][]retry.Settings
}

// Failure returns the error of the run. If the run has no error, but its last crash was a
// panic, Failure returns "panic: " followed by the text of the panic. Otherwise it
// returns "".
func (r *RunInfo) Failure() string {
	if r.Error == "" && r.Panic != "" {
		return "panic: " + r.Panic
	}
	return r.Error
}

// runStatuses are the statuses of runs.
var runStatuses = []storage.Status{
	storage.StatusOpen, storage.StatusParked, storage.StatusPaused, storage.StatusSucceeded, storage.StatusFailed,
	storage.StatusCanceled, storage.StatusTimedOut, storage.StatusExpired,
}

// List returns the runs that a query selects, in the order of the query. The default
// order is by id. The client sets the query's Kind and Space. An error ends the sequence.
//
// With [storage.OrderNewest] and [storage.OrderOldest], finding a page takes the same
// time for any number of runs, even with Status or Handlers. Runs created in the meantime
// do not change the pages after a [storage.Cursor].
func (c *Client) List(ctx context.Context, q storage.Query) iter.Seq2[RunInfo, error] {
	q.Kind, q.Space = storage.KindRun, c.ns.Space
	if !q.Order.ByCreation() {
		return sequence(c.ns, ctx, q, runInfo)
	}
	switch { // an index has the runs of each status
	case len(q.Status) == 0 && q.Attention:
		q.Status = []storage.Status{storage.StatusPaused}
	case len(q.Status) == 0:
		q.Status = runStatuses
	}
	if q.FromRun == "" && q.BeforeRun == "" {
		return sequence(c.ns, ctx, q, runInfo)
	}
	return c.listIDs(ctx, q)
}

// listIDs returns the runs that a query with bounds of ids selects, in the order of
// their creation. No index has both: a page of the ids shows whether they are so few
// that all of them are read and sorted. Otherwise the runs are read in their order, and
// those with other ids are passed over.
func (c *Client) listIDs(ctx context.Context, q storage.Query) iter.Seq2[RunInfo, error] {
	return func(yield func(RunInfo, error) bool) {
		bounds := storage.Query{
			Kind: q.Kind, Space: q.Space, Run: q.Run, Runs: q.Runs, FromRun: q.FromRun, BeforeRun: q.BeforeRun,
		}
		records, next, err := c.ns.Store.List(ctx, bounds)
		if err == nil && next != "" {
			sequence(c.ns, ctx, q, runInfo)(yield)
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
			if last := (&RunInfo{ID: after.Run, Created: after.Time}); q.From != "" && compare(last, &run) >= 0 {
				continue
			}
			if !yield(run, nil) {
				return
			}
		}
	}
}

// compareRuns returns the function that orders runs as o does.
func compareRuns(o storage.Order) func(a, b *RunInfo) int {
	return func(a, b *RunInfo) int {
		switch o {
		case storage.OrderOldest:
			return storage.Position{Time: a.Created, Run: a.ID}.Compare(storage.Position{Time: b.Created, Run: b.ID})
		case storage.OrderNewest:
			return storage.Position{Time: b.Created, Run: b.ID}.Compare(storage.Position{Time: a.Created, Run: a.ID})
		case storage.OrderDue:
			return storage.Position{Time: a.Due, Run: a.ID}.Compare(storage.Position{Time: b.Due, Run: b.ID})
		}
		return strings.Compare(a.ID, b.ID)
	}
}

// runInfo describes the run of a record.
func runInfo(r storage.Record) (RunInfo, bool, error) {
	b, err := record.Decode[record.Run](r)
	return RunInfo{
		ID: r.Key.Run, Status: r.Status, Owner: r.Owner, Fence: r.Fence, Handler: r.Handler,
		Priority: int(r.Priority), Version: b.Version, Parent: b.Parent,
		Created: r.Created, Claimed: b.Claimed, Ended: b.Ended, Deadline: b.Deadline, Due: r.Due,
		Recoveries: b.Recoveries, Error: b.Error, Panic: b.Panic, Policies: b.Policies,
	}, true, err
}

// Settings returns the settings of the policy that was last used for a step of the run.
// It returns "" if the settings are unknown because the step has no policy, was imported,
// or was recorded by an older version of this module.
func (r *RunInfo) Settings(s *StepInfo) retry.Settings {
	if s.Policy == "" || s.imported {
		return ""
	}
	return record.SettingsAt(r.Policies[s.Policy], s.policyAt)
}

// SettingsChanges describes how the step's policy settings differ from the settings that
// the run had recorded before, as in "max_attempts 3 → 5".
func (r *RunInfo) SettingsChanges(s *StepInfo) []string {
	if s.policyAt == 0 {
		return nil
	}
	return r.Settings(s).Changes(record.SettingsAt(r.Policies[s.Policy], s.policyAt-1))
}

// Progress describes how much of its policy's limits a step has used, as in "attempt 3 of
// 5, exponential 1s × 2 to 30s". It returns "" if the policy's settings are unknown. Lost
// and interrupted attempts are not counted, and neither are attempts before
// [Client.Requeue]. Refusals by a breaker are counted if the policy retries them.
func (r *RunInfo) Progress(s *StepInfo) string {
	settings := r.Settings(s)
	most := settings.MaxAttempts()
	n := s.Failures + s.Refusals
	if s.Status == storage.StatusExecuting || s.Status == storage.StatusSucceeded {
		n++
	}
	switch {
	case most == 0:
		return ""
	case most == retry.Unlimited:
		return fmt.Sprintf("attempt %d, without a limit, %s", n, settings.Schedule())
	}
	return fmt.Sprintf("attempt %d of %d, %s", n, most, settings.Schedule())
}

// PolicyChanges returns the changes in the run's policies since its start, ordered by
// policy name, as in "policy charge: max_attempts 3 → 5".
func (r *RunInfo) PolicyChanges() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Policies)) {
		var before retry.Settings
		for _, settings := range r.Policies[name] {
			if changes := settings.Changes(before); len(changes) > 0 {
				list = append(list, fmt.Sprintf("policy %s: %s", name, strings.Join(changes, ", ")))
			}
			before = settings
		}
	}
	return list
}
