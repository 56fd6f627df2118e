package retry

import (
	"context"
	"math/rand/v2"

	"github.com/retrygen/retrygen/internal/idempotent"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// This file and the methods of [Call] are for generated code, as is package genapi.
// They are stable within a version of its constant GeneratedV1. Hand-written code
// calls [Do], [DoWith] or [Policy.Attempts].

// Begin returns a new call under p, for generated code.
func (p *Policy) Begin() Call { return Call{policy: p} }

// BeginWith returns a new call under p that shares s with others, for generated
// code. If s has a breaker or a gate, call [Call.Admit] before the first attempt.
func (p *Policy) BeginWith(s Shared) Call {
	return Call{policy: p, breaker: s.Breaker, budget: s.budget(), gate: s.Gate}
}

// BeginAdmitted returns a new call under p, for generated code, whose first attempt the
// breaker has already admitted with pass: see [breaker.Breaker.Ready].
func (p *Policy) BeginAdmitted(s Shared, pass breaker.Pass) Call {
	return Call{policy: p, breaker: s.Breaker, budget: s.budget(), permit: pass.Permit()}
}

// Spend makes the failed attempt the last one, because it has used up an argument of the
// call. cause explains why the argument cannot be restored. If cause is nil, Spend does
// nothing. If the policy would have retried the call, [Call.Next] returns an [*Error]
// with [ErrSpent] and the cause.
func (c *Call) Spend(cause error) {
	if cause != nil {
		c.spent = cause
	}
}

// EnsureIdempotencyKey returns ctx if it has an idempotency key. Otherwise, it returns a
// context with a random key that all attempts of the call share. The key is encoded only
// if it is read. Generated code calls EnsureIdempotencyKey for bindings with idempotent:
// key.
func EnsureIdempotencyKey(ctx context.Context) context.Context {
	if ctx.Value(idempotent.Key{}) != nil {
		return ctx
	}
	return &keyContext{Context: ctx, random: [2]uint64{rand.Uint64(), rand.Uint64()}}
}
