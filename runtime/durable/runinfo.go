package durable

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
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
}

// List returns the runs that a query selects, by id. Kind and Space of the query
// are set by the engine. An error ends the sequence.
func (e *Engine) List(ctx context.Context, q Query) iter.Seq2[RunInfo, error] {
	q.Kind, q.Space = KindRun, e.space
	var sequences []iter.Seq2[RunInfo, error]
	for _, q := range runQueries(q) {
		sequences = append(sequences, sequence(e, ctx, q, runInfo))
	}
	return inOrder(sequences, func(a, b *RunInfo) int { return strings.Compare(a.ID, b.ID) })
}

// runInfo describes the run of a record.
func runInfo(r Record) (RunInfo, bool, error) {
	b, err := open[runBody](r)
	return RunInfo{
		ID: r.Key.Run, Status: r.Status, Owner: r.Owner, Fence: r.Fence, Handler: r.Handler,
		Priority: int(r.Priority), Version: b.Version, Parent: b.Parent,
		Created: b.Created, Claimed: b.Claimed, Ended: b.Ended, Deadline: b.Deadline, Due: r.Due,
		Recoveries: b.Recoveries, Error: b.Error,
	}, true, err
}

// runLabel returns the Label of a run: its status, or "" if the run is executed, waits
// for a worker or has succeeded, as most do: their records change too often for
// another index, and lists of them need none.
func runLabel(s Status) string {
	switch s {
	case StatusParked, StatusPaused, StatusFailed, StatusCanceled, StatusTimedOut:
		return s.String()
	}
	return ""
}

// runQueries returns the queries for the runs that q selects, each in the order of
// their ids: an index has the runs of most states.
func runQueries(q Query) []Query {
	unlabeled := func(s Status) bool { return runLabel(s) == "" }
	if len(q.Status) == 0 || slices.ContainsFunc(q.Status, unlabeled) {
		return []Query{q}
	}
	var queries []Query
	for _, status := range slices.Compact(slices.Sorted(slices.Values(q.Status))) {
		q.Status, q.Label = []Status{status}, runLabel(status)
		queries = append(queries, q)
	}
	return queries
}
