package durable

import (
	"context"

	"github.com/retrygen/retrygen/internal/captured"
	"github.com/retrygen/retrygen/internal/idempotent"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// An Info describes the run to which a context belongs, and the step, if any.
type Info struct {
	Run     string
	Step    string // id of the step, or "" in the function of a run
	Attempt int    // number of the attempt, starting at 1 and including lost ones; 0 outside steps
	Version int    // version of the run: see [Version]
	// Fence is a number that increases with each claim of the run. A system that
	// remembers the highest fence it has seen can refuse requests from an engine that has
	// lost the run.
	Fence uint64
	// Key is the idempotency key of the step. It is the same for all attempts on all
	// machines. Outside steps, it is empty.
	Key string
}

// Current describes the run and the step to which ctx belongs. It returns false if ctx
// does not belong to a run.
func Current(ctx context.Context) (Info, bool) {
	c := fromContext(ctx)
	switch {
	case c == nil:
		return Info{}, false
	case c.attempt != nil:
		return *c.attempt.Info(), true
	}
	return Info{Run: c.x.id, Version: c.x.run.Version, Fence: c.x.fence}, true
}

// A runContext is the context of the function of a run, or of an attempt of one of the run's
// steps.
type runContext struct {
	context.Context
	x       *execution
	unit    *unitCall // the unit of a group that is calling, or nil
	attempt *attempt  // the attempt of a step, or nil
}

// Value returns the context's own value for a key, or otherwise the value of its parent.
func (c *runContext) Value(key any) any {
	if _, ok := key.(record.RunKey); ok { // this is the most frequent key, used by each call of a step
		return c
	}
	if v := c.own(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// own returns the context itself for its own key. The context of an attempt also has an
// idempotency key, and a store for the timeouts of package recovery.
func (c *runContext) own(key any) any {
	switch key.(type) {
	case record.RunKey:
		return c
	case idempotent.Key:
		if c.attempt != nil {
			return c.attempt
		}
	case captured.Key:
		if c.attempt != nil {
			return c.attempt.captured()
		}
	}
	return nil
}

// fromContext returns the runContext of a context, or nil.
func fromContext(ctx context.Context) *runContext {
	c, _ := ctx.Value(record.RunKey{}).(*runContext)
	return c
}

type scopeKey struct{}

// Scope returns a context whose steps are distinct from the steps of ctx, even if they
// have the same names. Use it to tell apart the iterations of a loop that calls a step:
//
//	for page := range pages {
//		ctx := durable.Scope(ctx, fmt.Sprint("page-", page))
//		…
//	}
//
// Scopes can be nested. Different scopes never have steps in common, whatever characters
// their names contain.
func Scope(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, scopeKey{}, record.ScopeIn(scopes(ctx), name))
}

// scopes returns the prefix of the ids of the steps in ctx.
func scopes(ctx context.Context) string {
	prefix, _ := ctx.Value(scopeKey{}).(string)
	return prefix
}
