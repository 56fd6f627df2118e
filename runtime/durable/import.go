package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// An ImportedStep is the state of a step that another system has recorded: see
// [Engine.Import].
type ImportedStep struct {
	Name   string
	ID     StepID
	Scope  []string // the names of its scopes, the outermost first: see [Scope]
	Policy string   // the name of its policy

	// Status is StatusOpen, StatusWaiting, StatusInDoubt, StatusSucceeded,
	// StatusFailed or StatusDead.
	Status Status
	// Result is that of a step that has succeeded. Nil means that it is not known:
	// a call of the step returns an error that matches [ErrResult].
	Result      any
	State       retry.CallState
	Attempts    int // the number of the last attempt, those that were lost included
	NextAt      time.Time
	Delay       time.Duration // the wait that ends at NextAt; no wait is longer. Zero: not known
	Reason      retry.Reason  // why a failed step was not retried further
	Correlation string
	History     []AttemptInfo // Run and Step are not looked at

	result *payload // the encoded Result
}

// Import records steps of a run that another system has executed in part: the
// run continues with their next attempts. Several entries for the same step are
// merged; the one with the most attempts counts. A step that is recorded already
// with as many attempts is not changed, so that an import may be repeated. The
// error matches [ErrConflict] for a run that was not imported, has ended, or is
// being executed.
func (e *Engine) Import(ctx context.Context, run string, steps []ImportedStep) error {
	if err := checkRunID(run); err != nil {
		return err
	}
	merged, keys, err := e.mergeImported(ctx, run, steps)
	if err != nil {
		return err
	}
	runKey := e.key(KindRun, run, "")
	for batch := range slices.Chunk(append([]Key{runKey}, keys...), 100) {
		selected := batch
		if batch[0] != runKey {
			selected = append([]Key{runKey}, batch...)
		}
		err := e.update(ctx, selected, func(tx Tx) (Writes, error) { return decideImport(tx, merged) })
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeImported returns the steps by their keys, and the keys in order.
func (e *Engine) mergeImported(ctx context.Context, run string,
	steps []ImportedStep) (map[Key]ImportedStep, []Key, error) {
	merged := map[Key]ImportedStep{}
	var keys []Key
	for i, s := range steps {
		scoped := ctx
		for _, name := range s.Scope {
			scoped = Scope(scoped, name)
		}
		id, err := fullID(scoped, s.Name, s.ID)
		if err != nil {
			return nil, nil, fmt.Errorf("step %d of the import: %w", i+1, err)
		}
		switch s.Status {
		case StatusOpen, StatusWaiting, StatusInDoubt, StatusSucceeded, StatusFailed, StatusDead:
		default:
			return nil, nil, fmt.Errorf("step %q of the import: status %v: %w", id, s.Status, ErrConflict)
		}
		if s.Status == StatusSucceeded && s.Result != nil {
			p := encode(e.codec, s.Result)
			if p.Refuse != "" {
				return nil, nil, &ResultError{Step: id, Type: p.Type, Err: errors.New(p.Refuse)}
			}
			s.result = &p
		}
		key := e.key(KindStep, run, id)
		known, ok := merged[key]
		if !ok {
			keys = append(keys, key)
		}
		if !ok || s.Attempts > known.Attempts {
			merged[key] = s
		}
	}
	slices.SortFunc(keys, Key.Compare)
	return merged, keys, nil
}

// decideImport records steps. The first record is that of the run.
func decideImport(tx Tx, steps map[Key]ImportedStep) (Writes, error) {
	var w Writes
	run := tx.Records[0]
	b, err := open[runBody](run)
	switch {
	case err != nil:
		return w, err
	case run.Version == 0:
		run.Status, run.Bucket = StatusOpen, month(tx.Now)
		b = runBody{Created: tx.Now, Keep: defaultKeep, Imported: true}
		if err := write(&run, &b); err != nil {
			return w, err
		}
		w.Put = append(w.Put, run)
	case !b.Imported || run.Owner != "" || run.Fence > 0:
		return w, fmt.Errorf("run %q exists, and was not only imported: %w", run.Key.Run, ErrConflict)
	}
	for _, r := range tx.Records[1:] {
		s := steps[r.Key]
		known, err := open[stepBody](r)
		if err != nil {
			return w, err
		}
		if r.Version != 0 && known.Attempts >= s.Attempts {
			continue
		}
		if err := s.write(&w, r, run, tx.Now); err != nil {
			return w, err
		}
	}
	return w, nil
}

// write adds the records of an imported step.
func (s *ImportedStep) write(w *Writes, r, run Record, now time.Time) error {
	body := stepBody{
		Name: s.Name, Policy: s.Policy, Call: s.State, Attempts: s.Attempts, Reason: s.Reason, Correlation: s.Correlation,
		First: now, Imported: true,
	}
	if len(s.History) > 0 {
		body.First = s.History[0].Started
		last := s.History[len(s.History)-1]
		if last.Error != "" {
			body.Error = &recordedError{Class: last.Class, Text: clip(last.Error)}
		}
	}
	switch {
	case s.Status == StatusWaiting:
		body.NextAt, body.Delay = s.NextAt, s.Delay
		if s.Delay <= 0 {
			body.Delay = max(s.NextAt.Sub(now), 0)
		}
	case finished(s.Status):
		body.Ended = now
		if s.Status == StatusDead {
			body.Dead = now
		}
	}
	r.Status, r.Bucket = s.Status, run.Bucket
	r.Attention = attention(s.Status)
	v := stepView{now: now, step: r, run: run, body: body}
	if s.result != nil {
		v.keepResult(*s.result)
	}
	if err := write(&r, &v.body); err != nil {
		return err
	}
	w.Put, w.Add = append(w.Put, r), append(w.Add, v.w.Add...)
	for _, a := range s.History {
		w.Add = append(w.Add, v.newEntry(a.Attempt, 0, entryBody{
			Outcome: a.Outcome, Started: a.Started, Duration: a.Duration, Class: a.Class, Error: clip(a.Error), Wait: a.Wait,
			Reason: a.Reason, Owner: a.Owner, Correlation: a.Correlation,
		}))
	}
	return nil
}
