// Package kills lets processes execute runs over one store while they are killed, and
// compares what the store has recorded with what they have done.
//
// A [Trial] starts worker processes, kills one of them with SIGKILL again and again,
// stops others for longer than their lease, cancels, pauses and resumes runs, and lets the
// store fail in the ways that it has, such as connections that break after a commit. The
// workers print each call of a function before they make it, and each success that was
// acknowledged: the trial keeps these lines as a ledger outside of the store. In the end
//
//   - every run that was started has ended, with its result, or is canceled if that was
//     acknowledged;
//   - no attempt was called twice, and each that was called is recorded;
//   - each success that was acknowledged is recorded under its attempt;
//   - each step of a run with durable.Hold was called with a result of the step before that
//     is recorded;
//   - a function that must not be repeated was called at most once, and is in doubt if its
//     process was killed meanwhile;
//   - budgets have counted the retries that the histories have.
//
// It is for Unix, and for the tests of stores and the program in contrib/bench/kills.
package kills
