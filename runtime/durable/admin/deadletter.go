package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
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

// An Eligibility is advice on whether to requeue a dead letter, for a person or a
// program.
type Eligibility string

// The eligibilities.
const (
	// EligibleReprocess means that the cause of the failure may be gone. Such causes are
	// timeouts, network and server errors, rate limits, temporary problems, and a lack of
	// resources.
	EligibleReprocess Eligibility = "reprocess"
	// EligibleReview means that a retry would fail again, or that the step may have taken
	// effect. Examples are missing permission, denied access, invalid or corrupted data,
	// a permanent error, and a lost attempt.
	EligibleReview Eligibility = "review"
	// EligibleUnknown means any other failure.
	EligibleUnknown Eligibility = "unknown"
)

// eligibilities is the table of what decides, the first row that matches: why
// retrying stopped, else the class of the last error, else the words of its
// text. Words are also looked for in the name of a class. A word counts in upper
// or lower case, with no letter or digit next to it.
var eligibilities = []struct {
	reasons []retry.Reason
	classes []retry.Class
	words   *regexp.Regexp
	is      Eligibility
}{
	{
		reasons: []retry.Reason{retry.ErrPermanent, retry.ErrLost, retry.ErrSpent},
		words:   wholeWords("permission", "access denied", "validation", "corrupted", "critical", "fatal"),
		is:      EligibleReview,
	},
	{
		reasons: []retry.Reason{retry.ErrBreakerOpen, retry.ErrRetryAfter},
		classes: []retry.Class{
			retry.ClassNetwork, retry.ClassTimeout, retry.ClassServerError, retry.ClassRateLimit, retry.ClassBreakerOpen,
		},
		words: wholeWords("timeout", "timed out", "network", "temporary", "rate limit", "resource"),
		is:    EligibleReprocess,
	},
}

// wholeWords returns an expression that matches any of some words.
func wholeWords(words ...string) *regexp.Regexp {
	pattern := strings.ReplaceAll(strings.Join(words, "|"), " ", `[ _-]`)
	return regexp.MustCompile(`(?i)(^|[^\pL\pN])(` + pattern + `)($|[^\pL\pN])`)
}

// eligibilityOf returns the eligibility of a dead letter.
func eligibilityOf(reason retry.Reason, class retry.Class, text string) Eligibility {
	for _, row := range eligibilities {
		if slices.Contains(row.reasons, reason) {
			return row.is
		}
	}
	for _, row := range eligibilities {
		if slices.Contains(row.classes, class) {
			return row.is
		}
	}
	for _, text := range [...]string{string(class), text} {
		for _, row := range eligibilities {
			if row.words.MatchString(text) {
				return row.is
			}
		}
	}
	return EligibleUnknown
}

// defaultRate is how many dead letters RequeueDead requeues in a second.
const defaultRate = 10

// RequeueRate sets how many dead letters [Client.RequeueDead] requeues per second. The
// default is 10, so that steps that failed together are not all retried at once. The dead
// letters of one run are executed together, so RequeueDead waits only between runs: for
// example, it waits for two seconds after a run with 20 dead letters. With 0 or less, it
// does not wait.
func RequeueRate(perSecond float64) RequeueOption {
	return func(q *requeue) { q.rate = perSecond }
}

// Only restricts [Client.RequeueDead] to the selected dead letters for which f returns
// true.
func Only(f func(StepInfo) bool) RequeueOption {
	return func(q *requeue) { q.only = f }
}

// A Requeued describes what [Client.RequeueDead] did with one dead letter.
type Requeued struct {
	Letter StepInfo // the dead letter as it was listed
	// Err is the reason why the dead letter was not requeued, or nil. It matches
	// [ErrConflict] if an engine is executing the run or the run has ended permanently,
	// and [ErrNotFound] if the step has been deleted in the meantime.
	Err error
}

// errNotDead means that a step is not a dead letter any more.
var errNotDead = fmt.Errorf("the step is not a dead letter: %w", fault.ErrConflict)

// RequeueDead requeues the dead letters that a filter selects, ordered by run and id,
// each in a separate transaction: see [Client.Requeue] and [RequeueRate]. The filter's
// Status and DeadLetter are ignored. Each dead letter is reported after it has been
// requeued or skipped. To stop, break out of the loop. The sequence ends at the first
// store error and when ctx ends.
//
// The dead letters of a run are requeued as one operation. Workers execute the run after
// its last dead letter has been requeued. The operation may end early because the process
// dies, the store fails, or the loop pauses for longer than a lease (see durable.Lease).
// In this case, workers execute the run one lease after the last requeued step. The other
// steps remain dead letters.
//
// RequeueDead may be called again, even by several programs at the same time. A requeued
// dead letter is not requeued a second time unless its attempts are exhausted again. To
// continue after the last reported dead letter, set AfterRun and AfterStep in the filter.
func (c *Client) RequeueDead(ctx context.Context, f Filter, options ...RequeueOption) iter.Seq2[Requeued, error] {
	f.Status, f.DeadLetter = []storage.Status{storage.StatusDead}, true
	return func(yield func(Requeued, error) bool) {
		b := c.newBulkRequeue(newRequeue(options))
		b.options.deadOnly = true
		for letter, err := range c.Steps(ctx, f) {
			if err == nil && b.options.only != nil && !b.options.only(letter) {
				continue
			}
			if err == nil {
				err = b.enter(ctx, letter.Run)
			}
			if err != nil {
				yield(Requeued{}, err)
				return
			}
			err = b.requeue(ctx, letter.Step)
			if err == errNotDead {
				continue // somebody was faster, or it was requeued with its unit
			}
			if err != nil && !errors.Is(err, fault.ErrConflict) && !errors.Is(err, fault.ErrNotFound) {
				yield(Requeued{Letter: letter}, err)
				return
			}
			if !yield(Requeued{Letter: letter, Err: err}, nil) {
				_ = b.leave(ctx) // or the run is due after a lease
				return
			}
		}
		if err := b.leave(ctx); err != nil {
			yield(Requeued{}, err)
		}
	}
}

// RequeueFailed requeues all failed steps of a run, including dead letters, as one
// operation: see [Client.RequeueDead]. It is not an error if an engine executes a step in
// the meantime, or if a step was requeued together with another one.
func (c *Client) RequeueFailed(ctx context.Context, run string, options ...RequeueOption) error {
	q := storage.Query{Kind: storage.KindStep, Space: c.ns.Space, Run: run, Status: []storage.Status{
		storage.StatusFailed, storage.StatusDead,
	}}
	b := c.newBulkRequeue(newRequeue(options))
	b.run = run
	err := c.ns.Each(ctx, q, func(r storage.Record) error {
		err := b.requeue(ctx, r.Key.ID)
		if errors.Is(err, fault.ErrConflict) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.leave(ctx)
}

// A bulkRequeue requeues the steps of one run after another. It keeps the run
// from workers by a time at which it is due, a lease ahead, until its last step was
// requeued. The death of this process delays the run, and does not stop it.
type bulkRequeue struct {
	c       *Client
	options requeue

	run   string    // whose steps are being requeued, or ""
	begun time.Time // with them
	n     int       // that were requeued
	fence uint64    // of the run since the last of them
}

func (c *Client) newBulkRequeue(options requeue) *bulkRequeue {
	options.delay = c.ns.Lease
	return &bulkRequeue{c: c, options: options}
}

// enter begins with the letters of a run, unless it has.
func (b *bulkRequeue) enter(ctx context.Context, run string) error {
	if run == b.run {
		return nil
	}
	if err := b.leave(ctx); err != nil {
		return err
	}
	var wait time.Duration
	if b.options.rate > 0 {
		wait = time.Until(b.begun.Add(time.Duration(float64(b.n) / b.options.rate * float64(time.Second))))
	}
	if !namespace.Pause(ctx, wait) {
		return context.Cause(ctx)
	}
	b.run, b.begun, b.n = run, time.Now(), 0
	return nil
}

// requeue requeues a step of the run.
func (b *bulkRequeue) requeue(ctx context.Context, step string) error {
	fence, err := b.c.requeue(ctx, b.run, step, b.options)
	if err == nil {
		b.n, b.fence = b.n+1, fence
	}
	return err
}

// leave makes the run due at once, unless something has happened to it since its last
// step was requeued.
func (b *bulkRequeue) leave(ctx context.Context) error {
	if b.fence == 0 {
		return nil
	}
	key := b.c.ns.Key(storage.KindRun, b.run, "")
	err := b.c.ns.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(key)
		if r.Fence == b.fence && r.Owner == "" && r.Status == storage.StatusOpen && r.Due.After(tx.Now) {
			r.Due = tx.Now
			w.Put = []storage.Record{r}
		}
		return w, nil
	})
	if err == nil {
		b.c.ns.Notify(b.run)
		b.fence = 0
	}
	return err
}

// Discard removes a step from the dead letters, so that it is no longer listed and no
// longer keeps its run from being deleted. Calls to the step return the recorded error as
// before. The history is kept until the run is deleted. It records who discarded the step
// and why, so by must include a reason. A discarded step can still be requeued. Discard
// does not change the state of the run. It may be called while an engine is executing the
// run.
//
// In a run that was canceled or has timed out, a step in doubt can also be discarded. If
// the step does not exist, the error matches [ErrNotFound]. If it is in any other state,
// the error matches [ErrConflict]. It is not an error to discard a step twice.
func (c *Client) Discard(ctx context.Context, run, step string, by events.Operator) error {
	if by = operator([]events.Operator{by}); by.Reason == "" {
		return fmt.Errorf("discarding step %q of run %q: say why, as in By(name, reason)", step, run)
	}
	changed := false
	runKey, stepKey := c.ns.Key(storage.KindRun, run, ""), c.ns.Key(storage.KindStep, run, step)
	err := c.ns.Update(ctx, []storage.Key{runKey, stepKey}, func(tx storage.Tx) (storage.Writes, error) {
		o := operation{now: tx.Now, by: by, step: tx.Record(stepKey)}
		var err error
		if o.body, err = record.Decode[record.Step](o.step); err != nil {
			return storage.Writes{}, err
		}
		switch s := o.step.Status; {
		case o.step.Version == 0:
			return storage.Writes{}, fmt.Errorf("step %q of run %q: %w", step, run, fault.ErrNotFound)
		case s == storage.StatusDiscarded:
			return storage.Writes{}, nil
		case s == storage.StatusDead, record.Blocked(s) && tx.Record(runKey).Status.IsOver():
		default:
			return storage.Writes{}, fmt.Errorf(
				"step %q of run %q is %v, not a dead letter: %w", step, run, s, fault.ErrConflict,
			)
		}
		changed = true
		o.step.Status = storage.StatusDiscarded
		o.record(events.OutcomeDiscarded, "")
		err = record.EncodeStep(&o.step, &o.body)
		return storage.Writes{Put: []storage.Record{o.step}, Add: o.add}, err
	})
	if changed && err == nil {
		c.ns.Event(ctx, events.Event{Kind: events.EventDiscarded, Run: run, Step: step, By: by})
	}
	return err
}
