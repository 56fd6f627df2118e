package retry

import (
	"context"
	"encoding/hex"
	"reflect"
	"sync"
	"time"

	"github.com/retrygen/retrygen/internal/idempotent"
)

// An attemptContext is the context of a retry, or of the first attempt of a
// nested call inside a retry. For other first attempts none is made, so that they
// cost nothing.
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

// background holds the contexts of retries whose caller has context.Background.
var background = func() (all [8]attemptContext) {
	for i := range all {
		all[i] = attemptContext{context.Background(), i}
	}
	return all
}()

// withAttemptNumber returns ctx with the number of an attempt, if that is a retry.
func withAttemptNumber(ctx context.Context, number int) context.Context {
	switch {
	case number <= 1:
		return ctx
	case ctx == context.Background() && number < len(background):
		return &background[number]
	case number == 2 && reflect.TypeOf(ctx).Kind() == reflect.Pointer:
		return firstRetryContext(ctx)
	}
	return &attemptContext{ctx, number}
}

// retryContexts keeps contexts of first retries. They never change, so that calls
// with the same context, such as that of a worker, share one and allocate none.
var retryContexts sync.Pool

// firstRetryContext returns the context of the first retry under ctx. ctx must be
// a pointer, since other contexts may not be comparable.
func firstRetryContext(ctx context.Context) context.Context {
	c, ok := retryContexts.Get().(*attemptContext)
	if !ok || c.Context != ctx {
		c = &attemptContext{ctx, 2}
	}
	retryContexts.Put(c)
	return c
}

// retrying reports whether ctx was passed to a retry, or to a call inside one, or is
// one of WithoutRetries.
func retrying(ctx context.Context) bool { return ctx.Value(attemptKey{}) != nil }

// A singleContext is the context of calls that are attempted once.
type singleContext struct{ attemptContext }

type singleKey struct{}

// Value returns the context itself for its own key.
func (c *singleContext) Value(key any) any {
	if key == (singleKey{}) {
		return c
	}
	return c.attemptContext.Value(key)
}

// WithoutRetries returns a copy of ctx that limits wrapped calls to one attempt each. The
// error of that attempt is returned unchanged, and observers receive the reason
// [ErrWithoutRetries]. Use it if the caller itself retries, or if a late response is
// useless. Breakers, budgets and time limits apply as usual, and [AttemptNumber] returns
// the same number as for ctx.
//
// Calls whose policies have Nested set are not retried either: Nested permits retries
// inside other retries, but WithoutRetries turns off all retries. It applies to all calls
// that receive ctx, including calls inside wrapped calls. The steps of durable runs are
// an exception, because their retries are recorded and may be made by another process.
func WithoutRetries(ctx context.Context) context.Context {
	return &singleContext{attemptContext{ctx, AttemptNumber(ctx)}}
}

// once returns why a call under p with ctx is attempted once, or "".
func (p *Policy) once(ctx context.Context) Reason {
	switch {
	case !retrying(ctx): // the mark of WithoutRetries is one of these
		return ""
	case ctx.Value(singleKey{}) != nil:
		return ErrWithoutRetries
	case p.Nested:
		return ""
	}
	return ErrNested
}

// AttemptNumber returns the number of the attempt to which ctx was passed, starting at 1.
// A wrapped call that is made during a retry is attempted only once, and its attempt has
// the same number as the retry. If the inner and the outer call each allow three
// attempts, there are thus 5 calls, not 9. A call whose policy has Nested set counts its
// own attempts. If ctx does not come from a wrapped call, the number is 1.
func AttemptNumber(ctx context.Context) int {
	if c, ok := ctx.Value(attemptKey{}).(*attemptContext); ok {
		return c.number
	}
	return 1
}

// A keyContext carries an idempotency key. A random key is encoded only when it
// is read.
type keyContext struct {
	context.Context
	key    string
	random [2]uint64
}

// Value returns the context itself for its own key.
func (c *keyContext) Value(key any) any {
	if key == (idempotent.Key{}) {
		return c
	}
	return c.Context.Value(key)
}

// IdempotencyKey returns the key.
func (c *keyContext) IdempotencyKey() string {
	if c.key != "" {
		return c.key
	}
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(c.random[i/8] >> (8 * (i % 8)))
	}
	return hex.EncodeToString(raw[:])
}

// WithIdempotencyKey returns a copy of ctx with an idempotency key, by which a server
// recognizes a repeated request. If key is empty, WithIdempotencyKey returns ctx. Wrapped
// calls pass the key on to the calls that they make.
//
// A function that sends two different requests must derive a key for each of them:
//
//	ctx := retry.WithIdempotencyKey(ctx, retry.IdempotencyKey(ctx)+"/fee")
//
// Otherwise the server would treat the second request as a repetition of the
// first.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	if key == "" {
		return ctx
	}
	return &keyContext{Context: ctx, key: key}
}

// IdempotencyKey returns the idempotency key of ctx, or "" if it has none. The
// key is the same for all attempts of a call.
func IdempotencyKey(ctx context.Context) string {
	if c, ok := ctx.Value(idempotent.Key{}).(idempotent.Keyed); ok {
		return c.IdempotencyKey()
	}
	return ""
}

// A timeoutContext carries the timeout for one scope.
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

// WithScopeTimeout returns a copy of ctx that sets the timeout of calls whose policy has
// this scope. It applies only to policies with a HardLimit. A timeout above the hard
// limit is reduced to the limit and reported as [EventTimeoutClamped]. If timeout is zero
// or negative, the policy's Timeout applies.
func WithScopeTimeout(ctx context.Context, scope string, timeout time.Duration) context.Context {
	return &timeoutContext{ctx, scope, timeout}
}

// timeout returns the timeout of a call with ctx, and reports one that is clamped.
func (p *Policy) timeout(ctx context.Context) time.Duration {
	timeout, clamped := p.limit(ctx)
	if clamped > 0 {
		if f := observer(ctx); f != nil {
			f(ctx, Event{Kind: EventTimeoutClamped, Policy: p.Name, Timeout: clamped, BudgetLeft: -1})
		}
	}
	return timeout
}

// limit returns the timeout of a call with ctx. clamped is the one that was given
// at run time if it is above the hard limit, and 0 otherwise.
func (p *Policy) limit(ctx context.Context) (timeout, clamped time.Duration) {
	timeout = p.Timeout
	if p.HardLimit <= 0 {
		return timeout, 0
	}
	if c, ok := ctx.Value(timeoutKey{p.Scope}).(*timeoutContext); ok && c.timeout > 0 {
		timeout = c.timeout
	}
	if timeout > p.HardLimit {
		return p.HardLimit, timeout
	}
	if timeout <= 0 {
		timeout = p.HardLimit
	}
	return timeout, 0
}
