package namespace

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Unfolded returns a namespace for reading in which folded steps have records and histories,
// like all other steps. A folded step has no record in the store. The body of its run contains
// it instead: see record.Job.
func (n *Namespace) Unfolded() *Namespace {
	return &Namespace{Store: unfolded{n.Store}, Space: n.Space, Codec: n.Codec, Lease: n.Lease}
}

// An unfolded store is a read-only view of a store that includes folded steps.
type unfolded struct{ storage.Store }

// A foldedStep is a folded step in the form of a record and a history.
type foldedStep struct {
	record  storage.Record
	history []storage.Entry
}

// unfold returns the folded step of a run. ok is false if the run has none.
func unfold(run storage.Record) (s foldedStep, ok bool, err error) {
	if run.Version == 0 || run.Body == nil {
		return s, false, nil
	}
	b, err := record.Decode[record.Run](run)
	if err != nil || b.Job == nil {
		return s, false, err
	}
	s.record.Key = storage.Key{Kind: storage.KindStep, Space: run.Key.Space, Run: run.Key.Run, ID: b.Job.StepID()}
	unknown := b.Job.Step == ""
	body, history := b.Unfold(&run, &s.record)
	body.NoID = unknown
	err = record.EncodeStep(&s.record, &body)
	s.record.Version, s.history = 1, history
	slices.SortFunc(s.history, storage.Entry.Compare)
	return s, true, err
}

// Get implements [storage.Store].
func (u unfolded) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	records, err := u.Store.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		if r.Version > 0 || r.Key.Kind != storage.KindStep {
			continue
		}
		if s, ok, err := u.of(ctx, r.Key); err != nil {
			return nil, err
		} else if ok {
			records[i] = s.record
		}
	}
	return records, nil
}

// of returns the folded step with the given key. ok is false if the run has no such step.
func (u unfolded) of(ctx context.Context, step storage.Key) (s foldedStep, ok bool, err error) {
	run := storage.Key{Kind: storage.KindRun, Space: step.Space, Run: step.Run}
	runs, err := u.Store.Get(ctx, []storage.Key{run})
	if err != nil {
		return s, false, err
	}
	s, ok, err = unfold(runs[0])
	return s, ok && s.record.Key == step, err
}

// List implements [storage.Store].
func (u unfolded) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	records, next, err := u.Store.List(ctx, q)
	if err != nil || !selectsFolded(&q) {
		return records, next, err
	}
	from, err := q.Position()
	if err != nil {
		return nil, "", err
	}
	until := storage.Position{} // the position that records reach; zero: the end
	if next != "" {
		if until, err = next.Position(); err != nil {
			return nil, "", err
		}
	}
	steps, reached, err := u.between(ctx, q, from, until)
	if err != nil {
		return nil, "", err
	}
	if reached.Run != "" { // more runs follow
		until = reached
		records = slices.DeleteFunc(records, func(r storage.Record) bool { return after(r.Key, until) })
	}
	for _, s := range steps {
		if q.Selects(s.record) {
			records = append(records, s.record)
		}
	}
	slices.SortFunc(records, func(a, b storage.Record) int { return a.Key.Compare(b.Key) })
	limit := q.Limit
	if limit <= 0 || limit > storage.MaxPage {
		limit = storage.MaxPage
	}
	if len(records) > limit {
		records = records[:limit]
		return records, q.After(records[limit-1]), nil
	}
	if until.Run == "" {
		return records, "", nil
	}
	return records, storage.After(until.Run, until.ID), nil
}

// selectsFolded reports whether q may select a folded step. Such a step has succeeded or is
// executing.
func selectsFolded(q *storage.Query) bool {
	return q.Kind == storage.KindStep && q.Order == storage.OrderKey && q.Label == "" && q.Owner == "" &&
		q.DueBy.IsZero() && len(q.Handlers) == 0 &&
		(len(q.Status) == 0 || slices.ContainsFunc(q.Status, func(s storage.Status) bool {
			return s == storage.StatusExecuting || s == storage.StatusSucceeded && !q.Attention
		}))
}

// after reports whether a record follows a position.
func after(k storage.Key, p storage.Position) bool {
	return cmp.Or(strings.Compare(k.Run, p.Run), strings.Compare(k.ID, p.ID)) > 0
}

// between returns the folded steps after the position from, up to the position until if that is
// not zero. If there are too many of them, it stops early and returns the position that it has
// reached.
func (u unfolded) between(
	ctx context.Context, q storage.Query, from, until storage.Position,
) (steps []foldedStep, reached storage.Position, err error) {
	runs := storage.Query{
		Kind: storage.KindRun, Space: q.Space, Run: q.Run, FromRun: max(q.FromRun, from.Run), BeforeRun: q.BeforeRun,
	}
	if q.Attention || len(q.Status) > 0 && !slices.Contains(q.Status, storage.StatusSucceeded) { // executing steps only
		runs.Status = []storage.Status{
			storage.StatusOpen, storage.StatusPaused, storage.StatusCanceled, storage.StatusTimedOut,
		}
	}
	for {
		page, next, err := u.Store.List(ctx, runs)
		if err != nil {
			return nil, reached, err
		}
		for _, r := range page {
			if until.Run != "" && r.Key.Run > until.Run {
				return steps, reached, nil
			}
			s, ok, err := unfold(r)
			if err != nil {
				return nil, reached, err
			}
			if ok && after(s.record.Key, from) && (until.Run == "" || !after(s.record.Key, until)) {
				steps = append(steps, s)
			}
		}
		if runs.From = next; next == "" {
			return steps, storage.Position{}, nil
		}
		if len(steps) >= storage.MaxPage {
			last := steps[len(steps)-1].record.Key
			return steps, storage.Position{Run: last.Run, ID: last.ID}, nil
		}
	}
}

// History implements [storage.Store].
func (u unfolded) History(
	ctx context.Context, step storage.Key, from storage.Cursor,
) ([]storage.Entry, storage.Cursor, error) {
	entries, next, err := u.Store.History(ctx, step, from)
	if err != nil || len(entries) > 0 || from != "" || step.Kind != storage.KindStep {
		return entries, next, err
	}
	s, _, err := u.of(ctx, step)
	if s.record.Key != step {
		return nil, "", err
	}
	return s.history, "", err
}

// Entries implements [storage.Store].
func (u unfolded) Entries(ctx context.Context, last storage.Entry, limit int) ([]storage.Entry, error) {
	entries, err := u.Store.Entries(ctx, last, limit)
	if err != nil || last.Step.Kind != storage.KindStep {
		return entries, err
	}
	until := storage.Position{}
	if len(entries) == limit {
		key := entries[limit-1].Step
		until = storage.Position{Run: key.Run, ID: key.ID}
	}
	// More entries may follow in the history of the last entry's step.
	q := storage.Query{Space: last.Step.Space, FromRun: last.Step.Run}
	steps, reached, err := u.between(ctx, q, storage.Position{}, until)
	if err != nil {
		return nil, err
	}
	if reached.Run != "" {
		entries = slices.DeleteFunc(entries, func(e storage.Entry) bool { return after(e.Step, reached) })
	}
	order := func(a, b storage.Entry) int { return cmp.Or(a.Step.Compare(b.Step), a.Compare(b)) }
	for _, s := range steps {
		for _, e := range s.history {
			if e.Result = nil; order(e, last) > 0 {
				entries = append(entries, e)
			}
		}
	}
	slices.SortFunc(entries, order)
	return entries[:min(len(entries), limit)], nil
}
