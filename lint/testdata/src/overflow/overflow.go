package overflow

import (
	"context"
	"time"
)

type client interface{ Ping() error }

func cappedTooLate(c client, stop func() bool) {
	for attempt := 0; ; attempt++ {
		if c.Ping() == nil || stop() {
			return
		}
		time.Sleep(min(time.Second<<attempt, time.Minute)) // want `this delay overflows after many attempts: limit the exponent, not the result \(RL107`
	}
}

func converted(ctx context.Context, c client) error {
	for attempt := 0; ; attempt++ {
		if err := c.Ping(); err == nil {
			return nil
		}
		d := (1 << (2 * uint64(attempt))) * 50 * time.Millisecond // want `RL107`
		if d > time.Minute {
			d = time.Minute
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
		}
	}
}

func jump(ctx context.Context, c client) {
	var retry uint64
again:
	if ctx.Err() != nil || c.Ping() == nil {
		return
	}
	backoff := 1 << (2 * retry) * time.Second // want `RL107`
	if backoff > time.Minute {
		backoff = time.Minute
	}
	retry++
	time.Sleep(backoff) // want `RL102`
	goto again
}

func nopeCappedExponent(c client, stop func() bool) {
	for attempt := 0; ; attempt++ {
		if c.Ping() == nil || stop() {
			return
		}
		time.Sleep(time.Second << min(attempt, 6))
	}
}

func nopeBounded(c client) {
	for attempt := range 5 {
		if c.Ping() == nil {
			return
		}
		time.Sleep(time.Second << attempt)
	}
}

// The first delay that is too long ends it, long before it overflows.
func nopeEndsByTheDelay(c client) error {
	for attempt := 0; ; attempt++ {
		err := c.Ping()
		if err == nil {
			return nil
		}
		d := (1 << (2 * uint64(attempt))) * time.Second
		if d > time.Minute {
			return err
		}
		time.Sleep(d)
	}
}

// It would sleep for centuries before.
func nopeNeverGetsThere(c client) error {
	deadline := time.Now().Add(time.Minute)
	for tries := 0; time.Now().Before(deadline); tries++ {
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Second << uint(tries))
	}
	return c.Ping()
}

func nopeDoubled(c client, stop func() bool) {
	for d := time.Second; c.Ping() != nil && !stop(); d = min(2*d, time.Minute) {
		time.Sleep(d)
	}
}

// A shift that is no delay may be anything.
func noDelay(c client, use func(int)) {
	for bit := 0; ; bit++ { // want `\(RL101, RL103, RL105|\(RL101, RL105`
		if c.Ping() == nil {
			return
		}
		use(1 << bit)
	}
}

// What has overflowed is found.
func nopeGuarded(c client, stop func() bool) {
	for i := 0; c.Ping() != nil && !stop(); i++ {
		d := time.Second << i
		if d <= 0 || d > time.Minute {
			d = time.Minute
		}
		time.Sleep(d)
	}
}

// A float does not overflow so soon, and the least of two is right at its end.
// It would sleep for centuries before.
// A power of less than one shrinks.
func backoff(attempt int) time.Duration {
	if attempt == 0 {
		return 0
	}
	d := 100 * time.Millisecond << attempt // want `RL107`
	if d > time.Minute {
		return time.Minute
	}
	return d
}

func usesBackoff(c client, stop func() bool) {
	for n := 0; c.Ping() != nil && !stop(); n++ {
		time.Sleep(backoff(n))
	}
}

func nopeFewer(attempt int) time.Duration {
	return min(time.Second<<attempt, time.Minute)
}

func usesFewer(c client) {
	for n := 0; n < 5 && c.Ping() != nil; n++ {
		time.Sleep(nopeFewer(n))
	}
}

func nopeExamined(attempt int) time.Duration {
	if attempt > 10 {
		return time.Minute
	}
	return min(time.Second<<attempt, time.Minute)
}

func usesExamined(c client, stop func() bool) {
	for n := 0; c.Ping() != nil && !stop(); n++ {
		time.Sleep(nopeExamined(n))
	}
}

func nopeGuardedBehind(attempt int) time.Duration {
	return min(time.Second<<attempt, time.Minute)
}

func usesGuarded(c client, stop func() bool) {
	for n := 0; c.Ping() != nil && !stop(); n++ {
		d := nopeGuardedBehind(n)
		if d <= 0 {
			d = time.Minute
		}
		time.Sleep(d)
	}
}

// It says when it is too large.
func nopeSays(attempt int) (time.Duration, error) {
	d := time.Second << attempt
	if d > time.Minute {
		return 0, context.DeadlineExceeded
	}
	return d, nil
}

func usesSays(c client, stop func() bool) {
	for n := 0; c.Ping() != nil && !stop(); n++ {
		d, err := nopeSays(n)
		if err != nil {
			return
		}
		time.Sleep(d)
	}
}

// ---- bounded, though the number itself is not compared with a constant ----

func nopeDelay(n int) time.Duration { return min(time.Second<<n, time.Minute) }

func usesNextAttempt(c client, most int) {
	for n := 0; c.Ping() != nil; n++ {
		if n+1 >= most {
			return
		}
		time.Sleep(nopeDelay(n))
	}
}

func usesAllowed(c client, allows func(attempt int) bool) {
	for n := 0; c.Ping() != nil && allows(n); n++ {
		time.Sleep(nopeDelay(n))
	}
}

func usesTheDelay(c client) error {
	for n := 0; ; n++ {
		err := c.Ping()
		if err == nil {
			return nil
		}
		d := nopeDelay(n)
		if d >= time.Minute {
			return err
		}
		time.Sleep(d)
	}
}

// ---- delays that each attempt multiplies ----

func doubled(c client, stop func() bool) {
	delay := time.Second
	for c.Ping() != nil && !stop() {
		time.Sleep(min(delay, time.Minute))
		delay *= 2 // want `RL107`
	}
}

func nopeDoubledLess(c client, stop func() bool) {
	delay := time.Second
	for c.Ping() != nil && !stop() {
		time.Sleep(min(delay, time.Minute))
		if delay < time.Minute {
			delay *= 2
		}
	}
}

func nopeMultiplied(c client, stop func() bool) {
	delay := time.Second
	for c.Ping() != nil && !stop() {
		time.Sleep(delay)
		delay = min(time.Duration(float64(delay)*1.5), time.Minute)
	}
}

// A success starts the delays again.
func startsAgain(c client, stop func() bool) {
	failures := 0
	for !stop() {
		delay := time.Hour
		if err := c.Ping(); err == nil {
			failures = 0
		} else {
			failures++
			delay = min(time.Minute*time.Duration(1<<(failures-1)), time.Hour) // want `RL107`
		}
		time.Sleep(delay)
	}
}
