package recovery

import (
	"context"
	"io"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Recorder captures the timeouts of one flow of a run. Its fields must not be
// changed after its first use. Its methods may be called by multiple goroutines
// simultaneously.
type Recorder struct {
	// Base is the folder of the run, which is created if necessary. It is required.
	Base string
	// Run is the id of the run in documents.
	Run string
	// Flow is the name of the flow. The folder of its files has the same name.
	Flow string
	// Dir is a folder in a git work tree whose uncommitted changes are captured, except
	// changes below Base. If Dir is empty and Changes is nil, the work has no uncommitted
	// changes.
	Dir string
	// Changes, if set, is used instead of git to list the paths with uncommitted changes.
	Changes func(ctx context.Context) ([]string, error)
	// Limit limits the time of a capture, through the context that is passed to the hooks
	// and to git. Zero means 10s.
	Limit time.Duration

	mu         sync.Mutex
	checkpoint string
	last       Step // that has begun
}

// defaultLimit is the Limit of a recorder that sets none.
const defaultLimit = 10 * time.Second

// A Step describes a step of a flow. Its functions are hooks, and may be nil. They are
// called when a timeout is captured, in the goroutine of the call, after the attempt has
// returned. If a step makes concurrent calls, its hooks may be called concurrently. The
// hooks' context does not end with the attempt, but when it ends, the hooks must return.
type Step struct {
	// ID names the step in documents. Empty means the name of the policy.
	ID string
	// Agent is the key of the agent that executes the step.
	Agent string
	// Progress returns the phase and a description of the step's progress, which may be
	// "". Nil means PhaseWork.
	Progress func() (phase Phase, indicator string)
	// Flush writes the buffered output of the step to its files.
	Flush func(ctx context.Context) error
	// Artifacts lists the files that the step has begun to write, after Flush.
	Artifacts func(ctx context.Context) ([]Artifact, error)
	// Transcript writes the transcript of the step up to the interruption.
	Transcript func(ctx context.Context, w io.Writer) error
}

// With returns a copy of ctx. Calls with this context capture their timeouts with r. Use
// this context for the code around the steps. A timeout outside the steps is attributed
// to the step that began last.
func (r *Recorder) With(ctx context.Context) context.Context {
	return retry.WithCapture(ctx, func(ctx context.Context, t retry.Timeout) error {
		r.mu.Lock()
		last := r.last
		r.mu.Unlock()
		_, err := r.Capture(ctx, last, t)
		return err
	})
}

// Begin returns a copy of ctx. Calls with this context capture their timeouts with r, as
// timeouts of the step s.
func (r *Recorder) Begin(ctx context.Context, s Step) context.Context {
	r.mu.Lock()
	r.last = s
	r.mu.Unlock()
	return retry.WithCapture(ctx, func(ctx context.Context, t retry.Timeout) error {
		_, err := r.Capture(ctx, s, t)
		return err
	})
}

// Checkpoint records that a step has succeeded and that its effects are durable, so a run
// that resumes continues after this step. In a run that resumes, the recorder starts with
// the last checkpoint of the earlier run.
func (r *Recorder) Checkpoint(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checkpoint = step
}
