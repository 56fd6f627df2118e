// Package kills tests crash recovery. It kills processes while they execute runs on the
// same store, and compares what the store has recorded with what the processes have done.
//
// A [Trial] starts worker processes and repeatedly kills one of them with SIGKILL. It
// stops other processes for longer than their lease, and it cancels, pauses and resumes
// runs. It also makes the store fail in typical ways, for example by breaking connections
// after a commit. The workers print each function call before they make it, and each
// acknowledged success. The trial keeps these lines as a ledger outside the store. At the
// end, it checks that
//
//   - every run that was started has ended with its result, or is canceled if the
//     cancellation was acknowledged;
//   - no attempt was executed twice, and every attempt that was executed is recorded;
//   - every acknowledged success is recorded under its attempt;
//   - every step of a run with durable.Hold was called with a recorded result of the
//     previous step;
//   - a function that must not be repeated was called at most once, and is in doubt if
//     its process was killed in the meantime;
//   - the retries counted by budgets match the ones in the histories.
//
// The package works on Unix only. It is used by the tests of stores and by the program in
// contrib/bench/kills.
package kills
