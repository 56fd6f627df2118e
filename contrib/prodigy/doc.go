// Package prodigy reads the retry state in checkpoints of Prodigy, so that
// workflows that Prodigy has begun continue as runs of package durable: with the
// attempts they have left, the rest of their waits and their history.
//
// [Read] reads a checkpoint in all its forms. [Merge] combines those of the
// agents of a job. [Checkpoint.Policy] and [Checkpoint.Breaker] return what
// Prodigy was configured with, to be compared with policies in a file.
//
// It reads
//   - checkpoints of workflows, whose retry state is under the key
//     retry_checkpoint_state, or absent, or null;
//   - the older retry state of single steps, completed_steps[].retry_state;
//   - a retry state that is a document of its own;
//   - the state of a MapReduce job, which counts the attempts of each item;
//   - the items in the dead letter queue of a job, one by one or exported.
//
// Where they count an attempt more than once, the greatest number counts.
package prodigy
