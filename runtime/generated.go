package retry

import (
	"context"
	"math/rand/v2"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// This file, rewind.go and the methods of [Call] are for generated code. They
// are stable within a version of the handshake constant. Hand-written code
// calls [Do], [DoWith] or [Policy.Attempts].

// GeneratedV1 is the version of the interface to generated code. Every generated
// file refers to it, so that one generated for another version of the runtime
// does not compile against this one.
const GeneratedV1 = true

// Begin returns a new call under p.
func (p *Policy) Begin() Call { return Call{policy: p} }

// BeginWith returns a new call under p that shares s with others. If s has a
// breaker, call [Call.Admit] before the first attempt.
func (p *Policy) BeginWith(s Shared) Call {
	return Call{policy: p, breaker: s.Breaker, budget: s.budget()}
}

// BeginAdmitted returns a new call under p whose first attempt the breaker has
// admitted with pass: see [breaker.Breaker.Ready].
func (p *Policy) BeginAdmitted(s Shared, pass breaker.Pass) Call {
	return Call{policy: p, breaker: s.Breaker, budget: s.budget(), permit: pass.Permit()}
}

// HeldContext returns ctx, the context that a builder holds, or
// context.Background() if it holds none.
func HeldContext(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// EnsureIdempotencyKey returns ctx if it carries an idempotency key, and
// otherwise a context with a random key. Generated code calls it once for all
// attempts of a call whose binding has idempotent: key.
func EnsureIdempotencyKey(ctx context.Context) context.Context {
	if ctx.Value(idempotencyKey{}) != nil {
		return ctx
	}
	return &keyContext{Context: ctx, random: [2]uint64{rand.Uint64(), rand.Uint64()}}
}
