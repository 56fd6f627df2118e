package unboundedlibrary

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"time"

	avast "github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	sethvargo "github.com/sethvargo/go-retry"
	"k8s.io/apimachinery/pkg/util/wait"
)

func ping() error { return nil }

func constant() {
	backoff.Retry(ping, backoff.NewConstantBackOff(time.Second)) // want `Retry retries until it succeeds, without a limit: pass a limit \(WithMaxRetries, or a MaxElapsedTime above 0\) \(RL201`
}

func stopped(stop <-chan struct{}) {
	backoff.Retry(ping, backoff.NewConstantBackOff(time.Second)) // want `end it when stop is closed, or pass a limit \(WithMaxRetries, .* \(RL201`
}

func zero(ctx context.Context) {
	backoff.RetryNotify(ping, &backoff.ZeroBackOff{}, nil) // want `pass ctx, or a limit \(WithMaxRetries, or a MaxElapsedTime above 0\) \(RL201, RL202`
}

func exponential() {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 0
	backoff.Retry(ping, b) // want `RL201`
}

var configured time.Duration

func Configure(d time.Duration) { configured = d }

func patient() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 0
	return b
}

func exponentialMade() {
	backoff.Retry(ping, patient()) // want `RL201`
}

func nopeLessPatient() {
	b := patient()
	b.MaxElapsedTime = time.Minute
	backoff.Retry(ping, b)
}

func nopeConfigured() {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = configured
	backoff.Retry(ping, b)
}

func exponentialOption() {
	backoff.Retry(ping, backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))) // want `RL201`
}

func background() {
	backoff.Retry(ping, backoff.WithContext(backoff.NewConstantBackOff(time.Second), context.Background())) // want `RL201`
}

func v5() {
	backoffv5.Retry(context.Background(), func() (int, error) { return 0, ping() }, backoffv5.WithMaxElapsedTime(0)) // want `RL201`
}

func attempts() {
	avast.Do(ping, avast.Attempts(0))      // want `RL201`
	avast.Do(ping, avast.UntilSucceeded()) // want `RL201`
}

func constantNext() {
	sethvargo.Do(context.Background(), sethvargo.NewConstant(time.Second), func(context.Context) error { return ping() }) // want `RL201`
}

func polls() {
	wait.PollInfinite(time.Second, func() (bool, error) { return ping() == nil, nil })                                                // want `RL201`
	wait.PollUntilContextCancel(context.TODO(), time.Second, true, func(context.Context) (bool, error) { return ping() == nil, nil }) // want `RL201`
}

// Its condition never holds: it repeats its work for as long as the program runs.
func nopeTicker(report func() error) {
	wait.PollInfinite(time.Minute, func() (bool, error) {
		if err := report(); err != nil {
			println(err.Error())
		}
		return false, nil
	})
}

func wrapper(f func() error) error { return backoff.Retry(f, backoff.NewConstantBackOff(time.Second)) }

func throughWrapper() {
	wrapper(ping) // want `wrapper retries until it succeeds, without a limit`
}

func nopeDefaultEnds() {
	backoff.Retry(ping, backoff.NewExponentialBackOff())
}

func nopeElapsed(d time.Duration) {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = d
	backoff.Retry(ping, b)
}

func nopeMaxRetries() {
	backoff.Retry(ping, backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 3))
}

func nopeContext(ctx context.Context) {
	backoff.Retry(ping, backoff.WithContext(backoff.NewConstantBackOff(time.Second), ctx))
	avast.Do(ping, avast.Attempts(0), avast.Context(ctx))
	wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) { return ping() == nil, nil })
}

func remote(ctx context.Context) (int, error) { return 0, ctx.Err() }

func goesOnAfterTheContext(ctx context.Context) {
	wait.PollInfinite(time.Second, func() (bool, error) { // want `pass ctx, or a limit \(PollUntilContextTimeout\) \(RL201, RL202`
		if _, err := remote(ctx); err != nil {
			log.Print(err)
			return false, nil
		}
		return true, nil
	})
}

// UntilReady is what others may use too.
var UntilReady = wait.Backoff{Duration: time.Second, Steps: math.MaxInt32}

var untilSet = wait.Backoff{Duration: time.Second, Steps: math.MaxInt32}

func ofVariables() {
	ready := func() (bool, error) { return ping() == nil, nil }
	wait.ExponentialBackoff(UntilReady, ready) // want `ExponentialBackoff retries until it succeeds, without a limit.*RL201`
	wait.ExponentialBackoff(untilSet, ready)   // nothing is known of what it is set to
}

func sets(steps int) { untilSet.Steps = steps }

func goesOnWaiting(ctx context.Context) {
	ready := func() (bool, error) { return ping() == nil, nil }
	wait.Poll(time.Second, time.Minute, ready)                       // want `Poll continues after ctx has ended: call PollUntilContextTimeout instead \(RL202`
	wait.PollImmediate(time.Second, time.Minute, ready)              // want `RL202`
	wait.ExponentialBackoff(wait.Backoff{Steps: 5}, ready)           // want `call ExponentialBackoffWithContext instead \(RL202`
	wait.ExponentialBackoff(wait.Backoff{Steps: 5}, endsWith(ctx))   // may end by itself, as far as is seen
	wait.PollImmediate(time.Second, time.Minute, asksItself(ctx, 1)) // so may this
}

func endsWith(ctx context.Context) func() (bool, error) {
	return func() (bool, error) { return ctx.Err() != nil, nil }
}

func asksItself(ctx context.Context, n int) func() (bool, error) {
	return func() (bool, error) { return n > 0, ctx.Err() }
}

func nopePolls() {
	wait.Poll(time.Second, time.Minute, func() (bool, error) { return ping() == nil, nil })
}

// The error of the context ends it.
func nopeFailsWithTheContext(ctx context.Context) {
	wait.PollInfinite(time.Second, func() (bool, error) {
		n, err := remote(ctx)
		if err != nil {
			return false, fmt.Errorf("remote: %w", err)
		}
		return n == 0, nil
	})
}

// What it keeps of an error is no limit.
func keepsTheError() error {
	err := ping()
	err = wait.PollInfinite(time.Second, func() (bool, error) { // want `RL201`
		if err = ping(); errors.Is(err, errGone) {
			return true, nil
		}
		return false, nil
	})
	return err
}

var errGone = errors.New("gone")

func nopeTries() {
	backoffv5.Retry(context.Background(), func() (int, error) { return 0, ping() }, backoffv5.WithMaxElapsedTime(0), backoffv5.WithMaxTries(3))
	backoffv5.Retry(context.Background(), func() (int, error) { return 0, ping() })
	avast.Do(ping)
}

func nopeCounts() error {
	n := 0
	return wrapper(func() error {
		if n++; n > 3 {
			return nil
		}
		return errors.New("not yet")
	})
}

func nopeUnseen(b backoff.BackOff) { backoff.Retry(ping, b) }

type engine struct{ initialized, stopped bool }

func (e *engine) init() error { return ping() }

func (e *engine) stop() { e.stopped = true }

// That it has succeeded already ends it as a success does.
func initializes(e *engine) {
	backoff.Retry(func() error { // want `RL201`
		if e.initialized {
			return nil
		}
		return e.init()
	}, backoff.NewConstantBackOff(time.Second))
}

func nopeStopped(e *engine) {
	backoff.Retry(func() error {
		if e.stopped {
			return nil
		}
		return e.init()
	}, backoff.NewConstantBackOff(time.Second))
}

func logged(f func() error) func() error {
	return func() error {
		err := f()
		if err != nil {
			log.Print(err)
		}
		return err
	}
}

func nopeWrappedCounts() {
	n := 0
	backoff.Retry(logged(func() error { // it ends after three
		if n++; n > 3 {
			return nil
		}
		return ping()
	}), backoff.NewConstantBackOff(time.Second))
}

// A channel that is asked in passing ends nothing.
func watchesInPassing(ctx context.Context, deleted <-chan string) error {
	return wait.PollImmediate(time.Second, time.Minute, func() (bool, error) { // want `RL202`
		select {
		case <-deleted:
			return true, nil
		default:
			return false, nil
		}
	})
}

func done(state string) bool { return state == "done" }

// That something else is done ends nothing.
func untilDone(ctx context.Context, state func() (string, error)) error {
	return wait.PollImmediate(time.Second, time.Minute, func() (bool, error) { // want `RL202`
		now, err := state()
		if err != nil {
			return false, err
		}
		if done(now) {
			return true, nil
		}
		return false, nil
	})
}

// That something else has terminated ends nothing.
func untilTerminated(ctx context.Context, state func() (string, error)) error {
	return wait.PollImmediate(time.Second, time.Minute, func() (bool, error) { // want `RL202`
		now, err := state()
		return now == "terminated", err
	})
}

func wrapsForEver(f func() error) func() error { return wrapsForEver(f) }

func nopeWrappedForEver() {
	backoff.Retry(wrapsForEver(ping), backoff.NewConstantBackOff(time.Second))
}

func pollNeverStopped(ready func() bool, stop chan struct{}) {
	wait.PollUntil(time.Second, func() (bool, error) { return ready(), nil }, wait.NeverStop)                                    // want `RL201`
	wait.PollUntil(time.Second, func() (bool, error) { return ready(), nil }, nil)                                               // want `RL201`
	wait.PollInfiniteWithContext(context.Background(), time.Second, func(context.Context) (bool, error) { return ready(), nil }) // want `RL201`
	wait.PollUntil(time.Second, func() (bool, error) { return ready(), nil }, stop)                                              // it may be closed
}

func nopeInfiniteWithContext(ctx context.Context, ready func() bool) error {
	return wait.PollInfiniteWithContext(ctx, time.Second, func(context.Context) (bool, error) { return ready(), nil })
}

func pollsWithoutItsCaller(ctx context.Context, ready func(context.Context) bool) error {
	if err := wait.PollUntilContextTimeout(context.TODO(), time.Second, time.Minute, true, func(ctx context.Context) (bool, error) { return ready(ctx), nil }); err != nil { // want `PollUntilContextTimeout continues after ctx has ended: pass it that context \(RL202`
		return err
	}
	return wait.PollImmediateWithContext(context.Background(), time.Second, time.Minute, func(context.Context) (bool, error) { return ready(ctx), nil }) // want `RL202`
}

func nopePollsWithItsCaller(ctx context.Context, ready func(context.Context) bool) error {
	return wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) { return ready(ctx), nil })
}

// The deadline of the caller is not that of what it leaves behind.
func nopePollsDetached(ctx context.Context, gone func(context.Context) bool) error {
	return wait.PollUntilContextTimeout(context.WithoutCancel(ctx), time.Second, time.Minute, true, func(ctx context.Context) (bool, error) { return gone(ctx), nil })
}

// It cleans up when the context has ended as well.
func nopePollsAtTheEnd(ctx context.Context, run func(context.Context) error, gone func(context.Context) bool) error {
	defer func() {
		_ = wait.PollUntilContextTimeout(context.Background(), time.Second, time.Minute, true, func(ctx context.Context) (bool, error) { return gone(ctx), nil })
	}()
	return run(ctx)
}

// It asks the context itself.
func nopePollsAndAsks(ctx context.Context, ready func() bool) error {
	return wait.PollUntilContextTimeout(context.Background(), time.Second, time.Minute, true, func(context.Context) (bool, error) { return ready(), ctx.Err() })
}

func asOftenAsANumberSays() {
	avast.Do(ping, avast.Attempts(math.MaxUint32)) // want `RL201`
}

var optionsOfPackage = [...]avast.Option{avast.Attempts(3)}

func nopeArray() error { return avast.Do(ping, optionsOfPackage[:]...) }

// WithMaxElapsedTime takes a text.
func WithMaxElapsedTime(text string) backoffv5.RetryOption {
	d, _ := time.ParseDuration(text)
	return backoffv5.WithMaxElapsedTime(d)
}

func nopeOwnOption(ctx context.Context) (int, error) {
	return backoffv5.Retry(ctx, func() (int, error) { return 0, ping() }, WithMaxElapsedTime("15m"))
}

// What ends it is made of a status, and not of the end of the context.
func marksAStatus(ctx context.Context, status func() (int, error)) error {
	return avast.Do(func() error { // want `RL202`
		code, err := status()
		if err != nil {
			return err
		}
		if code == 404 {
			return avast.Unrecoverable(fmt.Errorf("status %d", code))
		}
		return ping()
	}, avast.Attempts(3))
}

// ---- options that are put together, and operations that a function makes ----

func appendedOptions(ctx context.Context, c client, attempts uint, delay time.Duration) error {
	options := []avast.Option{avast.Attempts(attempts)}
	if delay > 0 {
		options = append(options, avast.Delay(delay))
	}
	return avast.Do(func() error { return c.Call(ctx) }, options...) // want `Do continues after ctx has ended: pass it that context \(RL202`
}

func nopeAppendedContext(ctx context.Context, c client, canceled bool) error {
	var options []avast.Option
	if canceled {
		options = append(options, avast.Context(ctx))
	}
	return avast.Do(func() error { return c.Call(ctx) }, append(options, avast.Delay(time.Second))...)
}

func nopeOptionsGiven(ctx context.Context, c client, more ...avast.Option) error {
	return avast.Do(func() error { return c.Call(ctx) }, append([]avast.Option{avast.Delay(time.Second)}, more...)...)
}

func calling(ctx context.Context, c client) func() error { return func() error { return c.Call(ctx) } }

func madeOperation(ctx context.Context, c client) error {
	return avast.Do(calling(ctx, c), avast.Delay(time.Second)) // want `RL202`
}

type client interface{ Call(context.Context) error }
