package durable

import (
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// This file handles the limits of a handler for all workers together. A handler with a limit
// has a record. The transactions that claim the handler's runs read and change this record, and
// nothing else changes it. A slot consists of the run and the fence of a claim. It is free as
// soon as the record of the run shows that this claim has ended. The end of an execution, or a
// crash, therefore does not have to return a slot, which could be lost.

// A HandleOption is an option for [Handle]: [Concurrency], [StartRate], or a [RunOption]
// for the runs of the handler.
type HandleOption interface{ handle(*handleOptions) }

type handleOptions struct {
	run    []RunOption
	limits record.Limits
}

type handleOption func(*handleOptions)

func (f handleOption) handle(o *handleOptions) { f(o) }

func (f RunOption) handle(o *handleOptions) { o.run = append(o.run, f) }

// Concurrency limits how many runs of a handler all workers of the store together execute
// at the same time. The limit covers all versions of the handler (see [Version]). Runs
// above the limit stay due, and in the meantime workers execute runs of other handlers. A
// run counts from its claim until the end of its execution is recorded, including waits
// during which the process sleeps. It does not count while it is parked or paused. The
// runs of a dead worker count until another worker takes them over. After that, they
// count as that worker's runs.
//
// Workers may register different limits, for example during a deployment. Each claim
// respects the limit of the worker that makes it. A claim reads the records of all runs
// that are being executed, so limits above a few hundred make claims slow. Each shard of
// a [Sharded] has its own limit. Handle panics if n is less than 1.
func Concurrency(n int) HandleOption {
	return handleOption(func(o *handleOptions) { o.limits.Bounded, o.limits.Most = true, n })
}

// StartRate limits how often all workers of the store together start executing runs of a
// handler: n times in each period of length per, evenly spaced. After a pause, up to
// burst executions may start at once. In any period of length per, there are at most n +
// burst - 1 starts. Continuing a parked run or a dead worker's run also counts as a
// start. Runs above the limit stay due, and workers sleep until the next one may start,
// by the store's clock. [Concurrency] describes the effect of different limits and of
// shards. Handle panics if n or burst is less than 1, or per is not positive.
func StartRate(n int, per time.Duration, burst int) HandleOption {
	return handleOption(func(o *handleOptions) {
		o.limits.Rated, o.limits.Starts, o.limits.Per, o.limits.Burst = true, n, per, burst
	})
}
