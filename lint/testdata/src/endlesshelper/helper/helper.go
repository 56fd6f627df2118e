// Package helper has functions that retry what they are given.
package helper

import (
	"context"
	"math/rand/v2"
	"time"
)

func Forever(f func() error) { // want Forever:`retries #0 until it succeeds, endless, waits`
	for f() != nil {
		time.Sleep(time.Second)
	}
}

func UntilDone(ctx context.Context, f func() error) error { // want UntilDone:`retries #1 until it succeeds, endless, ends with #0`
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if err := f(); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

func Select(ctx context.Context, f func() error) error { // want Select:`retries #1 until it succeeds, endless, ends with #0`
	for {
		if err := f(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func Without(f func() error) error { // want Without:`retries #0 until it succeeds, endless, has UntilDone`
	return UntilDone(context.Background(), f)
}

func Times(n int, f func() error) (err error) { // want Times:`retries #1 until it succeeds, waits`
	for range n {
		if err = f(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// FiveTimes gives it to another.
func FiveTimes(f func() error) error { return Times(5, func() error { return f() }) } // want FiveTimes:`retries #0 until it succeeds, waits`

// Until asks whether to go on.
func Until(f func() error, goOn func(error) bool) error { // want Until:`retries #0 until it succeeds, waits`
	for {
		err := f()
		if err == nil || !goOn(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}

func Every(wait time.Duration, f func() error) (err error) { // want Every:`retries #1 until it succeeds, waits for #0`
	for range 3 {
		if err = f(); err == nil {
			return nil
		}
		time.Sleep(wait)
	}
	return err
}

func Growing(f func() error) (err error) { // want Growing:`retries #0 until it succeeds, waits`
	for wait, n := 10*time.Millisecond, 0; n < 4; wait, n = wait*2, n+1 {
		if err = f(); err == nil {
			return nil
		}
		time.Sleep(wait)
	}
	return err
}

func Briefly(f func() error) (err error) { // want Briefly:`retries #0 until it succeeds, waits`
	for range 3 {
		if err = f(); err == nil {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

func UntilStopped(stop <-chan struct{}, f func() error) (err error) { // want UntilStopped:`retries #1 until it succeeds`
	for range 10 {
		if err = f(); err == nil {
			return nil
		}
		select {
		case <-stop:
			return err
		case <-time.After(time.Second):
		}
	}
	return err
}

// Attempts waits with its context, and has a limit.
func Attempts(ctx context.Context, n int, f func(context.Context) error) (err error) { // want Attempts:`retries #2 until it succeeds, ends with #0`
	for range n {
		if err = f(ctx); err == nil {
			return nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return err
}

// Permanent ends with what an error says, which may be the end of a context.
func Permanent(ctx context.Context, n int, f func() error, permanent func(error) bool) (err error) { // want Permanent:`retries #2 until it succeeds, ends with #0`
	for range n {
		if err = f(); err == nil || permanent(err) {
			return err
		}
		if sleep(ctx, time.Second) != nil {
			return err
		}
	}
	return err
}

// Detached is Permanent for those who have no context.
func Detached(n int, f func() error) error { // want Detached:`retries #1 until it succeeds, has Permanent`
	return Permanent(context.Background(), n, func() error { return f() }, func(error) bool { return false })
}

// Thrice gives it to another.
func Thrice(ctx context.Context, f func(context.Context) error) error { return Attempts(ctx, 3, f) } // want Thrice:`retries #1 until it succeeds, ends with #0`

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func UntilTrue(f func() bool) { // want UntilTrue:`retries #0 until true, endless, waits`
	for !f() {
		time.Sleep(time.Second)
	}
}

func While(f func(attempt int) bool) { // want While:`retries #0 until false, endless, waits`
	for i := 0; f(i); i++ {
		time.Sleep(time.Second)
	}
}

func Poll(ctx context.Context, f func() (done bool, err error)) error { // want Poll:`retries #1 until true, endless, ends with #0`
	for {
		done, err := f()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func PollForever(f func() (bool, error)) error { // want PollForever:`retries #0 until true, endless, has Poll`
	return Poll(context.Background(), f)
}

func UntilLate(f func() bool) bool { // want UntilLate:`retries #0 until true, waits`
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(time.Second) {
		if f() {
			return true
		}
	}
	return false
}

// A Retrier retries by its methods.
type Retrier struct{ Wait time.Duration }

func (r *Retrier) Forever(f func() error) { // want Forever:`retries #1 until it succeeds, endless, waits`
	for f() != nil {
		time.Sleep(r.Wait)
	}
}

func (r *Retrier) UntilDone(ctx context.Context, f func() error) error { // want UntilDone:`retries #2 until it succeeds, endless, ends with #1`
	for {
		if err := f(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(r.Wait):
		}
	}
}

// Collect ends by what f returns with an error as well.
func Collect(f func() (text string, last bool, err error)) (all []string) {
	for last := false; !last; {
		text, end, err := f()
		if last = end; err == nil {
			all = append(all, text)
		}
	}
	return all
}

// Port returns another port each time.
func Port() int { return 30000 + rand.IntN(10000) }
