package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A StepInfo describes a step.
type StepInfo struct {
	Run, Step string // Step is the step's id, or possibly its name during the first attempt of a durable.Job
	Name      string
	Policy    string // name of the policy
	Status    storage.Status
	Attempts  int // attempts made, including lost ones
	// Failures, Lost and Refusals are the policy's counts since the step was last
	// requeued. Refusals by an open breaker count toward MaxAttempts, but are not
	// attempts.
	Failures, Lost, Refusals int
	Interrupted              int           // interrupted attempts since the last attempt that ended on its own
	Waited                   time.Duration // sum of the waits before all attempts
	NextAt                   time.Time     // start of the next attempt, if the step waits for it
	First                    time.Time     // start of the first attempt
	Started                  time.Time     // start of the attempt in progress, if recorded
	Ended                    time.Time
	Reason                   retry.Reason // why the step failed
	// If the step waits because a breaker has refused its next attempt, Refusal is that
	// refusal. Otherwise it is nil.
	Refusal     *retry.Refusal
	Class       retry.Class // class of the last error
	Error       string
	Correlation string
	Retries     int    // retries that budgets granted; for a unit, the retries of all its steps
	Key         string // idempotency key, or "" while the id is unknown
	// If the step records the end of a group's unit, Group is the id of the group and
	// Unit is the name of the unit. For all other steps, including the steps that the
	// unit calls, both are "".
	Group, Unit string
	Child       string // the run that the step has started, or ""
	// DeadLetter is the time when the step became a dead letter, or zero. A requeued step
	// remains a dead letter until it has succeeded.
	DeadLetter  time.Time
	Eligibility Eligibility // eligibility of a dead letter; "" for other steps
	Pause       Pause       // what the step waits for if it calls no function, otherwise ""

	operated bool // by a person
	policyAt int  // of record.Step
	imported bool // and not executed since
}

// An AttemptInfo is an entry in the history of a step.
type AttemptInfo struct {
	Run, Step   string
	Attempt     int // number of the attempt, starting at 1
	Outcome     events.Outcome
	Started     time.Time
	Duration    time.Duration
	Class       retry.Class
	Error       string
	Wait        time.Duration // wait before the next attempt, as it was decided
	Reason      retry.Reason  // why there was no next attempt
	Owner       string        // the engine that made the attempt
	Fence       uint64
	Correlation string
	// Timeouts contains the rows that package recovery captured during the attempt, one
	// per line. Parse them with recovery.ParseRows. At most 100 rows are kept here. The
	// file timeouts.jsonl contains all of them.
	Timeouts string
	// Late reports whether the end of the attempt was rejected because another engine had
	// claimed the run. It can help you decide how to call [Client.Resolve].
	Late bool
	// For an entry with OutcomeResolved, OutcomeRequeued or OutcomeDiscarded, By is the
	// operator who made the change, and Started is the time of the change. Such entries
	// are not attempts. They follow the attempt with the same number.
	By events.Operator
}

// A Filter selects runs, steps and attempts. A zero field selects everything.
type Filter struct {
	Run       string
	Name      string           // name of the step, without the values that identify its calls
	Status    []storage.Status // selects any of these statuses
	Class     []retry.Class    // selects any of these classes, of the last error or of an attempt's error
	Attention bool             // only steps that need attention from a person or a resumed run
	Group     string           // only steps that are units of the group with this id
	Since     time.Time        // selects items that ended (or, if unfinished, began) at or after this time
	Until     time.Time        // selects items that ended, or began, before this time

	DeadLetter  bool        // only dead letters, including requeued ones that have not succeeded since
	Eligibility Eligibility // eligibility of dead letters

	// AfterRun and AfterStep name a step. Only the steps that follow it in the order of
	// runs and ids are selected. To get the next page, set them to the last step of the
	// current page.
	AfterRun, AfterStep string
	// Limit is the maximum number of steps or budgets to return. Zero means all.
	Limit int
}

// query returns the query for the steps that f may select.
func (f *Filter) query(space string) storage.Query {
	q := storage.Query{
		Kind: storage.KindStep, Space: space, Run: f.Run, Status: f.Status, Attention: f.Attention || f.DeadLetter,
	}
	q.Limit = max(min(f.Limit, storage.MaxPage), 0) // at a time
	if len(f.Status) > 0 {                          // an index has the records with attention
		q.Attention = f.Attention || !slices.ContainsFunc(
			f.Status, func(s storage.Status) bool { return !record.Attention(s) },
		)
	}
	if f.Group != "" {
		units := record.GroupIDsOf(f.Group).Units
		q.FromID, q.BeforeID = units, record.Following(units)
	}
	switch {
	case f.Run == "" && f.AfterRun != "":
		q.From = storage.After(f.AfterRun, f.AfterStep)
	case f.Run != "" && f.AfterStep != "":
		q.From = storage.After(f.Run, f.AfterStep)
	}
	return q
}

// queries returns the queries for the steps that f may select, each in the order of
// their keys: an index has the classes of dead letters.
func (f *Filter) queries(space string) []storage.Query {
	q := f.query(space)
	alive := func(s storage.Status) bool { return s != storage.StatusDead }
	dead := f.DeadLetter && q.Attention || len(f.Status) > 0 && !slices.ContainsFunc(f.Status, alive)
	if len(f.Class) == 0 || !dead {
		return []storage.Query{q}
	}
	var labels []string
	for _, class := range f.Class {
		labels = append(labels, record.DeadLabel(class))
	}
	slices.Sort(labels)
	var queries []storage.Query
	for _, q.Label = range slices.Compact(labels) {
		queries = append(queries, q)
	}
	return queries
}

// step reports whether f selects a step, apart from its class and time.
func (f *Filter) step(s *StepInfo) bool {
	return (f.Name == "" || f.Name == s.Name) && (!f.DeadLetter || !s.DeadLetter.IsZero()) &&
		(f.Eligibility == "" || f.Eligibility == s.Eligibility) && (f.Group == "" || f.Group == s.Group)
}

// within reports whether a time is selected.
func (f *Filter) within(t time.Time) bool {
	return (f.Since.IsZero() || !t.Before(f.Since)) && (f.Until.IsZero() || t.Before(f.Until))
}

func (f *Filter) class(c retry.Class) bool { return len(f.Class) == 0 || slices.Contains(f.Class, c) }

// later returns the end, or the beginning of what has not ended.
func later(ended, began time.Time) time.Time {
	if ended.IsZero() {
		return began
	}
	return ended
}

// Steps returns the steps that a filter selects, ordered by run and id.
func (c *Client) Steps(ctx context.Context, f Filter) iter.Seq2[StepInfo, error] {
	view := c.view
	if f.DeadLetter { // no run stands for one
		view = c.ns
	}
	var sequences []iter.Seq2[StepInfo, error]
	for _, q := range f.queries(c.ns.Space) {
		sequences = append(sequences, sequence(view, ctx, q, func(r storage.Record) (StepInfo, bool, error) {
			s, err := c.stepInfo(r)
			return s, f.step(&s) && f.class(s.Class) && f.within(later(s.Ended, s.First)), err
		}))
	}
	return first(inOrder(sequences, compareSteps), f.Limit)
}

// compareSteps orders steps by run and id.
func compareSteps(a, b *StepInfo) int {
	return cmp.Or(strings.Compare(a.Run, b.Run), strings.Compare(a.Step, b.Step))
}

// Describe returns a step. [Client.Attempts] returns its history. The error
// matches [ErrNotFound] if the step does not exist.
func (c *Client) Describe(ctx context.Context, run, step string) (StepInfo, error) {
	records, err := c.view.Store.Get(ctx, []storage.Key{c.ns.Key(storage.KindStep, run, step)})
	if err == nil && records[0].Version == 0 {
		err = fmt.Errorf("step %q of run %q: %w", step, run, fault.ErrNotFound)
	}
	if err != nil {
		return StepInfo{}, err
	}
	return c.stepInfo(records[0])
}

func (c *Client) stepInfo(r storage.Record) (StepInfo, error) {
	b, err := record.Decode[record.Step](r)
	s := StepInfo{
		Run: r.Key.Run, Step: r.Key.ID, Name: b.Name, Policy: b.Policy, Status: r.Status, Attempts: b.Attempts,
		Failures: b.Call.Attempts, Lost: b.Call.Lost, Refusals: b.Call.Refusals, Interrupted: b.Interrupted,
		Waited: b.Waited + b.Call.Waited, NextAt: b.NextAt, Pause: pauses[b.Function], First: b.First, Ended: b.Ended,
		Reason: b.Reason, Correlation: b.Correlation, DeadLetter: b.Dead, Retries: b.Granted, operated: b.Operations > 0,
		policyAt: b.PolicyAt, imported: b.Imported,
		Child: b.Child,
	}
	if !b.NoID {
		s.Key = record.IdempotencyKey(c.ns.Space, r.Key.Run, r.Key.ID, b.Keys)
	}
	if b.Unit != nil {
		s.Group = record.GroupOf(r.Key.ID)
		s.Unit = record.Unescape(r.Key.ID[len(s.Group)+2:]) // see record.GroupIDs
	}
	if r.Status == storage.StatusWaiting {
		s.Refusal = b.Refusal
	}
	if b.Open != nil {
		s.Started = b.Open.Started
	}
	if b.Error != nil {
		s.Class, s.Error = b.Error.Class, b.Error.Text
	}
	if !b.Dead.IsZero() {
		s.Eligibility = eligibilityOf(b.Reason, s.Class, s.Error)
	}
	return s, err
}

// History returns the attempts of the steps that a filter selects, ordered by run, step
// and number. Class, Since and Until select attempts, and the other fields select steps.
// Limit is ignored.
func (c *Client) History(ctx context.Context, f Filter) iter.Seq2[AttemptInfo, error] {
	f.Limit = 0
	return func(yield func(AttemptInfo, error) bool) {
		steps := sequence(c.view, ctx, f.query(c.ns.Space), func(r storage.Record) (storage.Key, bool, error) {
			s, err := c.stepInfo(r)
			return r.Key, f.step(&s), err
		})
		histories := newHistories(c.view)
		for key, err := range steps {
			if err != nil {
				yield(AttemptInfo{}, err)
				return
			}
			for a, err := range attempts(histories.of(ctx, key)) {
				if err == nil && !(f.class(a.Class) && f.within(a.Started.Add(a.Duration))) {
					continue
				}
				if !yield(a, err) || err != nil {
					return
				}
			}
		}
	}
}

// Attempts returns the attempts of one step, ordered by number.
func (c *Client) Attempts(ctx context.Context, run, step string) iter.Seq2[AttemptInfo, error] {
	return attempts(c.view.Entries(ctx, c.ns.Key(storage.KindStep, run, step)))
}

// attempts returns the attempts among the entries of a step.
func attempts(entries iter.Seq2[storage.Entry, error]) iter.Seq2[AttemptInfo, error] {
	return func(yield func(AttemptInfo, error) bool) {
		for entry, err := range entries {
			var a AttemptInfo
			switch {
			case err == nil && entry.Part == record.ResultPart:
				continue
			case err == nil:
				a, err = attemptInfo(entry)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

func attemptInfo(entry storage.Entry) (AttemptInfo, error) {
	var b record.Entry
	if err := json.Unmarshal(entry.Body, &b); err != nil {
		return AttemptInfo{}, fmt.Errorf("%w: attempt %d of %s: %w", storage.ErrFormat, entry.Attempt, entry.Step, err)
	}
	return AttemptInfo{
		Run: entry.Step.Run, Step: entry.Step.ID, Attempt: entry.Attempt, Outcome: b.Outcome, Started: b.Started,
		Duration: b.Duration, Class: b.Class, Error: b.Error, Wait: b.Wait, Reason: b.Reason, Owner: b.Owner,
		Fence: b.Fence, Correlation: b.Correlation, Late: b.Refused, By: b.By, Timeouts: record.JSONLines(b.Timeouts),
	}, nil
}

// sequence returns the records of a query, converted, without those for which
// convert reports false.
func sequence[T any](
	n *namespace.Namespace, ctx context.Context, q storage.Query, convert func(storage.Record) (T, bool, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := n.Each(ctx, q, func(r storage.Record) error {
			value, selected, err := convert(r)
			if err == nil && selected && !yield(value, nil) {
				stopped = true
				return errStopped
			}
			return err
		})
		if err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}

var errStopped = fmt.Errorf("stopped")

// first returns the first values of a sequence, or all if limit is not positive.
func first[T any](seq iter.Seq2[T, error], limit int) iter.Seq2[T, error] {
	if limit <= 0 {
		return seq
	}
	return func(yield func(T, error) bool) {
		n := 0
		for value, err := range seq {
			if n++; !yield(value, err) || n == limit {
				return
			}
		}
	}
}

// inOrder returns the elements of sorted sequences in their order. The first error
// ends it.
func inOrder[T any](sequences []iter.Seq2[T, error], compare func(a, b *T) int) iter.Seq2[T, error] {
	if len(sequences) == 1 {
		return sequences[0]
	}
	return func(yield func(T, error) bool) {
		type head struct {
			value T
			next  func() (T, error, bool)
		}
		var heads []*head
		// advance reads the next element of h, or removes it at its end.
		advance := func(h *head, keep func()) bool {
			value, err, ok := h.next()
			if err != nil {
				yield(value, err)
				return false
			}
			if h.value = value; ok {
				keep()
			}
			return true
		}
		for _, sequence := range sequences {
			next, stop := iter.Pull2(sequence)
			defer stop()
			h := &head{next: next}
			if !advance(h, func() { heads = append(heads, h) }) {
				return
			}
		}
		for len(heads) > 0 {
			least := 0
			for i, h := range heads {
				if compare(&h.value, &heads[least].value) < 0 {
					least = i
				}
			}
			h := heads[least]
			if !yield(h.value, nil) {
				return
			}
			kept := false
			if !advance(h, func() { kept = true }) {
				return
			}
			if !kept {
				heads = append(heads[:least], heads[least+1:]...)
			}
		}
	}
}

// An OwnerInfo describes an engine that is executing runs or has died.
type OwnerInfo struct {
	Owner   string // the engine's random id
	Host    string
	PID     int
	Started time.Time
	Until   time.Time // end of the engine's lease
	// Dead reports whether the engine's process is known to be dead. If it is, other
	// engines take over its runs before the lease ends.
	Dead bool
	// Handlers lists the handlers, with their versions, of the runs that the engine's
	// worker executes. It is empty for an engine that only calls Run.
	Handlers []string
}

// Owners returns the engines of the namespace that have or had a lease. The records of
// dead engines are kept for an hour.
func (c *Client) Owners(ctx context.Context) iter.Seq2[OwnerInfo, error] {
	live, _ := c.ns.Store.(storage.Liveness)
	q := storage.Query{Kind: storage.KindOwner, Space: c.ns.Space}
	return sequence(c.ns, ctx, q, func(r storage.Record) (OwnerInfo, bool, error) {
		b, err := record.Decode[record.Owner](r)
		o := OwnerInfo{Owner: r.Key.ID, Host: b.Host, PID: b.PID, Started: b.Started, Until: b.Until, Handlers: b.Handlers}
		o.Dead = live != nil && live.Dead(o.Owner)
		return o, true, err
	})
}

// A Pause is what a step waits for if the step calls no function.
type Pause string

// The pauses.
const (
	PauseSleep  Pause = "sleep"  // waits until a time: see [durable.Sleep] and [durable.SleepUntil]
	PauseSignal Pause = "signal" // waits for a signal: see [durable.Wait]
)

// pauses are the pauses by the functions that are called.
var pauses = map[string]Pause{
	record.SleepFunction: PauseSleep, record.UntilFunction: PauseSleep, record.WaitFunction: PauseSignal,
}
