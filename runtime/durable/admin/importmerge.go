package admin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An importState is what is known about a step from other systems: from one
// source, from several, or as it was recorded.
type importState struct {
	status  storage.Status
	body    record.Step
	result  *record.Payload // with its data
	history []AttemptInfo   // by number, one for each
}

// state returns what one source says.
func (s *ImportedStep) state(now time.Time) importState {
	i := importState{status: s.Status, result: s.result, body: record.Step{
		Name: s.Name, Policy: s.Policy, Call: s.State, Attempts: s.Attempts, Limit: s.MaxAttempts, Reason: s.Reason,
		Correlation: s.Correlation, First: now, Imported: true,
	}}
	b := &i.body
	for _, a := range s.History {
		if !a.Started.IsZero() && a.Started.Before(b.First) {
			b.First = a.Started
		}
		a.Error = record.Clip(a.Error)
		i.history = append(i.history, a)
	}
	slices.SortStableFunc(i.history, func(x, y AttemptInfo) int { return cmp.Compare(x.Attempt, y.Attempt) })
	i.history = slices.CompactFunc(i.history, func(x, y AttemptInfo) bool { return x.Attempt == y.Attempt })
	switch {
	case s.Status == storage.StatusExecuting:
		b.Open = &record.OpenAttempt{Owner: "imported", Started: s.Started}
	case s.Status == storage.StatusWaiting:
		b.NextAt, b.Delay = s.NextAt, max(s.Delay, 0)
	case record.Finished(s.Status):
		b.Ended = now
		if s.Status == storage.StatusDead {
			b.Dead = now
		}
	}
	return i
}

// recordedState returns what was imported before.
func recordedState(r storage.Record, entries []storage.Entry) (i importState, err error) {
	i.status = r.Status
	if i.body, err = record.Decode[record.Step](r); err != nil {
		return i, err
	}
	b := &i.body
	if r.Status == storage.StatusWaiting {
		b.Call.Waited, b.Call.Previous = b.Call.Waited-b.Delay, 0 // see write
	}
	i.result = b.Result
	for _, entry := range entries {
		switch {
		case entry.Part == 0:
			a, err := attemptInfo(entry)
			if err != nil {
				return i, err
			}
			i.history = append(i.history, a)
		case b.Result != nil && b.Result.Entry == entry.Attempt && entry.Part == record.ResultPart:
			i.result = &record.Payload{Bytes: entry.Result}
		}
	}
	return i, nil
}

// endedAttempt returns the number of the last attempt whose end is known.
func endedAttempt(b *record.Step) int {
	if b.Open != nil {
		return b.Attempts - 1
	}
	return b.Attempts
}

// finality orders the states that attempts of others do not change.
var finality = map[storage.Status]int{storage.StatusFailed: 1, storage.StatusDead: 2, storage.StatusSucceeded: 3}

// merge adds what another source says. Apart from conflicts, the order of sources
// does not matter, and a source that was merged before changes nothing.
func (i *importState) merge(o importState, conflict func(format string, args ...any)) {
	a, b := &i.body, &o.body
	ended := max(endedAttempt(a), endedAttempt(b))
	if b.Attempts > a.Attempts {
		a.Attempts, a.Open = b.Attempts, b.Open
		a.Policy = cmp.Or(b.Policy, a.Policy)
	}
	if ended == a.Attempts {
		a.Open = nil
	}
	a.Policy = cmp.Or(a.Policy, b.Policy)
	if a.Limit == 0 || b.Limit > 0 && b.Limit < a.Limit {
		a.Limit = b.Limit
	}
	mergeCalls(&a.Call, &b.Call)
	switch c := a.NextAt.Compare(b.NextAt); {
	case c < 0:
		a.NextAt, a.Delay = b.NextAt, b.Delay
	case c == 0 && (a.Delay == 0 || b.Delay > 0 && b.Delay < a.Delay):
		a.Delay = b.Delay
	}
	a.Correlation, a.Reason = least(a.Correlation, b.Correlation), least(a.Reason, b.Reason)
	a.First, a.Ended, a.Dead = earliest(a.First, b.First), earliest(a.Ended, b.Ended), earliest(a.Dead, b.Dead)
	switch {
	case finality[o.status] > finality[i.status]:
		i.status = o.status
	case finality[i.status] == 0 && o.status == storage.StatusInDoubt:
		i.status = o.status
	}
	switch {
	case i.result == nil:
		i.result = o.result
	case o.result != nil && !bytes.Equal(i.result.Data(), o.result.Data()):
		conflict("has succeeded with different results: the first one counts")
	}
	i.mergeHistory(o.history, conflict)
}

// mergeHistory adds the attempts of another source.
func (i *importState) mergeHistory(history []AttemptInfo, conflict func(format string, args ...any)) {
	for _, a := range history {
		at, found := slices.BinarySearchFunc(i.history, a.Attempt, func(x AttemptInfo, number int) int {
			return cmp.Compare(x.Attempt, number)
		})
		switch {
		case !found:
			i.history = slices.Insert(i.history, at, a)
		case !sameAttempt(&i.history[at], &a):
			conflict("has different records of attempt %d: the first one counts, %s", a.Attempt, i.history[at].summary())
		}
	}
}

func sameAttempt(a, b *AttemptInfo) bool {
	return a.Outcome == b.Outcome && a.Error == b.Error &&
		(a.Started.IsZero() || b.Started.IsZero() || a.Started.Equal(b.Started))
}

// summary returns an attempt for messages.
func (a *AttemptInfo) summary() string {
	if a.Error == "" {
		return string(a.Outcome)
	}
	return fmt.Sprintf("%s: %.60q", a.Outcome, a.Error)
}

// settle derives the state from what was merged.
func (i *importState) settle() {
	b := &i.body
	if finality[i.status] == 0 && i.status != storage.StatusInDoubt {
		switch {
		case b.Limit > 0 && b.Call.Attempts >= b.Limit:
			i.status, b.Reason = storage.StatusFailed, cmp.Or(b.Reason, retry.ErrAttempts)
		case b.Open != nil:
			i.status = storage.StatusExecuting
		case !b.NextAt.IsZero():
			i.status = storage.StatusWaiting
		default:
			i.status = storage.StatusOpen
		}
	}
	if i.status != storage.StatusExecuting {
		b.Open = nil
	}
	if i.status != storage.StatusWaiting {
		b.NextAt, b.Delay = time.Time{}, 0
	}
	if i.status == storage.StatusSucceeded {
		b.Reason, b.Dead = "", time.Time{}
	}
	b.Error = nil
	if n := len(i.history); n > 0 && i.status != storage.StatusSucceeded && i.history[n-1].Error != "" {
		b.Error = &record.Error{Class: i.history[n-1].Class, Text: i.history[n-1].Error}
	}
}

// equal reports whether two states that have been settled are the same.
func (i *importState) equal(o *importState) bool {
	if i.status != o.status || len(i.history) != len(o.history) || (i.result == nil) != (o.result == nil) {
		return false
	}
	x, _ := json.Marshal(i.body) // of plain data
	y, _ := json.Marshal(o.body)
	return bytes.Equal(x, y)
}

// exceeds reports whether a state says more than the record of a step that was
// executed since.
func (i *importState) exceeds(known *importState) bool {
	return i.body.Attempts > known.body.Attempts ||
		i.status == storage.StatusSucceeded && known.status != storage.StatusSucceeded
}

// write adds the records of the step.
func (i *importState) write(w *storage.Writes, r, run storage.Record, now time.Time) error {
	if record.Finished(i.status) && i.body.Ended.IsZero() {
		i.body.Ended = now
	}
	if i.status == storage.StatusWaiting {
		i.body.Call.Waited += min(i.body.Delay, 1<<63-1-i.body.Call.Waited)
		i.body.Call.Previous = i.body.Delay
	}
	r.Status, r.Bucket = i.status, run.Bucket
	body := i.body
	if i.status == storage.StatusSucceeded && i.result != nil {
		w.Add = append(w.Add, body.KeepResult(r, now, *i.result)...)
	}
	if err := record.EncodeStep(&r, &body); err != nil {
		return err
	}
	w.Put = append(w.Put, r)
	for _, a := range i.history { // those that are recorded are not added again
		w.Add = append(w.Add, record.NewEntry(r, now, a.Attempt, 0, record.Entry{
			Outcome: a.Outcome, Started: a.Started, Duration: a.Duration, Class: a.Class, Error: a.Error, Wait: a.Wait,
			Reason: a.Reason, Owner: a.Owner, Correlation: a.Correlation,
		}))
	}
	return nil
}

// mergeCalls adds what another source says to the state of a call.
func mergeCalls(a, b *retry.CallState) {
	a.Attempts, a.Refusals, a.Lost = max(a.Attempts, b.Attempts), max(a.Refusals, b.Refusals), max(a.Lost, b.Lost)
	a.Waited, a.Previous = max(a.Waited, b.Waited), max(a.Previous, b.Previous)
	a.FailedAt, a.Expires = earliest(a.FailedAt, b.FailedAt), earliest(a.Expires, b.Expires)
	a.Deadline = earliest(a.Deadline, b.Deadline)
}

// least returns the lesser of two texts, of which an empty one is none.
func least[S ~string](a, b S) S {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// earliest returns the earlier of two times, of which a zero one is none.
func earliest(a, b time.Time) time.Time {
	if record.Earlier(b, a) {
		return b
	}
	return a
}
