package timeoutorder

import (
	"context"
	"time"
)

func call(context.Context) {}

func nested(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(ctx, 10*time.Second) // want `inner timeout 10s exceeds the outer 5s from line 11`
	defer cancel2()
	call(ctx)
}

func equal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(ctx, 5*time.Second) // want `inner timeout 5s equals the outer one from line 19`
	defer cancel2()
	call(ctx)
}

type key struct{}

func throughOthers(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, time.Now().Add(time.Second))
	defer cancel()
	ctx, cancel2 := context.WithCancel(context.WithValue(ctx, key{}, 1))
	defer cancel2()
	ctx, cancel3 := context.WithTimeoutCause(ctx, time.Minute, nil) // want `inner timeout 1m0s exceeds the outer 1s`
	defer cancel3()
	call(ctx)
}

func caller(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	callee(ctx)
}

func otherCaller(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	callee(ctx)
}

func callee(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // want `inner timeout 3s exceeds the outer 2s from line 45`
	defer cancel()
	call(ctx)
}

func closure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	go func() {
		inner, cancel := context.WithTimeout(ctx, 2*time.Second) // want `inner timeout 2s exceeds the outer 1s`
		defer cancel()
		call(inner)
	}()
}

func innermost(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 9*time.Second)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(ctx, 3*time.Second)
	defer cancel2()
	ctx, cancel3 := context.WithTimeout(ctx, 4*time.Second) // want `exceeds the outer 3s`
	defer cancel3()
	call(ctx)
}

// ---- what must stay silent ----

func nopeShorter(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(ctx, 5*time.Second)
	defer cancel2()
	call(ctx)
}

func nopeSiblings(ctx context.Context) {
	dial, cancel := context.WithTimeout(ctx, 5*time.Second)
	call(dial)
	cancel()
	list, cancel2 := context.WithTimeout(ctx, 10*time.Second)
	defer cancel2()
	call(list)
}

func nopeDetached(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel2()
	call(ctx)
}

func nopeOneWayOnly(ctx context.Context, short bool) {
	if short {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	call(ctx)
}

func nopeVariable(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	ctx, cancel2 := context.WithTimeout(ctx, time.Minute)
	defer cancel2()
	call(ctx)
}

func nopeCaller(ctx context.Context) {
	nopeUnknownCallers(ctx)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	nopeUnknownCallers(ctx)
	NopeExported(ctx)
	nopeEscapes(ctx)
}

func nopeUnknownCallers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	call(ctx)
}

func NopeExported(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	call(ctx)
}

var handler = nopeEscapes

func nopeEscapes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	call(ctx)
}

func nopeReassigned(ctx context.Context) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	call(ctx)
	func() {
		ctx = outer
		inner, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		call(inner)
	}()
}

func nopeLoop(ctx context.Context) {
	for range 3 {
		attempt, cancel := context.WithTimeout(ctx, time.Minute)
		call(attempt)
		cancel()
	}
}
