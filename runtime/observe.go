package retry

import (
	"context"
	"time"
)

// An Event tells what a policy decided after one failed attempt.
type Event struct {
	Policy  string        // name of the policy
	Attempt int           // number of the attempt that failed, from 1
	Err     error         // its error
	Delay   time.Duration // the wait before the next attempt, when Reason is empty
	Waited  time.Duration // the sum of the waits before this one
	Reason  Reason        // why there is no next attempt, or empty
}

type observerKey struct{}

// WithObserver returns a context under which f is told of every failed attempt
// of every wrapped call, before the wait. f is called in the goroutine of the
// call, which may be any number at once; an attempt that succeeds is never
// observed and costs nothing.
//
// The observer travels in the context, as net/http/httptrace's does, so that
// it needs neither a registry nor a change of any wrapper.
func WithObserver(ctx context.Context, f func(Event)) context.Context {
	return context.WithValue(ctx, observerKey{}, f)
}

// observe tells the context's observer, if it has one.
func observe(ctx context.Context, e Event) {
	if f, ok := ctx.Value(observerKey{}).(func(Event)); ok && f != nil {
		f(e)
	}
}
