package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An ImportedStep is the state of a step as recorded by another system: see
// [Client.Import].
type ImportedStep struct {
	Name   string
	ID     genapi.StepID
	Scope  []string // names of its scopes, starting with the outermost one: see durable.Scope
	Policy string   // name of its policy

	// Status is StatusOpen, StatusWaiting, StatusExecuting, StatusInDoubt,
	// StatusSucceeded, StatusFailed or StatusDead. StatusExecuting means that the step's
	// last attempt was in progress when its process died. The attempt is lost, and the
	// step's policy decides what happens next.
	Status storage.Status
	// Result is the result of a step that has succeeded. Nil means that the result is
	// unknown. In that case, a call to the step returns an error that matches
	// [ErrResult].
	Result      any
	State       retry.CallState // state of the call; Waited does not include the wait that ends at NextAt
	Attempts    int             // number of the last attempt, including lost ones
	MaxAttempts int             // the limit on attempts in the other system; 0 if unknown
	Started     time.Time       // start of the last attempt, if the Status is StatusExecuting
	NextAt      time.Time
	Delay       time.Duration // length of the wait that ends at NextAt, and its upper limit; zero if unknown
	Reason      retry.Reason  // why a failed step was not retried further
	Correlation string
	History     []AttemptInfo // the attempts of the step; their Run and Step are ignored

	result *record.Payload // the encoded Result
}

// An ImportReport describes what [Client.Import] has done.
type ImportReport struct {
	Added, Changed, Unchanged int // numbers of steps
	Conflicts                 []ImportConflict
}

// An ImportConflict describes how a step's entries contradict each other or the recorded
// state.
type ImportConflict struct {
	Step string // id of the step
	Text string // what differs, and which value is used
}

// Import records the steps of a run that was partly executed by another system. The run
// continues with their next attempts. If there are several entries for the same step, in
// one import or in successive ones, they are merged as follows, regardless of their
// order:
//
//   - The number of attempts is the largest number in any entry, never the sum. The limit
//     is the smallest limit in any entry.
//   - If the step has succeeded in any entry, it has succeeded. Otherwise, if it is a
//     dead letter in any entry, it is a dead letter. Otherwise, if it has failed in any
//     entry, it has failed.
//   - In all other cases, the latest next attempt and the earliest end of a budget apply.
//
// Importing the same entries again changes nothing, even if the run has been executed in
// the meantime. An import never changes a step that an engine has executed or an operator
// has changed. The error matches [ErrConflict] if the run was not imported, or if the
// import would change a run that has ended or is being executed.
func (c *Client) Import(
	ctx context.Context, run string, steps []ImportedStep, by ...events.Operator,
) (ImportReport, error) {
	if err := record.CheckRunID(run); err != nil {
		return ImportReport{}, err
	}
	if c.ns.Check != nil {
		if err := c.ns.Check(run); err != nil {
			return ImportReport{}, err
		}
	}
	im := importing{steps: map[storage.Key][]ImportedStep{}, by: operator(by)}
	for i, s := range steps {
		if err := im.add(c.ns, run, i, s); err != nil {
			return ImportReport{}, err
		}
	}
	keys := make([]storage.Key, 0, len(im.steps))
	for key := range im.steps {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, storage.Key.Compare)
	var report ImportReport
	runKey := c.ns.Key(storage.KindRun, run, "")
	for first := true; first || len(keys) > 0; first = false {
		batch := keys[:min(100, len(keys))]
		keys = keys[len(batch):]
		r, err := im.batch(ctx, c.ns, runKey, batch)
		if err != nil {
			return report, err
		}
		report.Added, report.Changed = report.Added+r.Added, report.Changed+r.Changed
		report.Unchanged += r.Unchanged
		report.Conflicts = append(report.Conflicts, r.Conflicts...)
	}
	return report, nil
}

// An importing is an import in progress.
type importing struct {
	by    events.Operator
	steps map[storage.Key][]ImportedStep // in the order of the import

	// Of the steps of a batch that are recorded, as they were read:
	versions map[storage.Key]uint64
	known    map[storage.Key][]storage.Entry // their history
}

// batch imports some of the steps.
func (im *importing) batch(
	ctx context.Context, n *namespace.Namespace, run storage.Key, keys []storage.Key,
) (report ImportReport, err error) {
	for {
		if err := im.read(ctx, n, keys); err != nil {
			return report, err
		}
		err = n.Update(ctx, append([]storage.Key{run}, keys...), func(tx storage.Tx) (w storage.Writes, err error) {
			w, report, err = im.decide(tx, run, keys)
			return w, err
		})
		if err != errRunChanged {
			return report, err
		}
	}
}

// add adds the step with an index.
func (im *importing) add(n *namespace.Namespace, run string, i int, s ImportedStep) error {
	prefix := ""
	for _, name := range s.Scope {
		prefix = record.ScopeIn(prefix, name)
	}
	id, err := s.ID.Path(prefix, s.Name)
	if err != nil {
		return fmt.Errorf("step %d of the import: %w", i+1, err)
	}
	switch s.Status {
	case storage.StatusOpen, storage.StatusWaiting, storage.StatusExecuting, storage.StatusInDoubt,
		storage.StatusSucceeded, storage.StatusFailed, storage.StatusDead:
	default:
		return fmt.Errorf("step %q of the import: status %v: %w", id, s.Status, fault.ErrConflict)
	}
	if s.Status == storage.StatusSucceeded && s.Result != nil {
		p := record.NewPayload(n.Codec, s.Result)
		if err := p.Refused(); err != nil {
			return fmt.Errorf("step %q of the import: %w", id, err)
		}
		s.result = &p
	}
	key := n.Key(storage.KindStep, run, id)
	im.steps[key] = append(im.steps[key], s)
	return nil
}

// read reads the history of steps.
func (im *importing) read(ctx context.Context, n *namespace.Namespace, keys []storage.Key) error {
	im.versions, im.known = map[storage.Key]uint64{}, map[storage.Key][]storage.Entry{}
	records, err := n.Store.Get(ctx, keys)
	if err != nil {
		return err
	}
	for _, r := range records {
		if im.versions[r.Key] = r.Version; r.Version == 0 {
			continue
		}
		for entry, err := range n.Entries(ctx, r.Key) {
			if err != nil {
				return err
			}
			im.known[r.Key] = append(im.known[r.Key], entry)
		}
	}
	return nil
}

// decide records steps of a run.
func (im *importing) decide(
	tx storage.Tx, runKey storage.Key, steps []storage.Key,
) (w storage.Writes, report ImportReport, err error) {
	run := tx.Record(runKey)
	b, err := record.Decode[record.Run](run)
	switch {
	case err != nil:
		return w, report, err
	case run.Version == 0:
		run.Status, run.Bucket, run.Created = storage.StatusOpen, record.Month(tx.Now), tx.Now
	case b.Imports == 0:
		return w, report, fmt.Errorf("run %q exists, and was not imported: %w", run.Key.Run, fault.ErrConflict)
	}
	for _, step := range steps {
		if err := im.step(&w, &report, tx.Record(step), run, tx.Now); err != nil {
			return w, report, err
		}
	}
	closed := run.Owner != "" || run.Status.EndsRun() && run.Status != storage.StatusFailed
	if closed && report.Added+report.Changed > 0 {
		return w, report, fmt.Errorf("run %q is %v or being executed: nothing is imported: %w",
			run.Key.Run, run.Status, fault.ErrConflict)
	}
	if run.Version == 0 || report.Added+report.Changed > 0 {
		b.Imports++
		w.Add = append(w.Add, newAudit(run, tx.Now, ActionImported, im.by))
		err = record.Encode(&run, &b)
		w.Put = append(w.Put, run)
	}
	return w, report, err
}

// step merges what is imported about a step with its record.
func (im *importing) step(w *storage.Writes, report *ImportReport, r, run storage.Record, now time.Time) error {
	conflict := func(format string, args ...any) {
		report.Conflicts = append(report.Conflicts, ImportConflict{r.Key.ID, fmt.Sprintf(format, args...)})
	}
	if r.Version != im.versions[r.Key] {
		return errRunChanged
	}
	var s importState
	for i, imported := range im.steps[r.Key] {
		if i == 0 {
			s = imported.state(now)
		} else {
			s.merge(imported.state(now), conflict)
		}
	}
	if r.Version == 0 {
		s.settle()
		report.Added++
		return s.write(w, r, run, now)
	}
	known, err := recordedState(r, im.known[r.Key])
	if err != nil {
		return err
	}
	if r.Fence > 0 { // an engine or an operator has changed it
		if s.settle(); s.exceeds(&known) {
			conflict("is imported as %v with %d attempts; it has been executed or changed since: the record stays, %v with %d",
				s.status, s.body.Attempts, known.status, known.body.Attempts)
		}
		report.Unchanged++
		return nil
	}
	before := known
	before.history = slices.Clone(known.history)
	known.merge(s, conflict)
	known.settle()
	if known.equal(&before) {
		report.Unchanged++
		return nil
	}
	report.Changed++
	return known.write(w, r, run, now)
}
