package retry

import (
	"context"
	"math/rand/v2"
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
// admitted with pass: see [Breaker.Ready].
func (p *Policy) BeginAdmitted(s Shared, pass Pass) Call {
	return Call{policy: p, breaker: s.Breaker, budget: s.budget(), permit: pass.permit()}
}

// A Pass is the permission for one attempt. It is the value of Breaker.word
// before the attempt. The zero Pass is no permission.
type Pass uint64

// Ready returns a Pass and true if the breaker admits attempts without a lock.
// Otherwise the caller must use [Call.Admit].
func (b *Breaker) Ready() (Pass, bool) {
	p := Pass(b.word.Load())
	return p, p&admits != 0
}

// Calm reports whether another success changes nothing: the breaker is closed,
// nothing has failed since the last success, and no rate is set or the last
// WindowCalls attempts have all succeeded.
func (b *Breaker) Calm() bool { return b.word.Load()&quiet != 0 }

// Succeed reports the success of the attempt that p admitted.
func (b *Breaker) Succeed(p Pass) {
	if !b.Calm() {
		b.record(p.permit(), SampleSuccess)
	}
}

// Full reports whether a deposit would add nothing.
func (b *Budget) Full() bool { return b.missing.Load() == 0 }

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
