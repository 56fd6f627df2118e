package retrytest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A StepKind is the kind of a [Step].
type StepKind string

// The kinds of steps.
const (
	Attempted StepKind = "attempt" // a call of the function; Name is its outcome
	Waited    StepKind = "wait"    // the wait before the next attempt; Wait is its length
	Stopped   StepKind = "stop"    // no attempt follows; Name is the reason
	Other     StepKind = "event"   // another event; Name is its kind
)

// A Step is one step of a recorded sequence.
type Step struct {
	Kind  StepKind
	Name  string
	Wait  time.Duration
	Func  string      // Attempted: the function
	Event retry.Event // the event that reported the step; the zero Event for Attempted
}

// String returns the step as [Expect] writes it: "attempt 503", "wait 1s", "stop
// attempts exhausted".
func (s Step) String() string {
	if s.Kind == Waited {
		return string(s.Kind) + " " + s.Wait.String()
	}
	return string(s.Kind) + " " + s.Name
}

// A Recorder records the attempts, waits, stops and other events of wrapped calls. An
// attempt is recorded if a [Faults] decides its outcome, or if it is reported with
// [Recorder.Attempt]. The zero Recorder is empty and ready to use. It may be used by
// multiple goroutines simultaneously.
type Recorder struct {
	mu    sync.Mutex
	steps []Step
}

type recorderKey struct{}

// Context returns a copy of ctx. The recorder r records the calls that are made with the
// copy.
func (r *Recorder) Context(ctx context.Context) context.Context {
	return retry.WithObserver(context.WithValue(ctx, recorderKey{}, r), r.observe)
}

// recorderOf returns the recorder of ctx, or nil.
func recorderOf(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

// Attempt records an attempt with this outcome. Call it in your own fakes.
func (r *Recorder) Attempt(outcome string) { r.add(Step{Kind: Attempted, Name: outcome}) }

// Steps returns the recorded steps in order.
func (r *Recorder) Steps() []Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.steps)
}

// Reset removes all recorded steps.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = nil
}

// String returns the steps, one per line.
func (r *Recorder) String() string { return strings.Join(r.lines(), "\n") }

func (r *Recorder) lines() (lines []string) {
	for _, s := range r.Steps() {
		lines = append(lines, s.String())
	}
	return lines
}

// observe records an event.
func (r *Recorder) observe(_ context.Context, e retry.Event) {
	s := Step{Kind: Other, Name: e.Kind.String(), Event: e}
	switch e.Kind {
	case retry.EventRetry:
		s.Kind, s.Wait = Waited, e.Wait
	case retry.EventStop:
		s.Kind, s.Name = Stopped, string(e.Reason)
	}
	r.add(s)
}

// add records a step. A nil Recorder records nothing.
func (r *Recorder) add(s Step) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, s)
}
