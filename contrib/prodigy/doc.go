// Package prodigy reads the retry state in Prodigy checkpoints, so that a workflow that
// was started in Prodigy can continue as a durable run, with its remaining attempts, the
// rest of its waits, and its history.
//
// [Read] reads a checkpoint. [Merge] combines the checkpoints of the agents of a job.
// [Checkpoint.Policy] and [Checkpoint.Breaker] return Prodigy's configuration, so that
// you can compare it with the policies in a file.
//
// The following forms of checkpoints can be read:
//   - checkpoints of workflows, whose retry state is under the key
//     retry_checkpoint_state, where it may be missing or null;
//   - the older retry state of single steps, completed_steps[].retry_state;
//   - a retry state in a separate document;
//   - the state of a MapReduce job, which counts the attempts of each item;
//   - the items in the dead letter queue of a job, one by one or exported.
//
// If a checkpoint contains several counts of the same attempts, the largest one is used.
package prodigy
