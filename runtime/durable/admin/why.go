package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A Cause is the reason why a run is not making progress.
type Cause string

// The causes.
const (
	CauseEnded     Cause = "ended"     // the run has ended
	CauseExecuting Cause = "executing" // an engine is executing the run, so it is making progress
	CauseOrphaned  Cause = "orphaned"  // the engine that was executing the run is dead
	CausePaused    Cause = "paused"    // an operator has paused the run, or it has crashed too often
	CauseInDoubt   Cause = "in doubt"  // steps are waiting for someone to resolve them
	CauseBudget    Cause = "budget"    // like CauseInDoubt, because the retry budget is empty
	CauseStart     Cause = "start"     // the run starts later: see [durable.StartAt]
	CauseStep      Cause = "step"      // a step is waiting for its next attempt, a time or a signal
	CauseBreaker   Cause = "breaker"   // an open breaker has refused the next attempt of a step
	CauseRuns      Cause = "runs"      // the run is waiting for other runs
	CauseWorker    Cause = "worker"    // no worker has the run's handler
	CauseFull      Cause = "full"      // the handler is executing as many runs as it may: see [durable.Concurrency]
	CauseRate      Cause = "rate"      // the handler may not start another run yet: see [durable.StartRate]
	CauseDue       Cause = "due"       // a worker will execute the run soon
	CauseCaller    Cause = "caller"    // the run has no handler, so it continues when Run is called
)

// A Standing describes why a run is not making progress: see [Client.Why].
type Standing struct {
	Cause   Cause
	Until   time.Time       // when the run continues or is taken over, if known
	Status  storage.Status  // status of the run
	Handler string          // handler of the run, or ""
	Owner   string          // the engine that is or was executing the run
	By      events.Operator // who has paused the run
	Root    string          // the ancestor that was paused or canceled, or "" if it is the run itself
	Steps   []StepInfo      // at most 10 steps that the run waits for or, with CauseBreaker, that the breaker has refused
	Runs    []string        // runs that this run waits for
	// NoWorker means that no worker has the handler of a waiting run, so the run will not
	// continue when its wait ends.
	NoWorker bool

	// Limit is the limit that keeps the run waiting. It applies either to the runs of the
	// handler or to starts in a period of length Per. Executing is how many runs of the
	// handler count toward it.
	Executing, Limit int
	Per              time.Duration
}

// String explains in a sentence why the run is not making progress. It contains no times.
func (s Standing) String() string {
	if s.NoWorker {
		return s.Wait() + "; " + s.Lack()
	}
	return s.Wait()
}

// Lack describes the missing worker if NoWorker is set. Otherwise it returns "".
func (s Standing) Lack() string {
	if !s.NoWorker {
		return ""
	}
	return s.noWorker()
}

func (s *Standing) noWorker() string { return "no worker has the handler " + s.Handler + ": start one" }

// Wait is like String, but does not mention a missing worker. To add the time Until,
// append it to the text. For [CauseBreaker], insert the word "until" before the time.
func (s Standing) Wait() string {
	switch s.Cause {
	case CauseEnded:
		text := fmt.Sprintf("it is %v", s.Status)
		if s.Root != "" {
			text += " with run " + s.Root
		}
		return text
	case CauseExecuting:
		return "it goes on: engine " + s.Owner + " executes it"
	case CauseOrphaned:
		return "engine " + s.Owner + " is dead: " + s.successor()
	case CausePaused:
		text := "it is paused"
		if s.Root != "" {
			text += " with run " + s.Root
		}
		if s.By != (events.Operator{}) {
			return text + " by " + s.By.String() + ": resume it"
		}
		return text + " after too many crashes without progress: resume it when the cause is gone"
	case CauseInDoubt, CauseBudget:
		return "a person has to resolve " + s.steps()
	case CauseStart:
		return "it starts later"
	case CauseBreaker:
		return "it waits for " + s.steps() + ", open"
	case CauseStep:
		return "it waits for " + s.steps()
	case CauseRuns:
		return "it waits for the end of " + strings.Join(s.Runs, ", ")
	case CauseWorker:
		return s.noWorker()
	case CauseFull:
		return fmt.Sprintf("handler %s executes %d of %d runs: it waits for the end of one", s.Handler, s.Executing, s.Limit)
	case CauseRate:
		return fmt.Sprintf("handler %s starts at most %d in %v: it waits for its turn", s.Handler, s.Limit, s.Per)
	case CauseDue:
		return "it is due: a worker executes it when it has room"
	}
	return "it has no handler: it goes on when the program calls Run with its id"
}

// waits completes the standing of a run that waits for its Steps, the first of them
// until s.Until.
func (s *Standing) waits() {
	s.Cause = CauseStep
	refusal := s.Steps[0].Refusal
	if refusal == nil || !refusal.AdmitsAt.After(time.Now()) {
		return
	}
	s.Cause, s.Until = CauseBreaker, refusal.AdmitsAt
	s.Steps = slices.DeleteFunc(s.Steps, func(i StepInfo) bool {
		return i.Refusal == nil || i.Refusal.Breaker != refusal.Breaker
	})
}

// successor says who takes a run over whose engine is dead.
func (s *Standing) successor() string {
	if s.Handler == "" {
		return "the program goes on with it when it calls Run with its id"
	}
	if s.Until.IsZero() {
		return "another worker takes it over"
	}
	return "another worker takes it over when the lease ends"
}

// steps names the steps.
func (s *Standing) steps() string {
	var list []string
	for _, step := range s.Steps {
		switch {
		case s.Cause == CauseInDoubt || s.Cause == CauseBudget:
			list = append(list, step.Step+parenthesis(string(step.Reason)))
		case step.Pause == PauseSignal:
			list = append(list, "the signal "+step.Step)
		case step.Pause == PauseSleep:
			list = append(list, "the end of sleep "+step.Step)
		case step.Reason != "":
			list = append(list, "step "+step.Step+parenthesis(string(step.Reason)))
		default:
			list = append(list, fmt.Sprintf("attempt %d of step %s", step.Attempts+1, step.Step))
			if step.Refusal != nil && s.Cause != CauseBreaker {
				list[len(list)-1] += parenthesis("refused by " + record.NameBreaker(step.Refusal.Breaker))
			}
		}
	}
	text := strings.Join(list, ", ")
	if s.Cause == CauseBreaker {
		text += ", refused by " + record.NameBreaker(s.Steps[0].Refusal.Breaker)
	}
	return text
}

// parenthesis returns a text in parentheses after a space, or "" if it is empty.
func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// outOfBudget reports whether a budget that is empty has stopped a step.
func outOfBudget(s StepInfo) bool { return s.Reason == retry.ErrBudget || s.Reason == job.ErrBudget }

// mostSteps is how many steps a Standing has.
const mostSteps = 10

// Why explains why a run is not making progress, and until when. It reads the run, its
// unfinished steps and the engines at slightly different times, so the result may be
// slightly out of date. The error matches [ErrNotFound] if the run does not exist.
func (c *Client) Why(ctx context.Context, run string) (Standing, error) {
	records, err := c.ns.Store.Get(ctx, []storage.Key{c.ns.Key(storage.KindRun, run, "")})
	if err != nil {
		return Standing{}, err
	}
	r := records[0]
	if r.Version == 0 {
		return Standing{}, fmt.Errorf("run %q: %w", run, fault.ErrNotFound)
	}
	b, err := record.Decode[record.Run](r)
	if err != nil {
		return Standing{}, err
	}
	s := Standing{Status: r.Status, Handler: r.Handler, Owner: r.Owner}
	switch {
	case r.Status.EndsRun():
		s.Cause, s.Root = CauseEnded, b.CanceledWith
		return s, nil
	case r.Owner != "":
		return c.whyOwned(ctx, run, s)
	case b.Hold != nil:
		s.Cause, s.By = CausePaused, b.Hold.By
		if b.Hold.Root != run {
			s.Root = b.Hold.Root
		}
		return s, nil
	case r.Status == storage.StatusPaused:
		s.Cause = CausePaused
		if s.Steps, err = c.stepsOf(ctx, run, storage.StatusInDoubt, storage.StatusPaused); len(s.Steps) > 0 {
			s.Cause = CauseInDoubt
		}
		if len(s.Steps) > 0 && len(slices.DeleteFunc(slices.Clone(s.Steps), outOfBudget)) == 0 {
			s.Cause = CauseBudget
		}
		return s, err
	}
	switch {
	case r.Status == storage.StatusParked && len(b.Awaits) > 0:
		s.Cause, s.Runs = CauseRuns, b.Awaits
		return s, c.lacks(ctx, &s)
	case r.Due.After(time.Now()):
		s.Cause, s.Until = CauseStart, r.Due
		if s.Steps, err = c.stepsOf(ctx, run, storage.StatusWaiting); len(s.Steps) > 0 {
			s.waits()
		}
		return s, errors.Join(err, c.lacks(ctx, &s))
	case r.Handler == "":
		s.Cause = CauseCaller
		return s, nil
	}
	found, err := c.hasWorker(ctx, r.Handler)
	if s.Cause = CauseWorker; !found || err != nil {
		return s, err
	}
	s.Cause = CauseDue
	return c.whyLimited(ctx, s)
}

// whyLimited is [Client.Why] for a run that is due. The limits are as the last
// claim.
func (c *Client) whyLimited(ctx context.Context, s Standing) (Standing, error) {
	records, err := c.ns.Store.Get(ctx, []storage.Key{c.ns.LimitKey(s.Handler)})
	if err != nil {
		return s, err
	}
	b, err := record.Decode[record.Limit](records[0])
	if err != nil {
		return s, err
	}
	now, l := time.Now(), b.Limits()
	free, err := c.ns.FreeSlots(ctx, now, b.Executing, func(string) bool { return true })
	if err != nil {
		return s, err
	}
	b.Without(free)
	if l.Bounded && len(b.Executing) >= l.Most {
		s.Cause, s.Executing, s.Limit = CauseFull, len(b.Executing), l.Most
	} else if wait := l.Wait(b.Arrival, now); wait > 0 {
		s.Cause, s.Until, s.Limit, s.Per = CauseRate, now.Add(wait).UTC(), l.Starts, l.Per
	}
	return s, nil
}

// lacks sets whether a run that waits has no worker.
func (c *Client) lacks(ctx context.Context, s *Standing) error {
	if s.Handler == "" {
		return nil
	}
	found, err := c.hasWorker(ctx, s.Handler)
	s.NoWorker = !found
	return err
}

// hasWorker reports whether a worker that lives has a handler.
func (c *Client) hasWorker(ctx context.Context, handler string) (bool, error) {
	_, handlers, err := c.live(ctx)
	return handlers[handler], err
}

// whyOwned is [Client.Why] for a run that has an owner.
func (c *Client) whyOwned(ctx context.Context, run string, s Standing) (Standing, error) {
	var owner OwnerInfo
	for o, err := range c.Owners(ctx) {
		if err != nil {
			return s, err
		}
		if o.Owner == s.Owner {
			owner = o
		}
	}
	if !owner.Dead && owner.Until.After(time.Now()) {
		return c.whyExecuted(ctx, run, s)
	}
	if !owner.Dead { // else others take it over at once
		s.Until = owner.Until
	}
	if s.Handler == "" {
		s.Cause = CauseOrphaned
		return s, nil
	}
	found, err := c.hasWorker(ctx, s.Handler)
	if s.Cause = CauseOrphaned; !found {
		s.Cause, s.Until = CauseWorker, time.Time{} // the end of the lease changes nothing
	}
	return s, err
}

// whyExecuted is [Client.Why] for a run that an engine executes: it may sit out the
// wait of a step.
func (c *Client) whyExecuted(ctx context.Context, run string, s Standing) (Standing, error) {
	s.Cause = CauseExecuting
	busy, err := c.stepsOf(ctx, run, storage.StatusExecuting, storage.StatusOpen)
	if err != nil || len(busy) > 0 {
		return s, err
	}
	if s.Steps, err = c.stepsOf(ctx, run, storage.StatusWaiting); len(s.Steps) > 0 {
		s.Until = s.Steps[0].NextAt
		s.waits()
	}
	return s, err
}

// stepsOf returns steps of a run that have one of some states, those that are due
// first at the start.
func (c *Client) stepsOf(ctx context.Context, run string, statuses ...storage.Status) (steps []StepInfo, err error) {
	for s, err := range c.Steps(ctx, Filter{Run: run, Status: statuses, Attention: true}) {
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
		slices.SortStableFunc(steps, func(a, b StepInfo) int { return a.NextAt.Compare(b.NextAt) })
		steps = steps[:min(len(steps), mostSteps)]
	}
	return steps, nil
}
