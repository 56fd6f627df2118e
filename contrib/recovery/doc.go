// Package recovery saves the state of work that is interrupted by a time limit, so that a
// later run can continue it. The state consists of the interrupted step, its output, the
// files with uncommitted changes, and the step after which to resume.
//
// A [Recorder] captures the timeouts of one flow of a run. If a scope has capture: true,
// the wrappers that retrygen generates for it use the recorder in their context:
//
//	r := &recovery.Recorder{Base: "runs/abc123", Run: "abc123", Flow: "build", Dir: "."}
//	ctx = r.With(ctx)
//	for _, name := range steps {
//		stepCtx := r.Begin(ctx, recovery.Step{ID: name, Transcript: model.WriteTranscript})
//		if err := agent.RetryStep(stepCtx, name); err != nil {
//			return err
//		}
//		r.Checkpoint(name)
//	}
//
// When a time limit ends an attempt or a call, the recorder
//
//  1. writes a partial receipt with the status timeout,
//  2. flushes the step's buffered output, and lists its artifacts,
//  3. lists the uncommitted changes,
//  4. writes the transcript up to the interruption, and completes the receipt,
//  5. appends a row to timeouts.jsonl, and syncs it.
//
// Each file is either complete or absent, even if the process is killed in the meantime.
// If a hook fails, the recorder continues with the next item. A successful call costs
// nothing: until a limit has passed, nothing is captured and no clock is read.
//
// The next run reads the receipt with [Latest], and [Resume] returns what the run may do. It
// may continue after the last successful step. If the interrupted step left uncommitted
// changes, the run may also retry the step on top of them, discard them, or escalate.
//
// # Files
//
// The recorder writes these files below the run's folder. Paths inside the files refer to
// this folder as RUN_BASE:
//
//	<flow>/timeouts.jsonl                      one [Row] for each timeout
//	<flow>/receipts/<step>-timeout.json        the [Receipt]
//	<flow>/receipts/<step>-timeout-2.json      of the next timeout of that step
//	<flow>/llm/<step>-partial.jsonl            the transcript
//
// Flows and steps may have any name: characters other than letters, digits, "_", "-" and
// "." are escaped in file names.
//
// The files have the same names and fields as the files that other agent orchestrators
// write, so that each can read the other's files.
package recovery
