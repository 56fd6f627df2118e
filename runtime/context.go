package retry

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"
)

// attemptContext is the context of a retry, or of the first attempt of a nested
// call inside of one. Other first attempts have none, so that they cost nothing.
type attemptContext struct {
	context.Context
	number int
}

type attemptKey struct{}

// Value returns the context itself for its own key.
func (c *attemptContext) Value(key any) any {
	if key == (attemptKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// background holds the contexts of retries whose caller has none of its own.
var background = func() (all [8]attemptContext) {
	for i := range all {
		all[i] = attemptContext{context.Background(), i}
	}
	return all
}()

// markAttempt returns ctx for an attempt.
func markAttempt(ctx context.Context, number int) context.Context {
	switch {
	case number <= 1:
		return ctx
	case ctx == context.Background() && number < len(background):
		return &background[number]
	case number == 2 && reflect.TypeOf(ctx).Kind() == reflect.Pointer:
		return firstRetry(ctx)
	}
	return &attemptContext{ctx, number}
}

// marks keeps contexts of first retries for as long as the garbage collector
// lets it. They never change, so that calls under the same context, a worker's
// for example, may share one and allocate none.
var marks sync.Pool

// firstRetry returns the context of the first retry under ctx, a pointer:
// others may not be comparable.
func firstRetry(ctx context.Context) context.Context {
	c, ok := marks.Get().(*attemptContext)
	if !ok || c.Context != ctx {
		c = &attemptContext{ctx, 2}
	}
	marks.Put(c)
	return c
}

// retrying reports whether ctx was given to a retry, or to a call inside of one.
func retrying(ctx context.Context) bool { return ctx.Value(attemptKey{}) != nil }

// AttemptNumber returns the number of the attempt that ctx was given to, from
// 1. A wrapped call inside of a retry is tried once only, as a part of that
// attempt and under its number: three attempts in three are 5 calls, not 9. One
// whose policy says Nested has attempts, and numbers, of its own.
func AttemptNumber(ctx context.Context) int {
	if c, ok := ctx.Value(attemptKey{}).(*attemptContext); ok {
		return c.number
	}
	return 1
}

// keyContext carries an idempotency key, which is spelt out when it is asked
// for.
type keyContext struct {
	context.Context
	key    string
	random [2]uint64
}

type idempotencyKey struct{}

// Value returns the context itself for its own key.
func (c *keyContext) Value(key any) any {
	if key == (idempotencyKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// WithIdempotencyKey returns a context that carries key, under which a server
// does the same work once only. Wrapped calls keep it, those that a wrapped
// call makes as well: one that does two things must give each a key of its own,
// made of the one that it has,
//
//	ctx := retry.WithIdempotencyKey(ctx, retry.IdempotencyKey(ctx)+"/fee")
//
// since the server takes the second for the first again. An empty key is none:
// ctx itself is returned.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	if key == "" {
		return ctx
	}
	return &keyContext{Context: ctx, key: key}
}

// EnsureIdempotencyKey returns ctx if it carries an idempotency key, and
// otherwise a context with a random one. Generated code calls it for bindings
// with idempotent: key, once for all attempts of a call: see
// [WithIdempotencyKey] for calls that make others.
func EnsureIdempotencyKey(ctx context.Context) context.Context {
	if ctx.Value(idempotencyKey{}) != nil {
		return ctx
	}
	return &keyContext{Context: ctx, random: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

// IdempotencyKey returns the key that ctx carries, the same for all attempts of
// a call, or "".
func IdempotencyKey(ctx context.Context) string {
	c, ok := ctx.Value(idempotencyKey{}).(*keyContext)
	switch {
	case !ok:
		return ""
	case c.key != "":
		return c.key
	}
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(c.random[i/8] >> (8 * (i % 8)))
	}
	return hex.EncodeToString(raw[:])
}

// timeoutContext carries a timeout for one scope.
type timeoutContext struct {
	context.Context
	scope   string
	timeout time.Duration
}

type timeoutKey struct{ scope string }

// Value returns the context itself for its own key.
func (c *timeoutContext) Value(key any) any {
	if k, ok := key.(timeoutKey); ok && k.scope == c.scope {
		return c
	}
	return c.Context.Value(key)
}

// WithTimeout returns a context under which calls whose policy is of a scope
// have another timeout. It counts where the scope has a hard limit only; one
// above that is clamped to it, and the clamp is observed: see [Event].
func WithScopeTimeout(ctx context.Context, scope string, timeout time.Duration) context.Context {
	return &timeoutContext{ctx, scope, timeout}
}

// timeout returns the timeout of a call under ctx.
func (p *Policy) timeout(ctx context.Context) time.Duration {
	if p.HardLimit <= 0 {
		return p.Timeout
	}
	timeout := p.Timeout
	if c, ok := ctx.Value(timeoutKey{p.Scope}).(*timeoutContext); ok && c.timeout > 0 {
		timeout = c.timeout
	}
	if timeout > p.HardLimit {
		if f := observer(ctx); f != nil {
			f(Event{Kind: EventTimeoutClamped, Policy: p.Name, Timeout: timeout, BudgetLeft: -1})
		}
		timeout = p.HardLimit
	}
	if timeout <= 0 {
		timeout = p.HardLimit
	}
	return timeout
}
