package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Violation is a state in a store that no program of this module would write. It is
// caused by a bug, or by a change that someone else made to the store.
type Violation struct {
	Kind storage.Kind // kind of the record, or 0 for the store itself
	Run  string       // id of the run, or ""
	ID   string       // id of the step, the group, the budget or the breaker, or ""
	Text string       // what is wrong
}

// String describes the violation in one line.
func (v Violation) String() string {
	if v.Kind == 0 {
		return "store: " + v.Text
	}
	return storage.Key{Kind: v.Kind, Run: v.Run, ID: v.ID}.String() + ": " + v.Text
}

// Verify checks the records of the namespace, including the history of each step. If the
// store is a [storage.Checker], it also checks the store. It returns each violation of
// the guarantees. Examples are an attempt number that is used twice or not counted, two
// engines with the same fence, an overspent budget, a wait that is longer than decided, a
// run that has succeeded despite an unfinished step, and a body that cannot be read.
//
// Engines may be active in the meantime. Verify reads anything that seems wrong a second
// time before it reports a violation. progress, if not nil, is called from time to time
// with the number of steps checked so far. An error ends the sequence.
func (c *Client) Verify(ctx context.Context, progress ...func(steps int)) iter.Seq2[Violation, error] {
	return func(yield func(Violation, error) bool) {
		v := &verifier{n: c.ns, ctx: ctx, yield: yield, progress: progress, histories: newHistories(c.ns)}
		err := v.store()
		for _, kind := range [...]storage.Kind{
			storage.KindRun, storage.KindGroup, storage.KindBudget, storage.KindBreaker, storage.KindSchedule,
			storage.KindLimit, storage.KindStep,
		} {
			if err == nil {
				err = c.ns.Each(ctx, storage.Query{Kind: kind, Space: c.ns.Space}, v.record)
			}
		}
		if err != nil && err != errStopped {
			yield(Violation{}, err)
		}
	}
}

// A verifier is a verification in progress.
type verifier struct {
	n        *namespace.Namespace
	ctx      context.Context
	yield    func(Violation, error) bool
	progress []func(int)
	steps    int
	run      storage.Record // the last one that was read for its steps

	histories *histories
}

// report reports what is wrong with a record.
func (v *verifier) report(key storage.Key, text string) error {
	if text != "" && !v.yield(Violation{Kind: key.Kind, Run: key.Run, ID: key.ID, Text: text}, nil) {
		return errStopped
	}
	return nil
}

// store lets the store check itself.
func (v *verifier) store() error {
	checker, ok := v.n.Store.(storage.Checker)
	if !ok {
		return nil
	}
	texts, err := checker.Check(v.ctx)
	for _, text := range texts {
		if err := v.report(storage.Key{}, text); err != nil {
			return err
		}
	}
	return err
}

// record verifies one record.
func (v *verifier) record(r storage.Record) error {
	var text string
	switch r.Key.Kind {
	case storage.KindRun:
		text = wrongRun(r)
	case storage.KindGroup:
		_, err := record.Decode[record.Group](r)
		text = unreadable(err)
	case storage.KindBudget:
		text = wrongBudget(r)
	case storage.KindBreaker:
		text = wrongBreaker(r)
	case storage.KindSchedule:
		_, err := record.Decode[record.Schedule](r)
		text = unreadable(err)
	case storage.KindLimit:
		_, err := record.Decode[record.Limit](r)
		text = unreadable(err)
	case storage.KindRate:
		_, err := record.Decode[record.Rate](r)
		text = unreadable(err)
	case storage.KindOverrides:
		_, err := record.Decode[record.Overrides](r)
		text = unreadable(err)
	case storage.KindStep:
		return v.step(r)
	}
	return v.report(r.Key, text)
}

// step verifies a step with its run and its history.
func (v *verifier) step(r storage.Record) error {
	if v.steps++; v.steps%storage.MaxPage == 0 {
		for _, f := range v.progress {
			f(v.steps)
		}
	}
	if v.run.Key.Run != r.Key.Run || v.run.Version == 0 {
		records, err := v.n.Store.Get(v.ctx, []storage.Key{v.n.Key(storage.KindRun, r.Key.Run, "")})
		if err != nil {
			return err
		}
		v.run = records[0]
	}
	run := v.run
	for history := v.histories.of(v.ctx, r.Key); ; history = v.n.Entries(v.ctx, r.Key) {
		entries, err := gather(history)
		if err != nil {
			return err
		}
		text := wrongStep(run, r, entries)
		if text == "" {
			return nil
		}
		// It may have changed since it was read.
		records, err := v.n.Store.Get(v.ctx, []storage.Key{run.Key, r.Key})
		if err != nil {
			return err
		}
		if records[0].Version == run.Version && records[1].Version == r.Version {
			return v.report(r.Key, text)
		}
		if run, r = records[0], records[1]; r.Version == 0 {
			return nil // it was deleted
		}
	}
}

// gather returns the entries of a sequence that may end with an error.
func gather(history iter.Seq2[storage.Entry, error]) (entries []storage.Entry, err error) {
	for entry, err := range history {
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// unreadable returns what is wrong with a body that cannot be read.
func unreadable(err error) string {
	if err == nil {
		return ""
	}
	if errors.Is(err, storage.ErrFormat) {
		return "its body cannot be read: it was written by a newer version, or is damaged"
	}
	return err.Error()
}

// wrongRun returns what is wrong with a run, or "".
func wrongRun(r storage.Record) string {
	b, err := record.Decode[record.Run](r)
	_, unknown := r.Status.MarshalText()
	switch {
	case err != nil:
		return unreadable(err)
	case unknown != nil:
		return fmt.Sprintf("it has the unknown status %d", uint8(r.Status))
	case r.Owner != "" && r.Fence == 0:
		return "it has an owner, but was never claimed"
	case r.Status.EndsRun() && b.Ended.IsZero():
		return fmt.Sprintf("it is %v without the time of its end", r.Status)
	case r.Status == storage.StatusOpen && r.Handler != "" && r.Owner == "" && r.Due.IsZero():
		return "it waits for a worker, but is never due: no worker claims it"
	case record.WrongTail(r, &b) != "":
		return record.WrongTail(r, &b)
	case record.WrongJob(r, &b) != "":
		return record.WrongJob(r, &b)
	case r.Created.IsZero():
		return "it has no time of creation: lists by that time miss it"
	}
	return ""
}

// wrongBudget returns what is wrong with a budget, or "".
func wrongBudget(r storage.Record) string {
	if r.Key.Run == "" {
		b, err := record.Decode[record.RatioBudget](r)
		switch {
		case err != nil:
			return unreadable(err)
		case b.Tokens < 0:
			return fmt.Sprintf("it is over-spent: %.3g tokens are left", b.Tokens)
		}
		return ""
	}
	b, err := record.Decode[record.CountBudget](r)
	switch {
	case err != nil:
		return unreadable(err)
	case b.Retries > 0 && b.Consumed > b.Retries:
		return fmt.Sprintf("it is over-spent: %d retries were granted, the limit is %d", b.Consumed, b.Retries)
	}
	return ""
}

// wrongStep returns what is wrong with a step, or "". run is its run, entries is its
// history.
func wrongStep(run, r storage.Record, entries []storage.Entry) string {
	b, err := record.Decode[record.Step](r)
	switch {
	case err != nil:
		return unreadable(err)
	case run.Version == 0:
		return "its run does not exist"
	case !run.Bucket.Equal(r.Bucket):
		return fmt.Sprintf("it is in the month %s, its run in %s", r.Bucket.Format("2006-01"), run.Bucket.Format("2006-01"))
	case record.StandsFor(run, r.Key):
		return "its run stands for it, too: its first attempt is counted twice"
	case r.Fence > run.Fence:
		return fmt.Sprintf("it has the fence %d, its run has %d", r.Fence, run.Fence)
	case (r.Status == storage.StatusExecuting || b.Before == storage.StatusExecuting) != (b.Open != nil) && !b.Imported:
		return fmt.Sprintf("it is %v, and its open attempt is: %v", r.Status, b.Open != nil)
	case b.Open != nil && b.Open.Fence > run.Fence:
		return fmt.Sprintf("its open attempt has the fence %d, its run has %d", b.Open.Fence, run.Fence)
	case r.Status == storage.StatusWaiting && b.NextAt.IsZero() && b.Delay > 0:
		return "it waits without the time of its next attempt"
	case r.Status == storage.StatusWaiting && b.Delay < 0:
		return fmt.Sprintf("it waits for %v", b.Delay)
	case run.Status == storage.StatusSucceeded && !record.Finished(r.Status) && r.Status != storage.StatusAbandoned &&
		!record.HasTail(run):
		return fmt.Sprintf("its run has succeeded, and it is %v", r.Status)
	case record.Attention(r.Status) && !r.Attention:
		return fmt.Sprintf("it is %v, but not in the index of what needs attention", r.Status)
	case !record.Attention(r.Status) && r.Attention:
		return fmt.Sprintf("it is %v, but in the index of what needs attention", r.Status)
	case r.Label != record.StepLabel(&r, &b):
		return fmt.Sprintf(
			"its label is %.50q, but should be %.50q: lists of dead letters miss it", r.Label, record.StepLabel(&r, &b),
		)
	}
	return wrongHistory(run, &b, entries)
}

// wrongHistory returns what is wrong with the history of a step, or "".
func wrongHistory(run storage.Record, b *record.Step, entries []storage.Entry) string {
	for _, entry := range entries {
		if entry.Part == record.ResultPart {
			continue
		}
		a, err := attemptInfo(entry)
		switch {
		case err != nil:
			return fmt.Sprintf("entry %d.%d of its history cannot be read", entry.Attempt, entry.Part)
		case entry.Attempt > b.Attempts:
			return fmt.Sprintf("attempt %d is recorded, and %d are counted", entry.Attempt, b.Attempts)
		case entry.Part == 0 && b.Open != nil && entry.Attempt == b.Attempts:
			return fmt.Sprintf("attempt %d has ended, and is open", entry.Attempt)
		case a.Fence > run.Fence:
			return fmt.Sprintf("attempt %d has the fence %d, its run has %d", entry.Attempt, a.Fence, run.Fence)
		case a.Wait < 0 || a.Duration < 0 && entry.Part == 0 && !b.Imported:
			return fmt.Sprintf("attempt %d has a negative duration", entry.Attempt)
		}
	}
	return ""
}

// wrongBreaker returns what is wrong with a breaker, or "".
func wrongBreaker(r storage.Record) string {
	s, err := record.Decode[breaker.Snapshot](r)
	switch {
	case err != nil:
		return unreadable(err)
	case s.Failures < 0 || s.Successes < 0 || s.Reopened < 0:
		return "it has a negative count"
	}
	return ""
}
