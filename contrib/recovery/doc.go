// Package recovery captures the state of work whose time runs out, so that a
// later run can continue it: which step it was, what it has written, which files
// have uncommitted changes, and after which step to resume.
//
// A [Recorder] captures the timeouts of one flow of a run. Calls that retrygen has
// generated for a scope with capture: true use the recorder of their context:
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
// When a limit on time ends an attempt or a call, the recorder
//
//  1. writes a partial receipt with the status timeout,
//  2. flushes what the step has buffered, and lists its artifacts,
//  3. lists the uncommitted changes,
//  4. writes the transcript up to the interruption, and completes the receipt,
//  5. appends a row to timeouts.jsonl, and syncs it.
//
// Each file is whole or absent, even if the process is killed while it captures.
// A hook that fails does not prevent the steps after it. A success costs nothing:
// nothing is captured, and no clock is read, before a limit has passed.
//
// The next run reads the receipt with [Latest], and [Resume] returns what it may
// do: continue after the last successful step or, if the interrupted one left
// uncommitted changes, retry that step on top of them, discard them, or escalate.
//
// # Files
//
// Below the folder of the run, which documents call RUN_BASE:
//
//	<flow>/timeouts.jsonl                      one [Row] for each timeout
//	<flow>/receipts/<step>-timeout.json        the [Receipt]
//	<flow>/receipts/<step>-timeout-2.json      of the next timeout of that step
//	<flow>/llm/<step>-partial.jsonl            the transcript
//
// Flows and steps may have any name: characters other than letters, digits, "_",
// "-" and "." are escaped in the names of files.
//
// The documents have the fields that orchestrators of agents write to files with
// these names, so that either can read those of the other.
package recovery
