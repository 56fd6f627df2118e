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
	ctx, cancel2 := context.WithTimeout(ctx, 5*time.Second) // want `inner timeout 5s equals the outer 5s from line 19`
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

// Each of many derivations is looked at once.
func manyDerived(ctx context.Context, on []bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if on[0] {
		ctx = context.WithValue(ctx, derivation(0), 0)
	}
	if on[1] {
		ctx = context.WithValue(ctx, derivation(1), 1)
	}
	if on[2] {
		ctx = context.WithValue(ctx, derivation(2), 2)
	}
	if on[3] {
		ctx = context.WithValue(ctx, derivation(3), 3)
	}
	if on[4] {
		ctx = context.WithValue(ctx, derivation(4), 4)
	}
	if on[5] {
		ctx = context.WithValue(ctx, derivation(5), 5)
	}
	if on[6] {
		ctx = context.WithValue(ctx, derivation(6), 6)
	}
	if on[7] {
		ctx = context.WithValue(ctx, derivation(7), 7)
	}
	if on[8] {
		ctx = context.WithValue(ctx, derivation(8), 8)
	}
	if on[9] {
		ctx = context.WithValue(ctx, derivation(9), 9)
	}
	if on[10] {
		ctx = context.WithValue(ctx, derivation(10), 10)
	}
	if on[11] {
		ctx = context.WithValue(ctx, derivation(11), 11)
	}
	if on[12] {
		ctx = context.WithValue(ctx, derivation(12), 12)
	}
	if on[13] {
		ctx = context.WithValue(ctx, derivation(13), 13)
	}
	if on[14] {
		ctx = context.WithValue(ctx, derivation(14), 14)
	}
	if on[15] {
		ctx = context.WithValue(ctx, derivation(15), 15)
	}
	if on[16] {
		ctx = context.WithValue(ctx, derivation(16), 16)
	}
	if on[17] {
		ctx = context.WithValue(ctx, derivation(17), 17)
	}
	if on[18] {
		ctx = context.WithValue(ctx, derivation(18), 18)
	}
	if on[19] {
		ctx = context.WithValue(ctx, derivation(19), 19)
	}
	if on[20] {
		ctx = context.WithValue(ctx, derivation(20), 20)
	}
	if on[21] {
		ctx = context.WithValue(ctx, derivation(21), 21)
	}
	if on[22] {
		ctx = context.WithValue(ctx, derivation(22), 22)
	}
	if on[23] {
		ctx = context.WithValue(ctx, derivation(23), 23)
	}
	if on[24] {
		ctx = context.WithValue(ctx, derivation(24), 24)
	}
	if on[25] {
		ctx = context.WithValue(ctx, derivation(25), 25)
	}
	if on[26] {
		ctx = context.WithValue(ctx, derivation(26), 26)
	}
	if on[27] {
		ctx = context.WithValue(ctx, derivation(27), 27)
	}
	inner, cancelInner := context.WithTimeout(ctx, 10*time.Second) // want `RL301`
	defer cancelInner()
	call(inner)
}

type derivation int
