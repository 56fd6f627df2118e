package durable

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
)

// An Eligibility is what to do with a dead letter: advice for a person, or for a
// program that requeues what may succeed now.
type Eligibility string

// The eligibilities.
const (
	// EligibleReprocess is a failure that may be over: a timeout, the network, a
	// server, a rate limit, something temporary, a resource.
	EligibleReprocess Eligibility = "reprocess"
	// EligibleReview is a failure that a retry repeats, or that may have taken
	// effect: permission, access denied, validation, corrupted data, a permanent
	// error, a lost attempt.
	EligibleReview Eligibility = "review"
	// EligibleUnknown is any other failure.
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

// Rate sets how many dead letters [Engine.RequeueDead] requeues in a second. The
// default is 10, so that what has failed together does not come back together.
// With 0 or less, it does not wait.
func Rate(perSecond float64) RequeueOption {
	return requeueOption(func(q *requeue) { q.rate = perSecond })
}

// A Requeued is what [Engine.RequeueDead] did with one dead letter.
type Requeued struct {
	Letter StepInfo // as it was listed
	// Err is why the dead letter was not requeued: it matches [ErrConflict] if an
	// engine executes its run, or if its run has ended for ever, and [ErrNotFound]
	// if it was deleted meanwhile. Otherwise it is nil.
	Err error
}

// errNotDead means that a step is not a dead letter any more.
var errNotDead = fmt.Errorf("the step is not a dead letter: %w", ErrConflict)

// RequeueDead requeues the dead letters that a filter selects, in the order of
// their runs and ids, each in a transaction of its own: see [Engine.Requeue] and
// [Rate]. Status and DeadLetter of the filter are not looked at. Each dead letter
// is reported when it is done; to stop, end the loop. The first error of the
// store, or the end of ctx, ends the sequence. Workers execute a run once its last
// dead letter was requeued, after a second or the time for two of them.
//
// It may be called again, also by several programs at once: a dead letter that
// was requeued is not requeued again before it is exhausted again. To continue
// after the last one that was reported, set AfterRun and AfterStep of the filter.
func (e *Engine) RequeueDead(ctx context.Context, f Filter, options ...RequeueOption) iter.Seq2[Requeued, error] {
	q := newRequeue(options)
	q.deadOnly = true
	// A run that a worker executes after its first dead letter refuses the others.
	if q.delay = time.Second; q.rate > 0 {
		q.delay = max(q.delay, time.Duration(2*float64(time.Second)/q.rate))
	}
	f.Status, f.DeadLetter = []Status{StatusDead}, true
	return func(yield func(Requeued, error) bool) {
		next := time.Now()
		for letter, err := range e.Steps(ctx, f) {
			if err == nil && !pause(ctx, time.Until(next)) {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(Requeued{}, err)
				return
			}
			next = time.Now()
			if q.rate > 0 {
				next = next.Add(time.Duration(float64(time.Second) / q.rate))
			}
			err = e.requeue(ctx, letter.Run, letter.Step, q)
			if err == errNotDead {
				continue // somebody was faster, or it was requeued with its unit
			}
			if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
				yield(Requeued{Letter: letter}, err)
				return
			}
			if !yield(Requeued{Letter: letter, Err: err}, nil) {
				return
			}
		}
	}
}

// Discard gives a dead letter up: it is not listed any more, and its run may
// expire. Its calls return the recorded error as before. The history stays until
// the run expires, with who discarded it and why: by must have a reason. A
// discarded dead letter can still be requeued. The state of the run does not
// change, and an engine may be executing it. A step in doubt can be discarded, too,
// in a run that was canceled or has timed out. The error matches [ErrNotFound], or
// [ErrConflict] for another step; the repetition is not an error.
func (e *Engine) Discard(ctx context.Context, run, step string, by Operator) error {
	if by = operator([]Operator{by}); by.Reason == "" {
		return fmt.Errorf("discarding step %q of run %q: say why, as in By(name, reason)", step, run)
	}
	changed := false
	err := e.update(ctx, []Key{e.key(KindRun, run, ""), e.key(KindStep, run, step)}, func(tx Tx) (Writes, error) {
		o := operation{now: tx.Now, by: by, step: tx.Records[1]}
		var err error
		if o.body, err = open[stepBody](o.step); err != nil {
			return Writes{}, err
		}
		switch s := o.step.Status; {
		case o.step.Version == 0:
			return Writes{}, fmt.Errorf("step %q of run %q: %w", step, run, ErrNotFound)
		case s == StatusDiscarded:
			return Writes{}, nil
		case s == StatusDead, blocked(s) && isOver(tx.Records[0].Status):
		default:
			return Writes{}, fmt.Errorf("step %q of run %q is %v, not a dead letter: %w", step, run, s, ErrConflict)
		}
		changed = true
		o.step.Status = StatusDiscarded
		o.record(OutcomeDiscarded, "")
		err = writeStep(&o.step, &o.body)
		return Writes{Put: []Record{o.step}, Add: o.add}, err
	})
	if changed && err == nil {
		e.event(ctx, Event{Kind: EventDiscarded, Run: run, Step: step, By: by})
	}
	return err
}
