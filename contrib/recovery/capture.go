package recovery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/retrygen/retrygen/internal/captured"
	retry "github.com/retrygen/retrygen/runtime"
)

// Names of files and folders of a flow.
const (
	rowsFile      = "timeouts.jsonl"
	receiptsDir   = "receipts"
	receiptKind   = "timeout.json"
	transcriptDir = "llm"
	partialKind   = "partial.jsonl"
)

// Capture captures a timeout of the step s and returns its receipt. Wrapped calls with a
// context from [Recorder.With] or [Recorder.Begin] call it themselves. Call it in
// hand-written loops.
//
// The context may have ended. Capture does as much as it can. Its error joins all errors,
// and is nil if everything was captured. Within a durable step, the row also becomes part
// of the step's history.
func (r *Recorder) Capture(ctx context.Context, s Step, t retry.Timeout) (*Receipt, error) {
	if r.Base == "" {
		return nil, errors.New("recovery: Base of the Recorder is empty: set it to the folder of the run")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(r.Limit, defaultLimit))
	defer cancel()
	c := capture{r: r, step: s, dir: filepath.Join(r.Base, fileName(r.Flow))}
	c.step.ID = cmp.Or(s.ID, t.Policy)
	c.receipt = r.receipt(c.step, t)
	c.try("receipt", c.begin())
	if s.Flush != nil {
		c.try("flush", s.Flush(ctx))
	}
	c.try("artifacts", c.artifacts(ctx))
	c.try("uncommitted changes", c.changes(ctx))
	c.try("transcript", c.transcript(ctx))
	if c.number > 0 {
		c.try("receipt", replace(filepath.Join(c.dir, receiptsDir, numbered(c.step.ID, receiptKind, c.number)), c.text()))
	}
	c.try(rowsFile, c.row(ctx, t))
	return c.receipt, errors.Join(c.errs...)
}

// receipt returns what is known before anything is done.
func (r *Recorder) receipt(s Step, t retry.Timeout) *Receipt {
	r.mu.Lock()
	checkpoint := r.checkpoint
	r.mu.Unlock()
	state := LastKnownState{StepID: s.ID, AgentKey: s.Agent, Phase: PhaseWork}
	if s.Progress != nil {
		state.Phase, state.Progress = s.Progress()
	}
	return &Receipt{Status: StatusTimeout, Event: Event{
		Timeout: TimeoutEvent{
			Timestamp: Timestamp{time.Now().UTC()}, Scope: t.Scope,
			TimeoutMS: t.Limit.Milliseconds(), ElapsedMS: t.Elapsed.Milliseconds(),
		},
		State:     state,
		Artifacts: []Artifact{},
		Context:   ResumeContext{Checkpoint: checkpoint},
	}}
}

// A capture is one timeout that is being captured.
type capture struct {
	r       *Recorder
	step    Step
	dir     string // of the flow
	receipt *Receipt
	number  int // of the receipt among those of the step; 0 if it was not written
	errs    []error
}

// try keeps the error of one part.
func (c *capture) try(what string, err error) {
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("capture of step %q: %s: %w", c.step.ID, what, err))
	}
}

// text returns the receipt as JSON.
func (c *capture) text() []byte {
	text, _ := json.MarshalIndent(c.receipt, "", "  ") // of strings, numbers and a time since 2026
	return append(text, '\n')
}

// begin writes the partial receipt.
func (c *capture) begin() (err error) {
	c.number, err = create(filepath.Join(c.dir, receiptsDir), c.step.ID, receiptKind, c.text())
	return err
}

// artifacts adds the files that the step has begun to write.
func (c *capture) artifacts(ctx context.Context) error {
	if c.step.Artifacts == nil {
		return nil
	}
	list, err := c.step.Artifacts(ctx)
	c.receipt.Artifacts = append(c.receipt.Artifacts, list...)
	return err
}

// changes adds the uncommitted changes.
func (c *capture) changes(ctx context.Context) (err error) {
	list := []string{}
	switch {
	case c.r.Changes != nil:
		list, err = c.r.Changes(ctx)
	case c.r.Dir != "":
		list, err = gitStatus(ctx, c.r.Dir, c.dir)
	}
	if err != nil {
		return err // not known
	}
	c.receipt.Context.Changes = append([]string{}, list...)
	return nil
}

// transcript writes the transcript, as far as there is one.
func (c *capture) transcript(ctx context.Context) error {
	if c.step.Transcript == nil {
		return nil
	}
	var text bytes.Buffer
	err := c.step.Transcript(ctx, &text)
	if err != nil && text.Len() == 0 {
		return err
	}
	dir := filepath.Join(c.dir, transcriptDir)
	n, failed := create(dir, c.step.ID, partialKind, text.Bytes())
	if failed == nil {
		c.receipt.Context.Transcript = inRun(fileName(c.r.Flow), transcriptDir, numbered(c.step.ID, partialKind, n))
	}
	return errors.Join(err, failed)
}

// row appends the row to timeouts.jsonl.
func (c *capture) row(ctx context.Context, t retry.Timeout) error {
	event := c.receipt.Timeout
	row := Row{
		Timestamp: event.Timestamp, RunID: c.r.Run, FlowKey: c.r.Flow, StepID: c.step.ID, Scope: event.Scope,
		TimeoutMS: event.TimeoutMS, ElapsedMS: event.ElapsedMS, Retries: t.Retries, Action: Action(t.Action.String()),
	}
	if c.number > 0 {
		row.Path = inRun(fileName(c.r.Flow), receiptsDir, numbered(c.step.ID, receiptKind, c.number))
	}
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	captured.Keep(ctx, line)
	return appendLine(filepath.Join(c.dir, rowsFile), line)
}
