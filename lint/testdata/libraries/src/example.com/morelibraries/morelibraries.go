package morelibraries

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	avast "github.com/avast/retry-go/v4"
	avastv5 "github.com/avast/retry-go/v5"
	cenk "github.com/cenk/backoff"
	backoffv2 "github.com/cenkalti/backoff"
	"github.com/cenkalti/backoff/v4"
	backoffv7 "github.com/cenkalti/backoff/v7"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/googleapis/gax-go/v2"
	sethvargo "github.com/sethvargo/go-retry"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

func ping() error { return nil }

func call(ctx context.Context) error { return ctx.Err() }

func ready() (bool, error) { return ping() == nil, nil }

func always(error) bool { return true }

func retryer() gax.Retryer { return gax.OnErrorFunc(gax.Backoff{}, always) }

type threeTimes struct{ n int }

func (t *threeTimes) Retry(error) (time.Duration, bool) {
	t.n++
	return time.Second, t.n < 3
}

func failsafeRetries() error {
	policy := retrypolicy.NewBuilder[any]().WithDelay(time.Second).WithMaxRetries(-1).Build()
	return failsafe.With[any](policy).Run(ping) // want `Run retries until it succeeds, without a limit: pass a limit \(WithMaxRetries above 0, or WithMaxDuration\) \(RL201`
}

func failsafeAttempts() error {
	policy := retrypolicy.NewBuilder[any]().WithMaxAttempts(-1).Build()
	return failsafe.With[any](policy).WithContext(context.Background()).Run(ping) // want `RL201`
}

func invoke() error {
	return gax.Invoke(context.Background(), func(context.Context, gax.CallSettings) error { return ping() }, gax.WithRetry(retryer)) // want `RL201`
}

func nopeGivesUp() error {
	return gax.Invoke(context.Background(), func(context.Context, gax.CallSettings) error { return ping() }, gax.WithRetry(func() gax.Retryer { return &threeTimes{} }))
}

func jittered() error {
	b := sethvargo.WithCappedDuration(time.Minute, sethvargo.WithJitter(time.Second, sethvargo.NewFibonacci(time.Second)))
	return sethvargo.Do(context.Background(), b, func(context.Context) error { return ping() }) // want `RL201`
}

type limited struct{ n int }

func (l *limited) NextBackOff() time.Duration {
	l.n++
	return time.Duration(l.n)
}

func nopeStopsByItself() {
	backoffv7.Retry(context.Background(), func() (int, error) { return 0, ping() }, backoffv7.WithBackOff(&limited{}), backoffv7.WithMaxElapsedTime(0))
}

func nopeLastCounts() {
	backoffv7.Retry(context.Background(), func() (int, error) { return 0, ping() }, backoffv7.WithMaxElapsedTime(0), backoffv7.WithMaxElapsedTime(time.Minute))
}

func constantLiteral() {
	backoff.Retry(ping, &backoff.ConstantBackOff{}) // want `RL201`
}

// What is done when the context has ended is not to end with it.
func nopeBehindTheEnd(ctx context.Context) error {
	<-ctx.Done()
	return backoff.Retry(ping, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
}

func nopeItsOwnContext(ctx context.Context) error {
	own, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return backoff.Retry(func() error { return call(own) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
}

func handler(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	backoff.Retry(func() error { return call(ctx) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)) // want `Retry continues after the context has ended: pass it that context \(RL202`
}

func handlerAsks(w http.ResponseWriter, r *http.Request) {
	backoff.Retry(func() error { return call(r.Context()) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)) // want `Retry continues after r.Context\(\) has ended: pass it that context \(RL202`
}

func nopeHandler(w http.ResponseWriter, r *http.Request) {
	backoff.Retry(func() error { return call(r.Context()) }, backoff.WithContext(backoff.NewExponentialBackOff(), r.Context()))
	// It is to be done though nobody waits for it any more.
	backoff.Retry(func() error { return call(context.WithoutCancel(r.Context())) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
	// So is what has nothing to do with the request but its path.
	backoff.Retry(func() error { return call(context.WithValue(context.Background(), "path", r.URL.Path)) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
}

// One that it has made itself ends when it says.
func nopeOwnRequest() error {
	r, err := http.NewRequest(http.MethodGet, "http://localhost", nil)
	if err != nil {
		return err
	}
	return backoff.Retry(func() error { return call(r.Context()) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
}

func steps() error {
	b := wait.Backoff{Duration: time.Second, Factor: 1, Steps: math.MaxInt32}
	return wait.ExponentialBackoff(b, ready) // want `RL201`
}

func onError() error {
	return retry.OnError(wait.Backoff{Duration: time.Second, Steps: math.MaxInt}, always, ping) // want `RL201`
}

// What says whether to try again asks the context.
func nopeAsksContext(ctx context.Context) error {
	return retry.OnError(wait.Backoff{Duration: time.Second, Steps: math.MaxInt}, func(error) bool { return ctx.Err() == nil }, ping)
}

func v7() {
	backoffv7.Retry(context.Background(), func() (int, error) { return 0, ping() }, backoffv7.WithMaxElapsedTime(0)) // want `RL201`
}

func firstPath(ctx context.Context) error {
	b := cenk.NewExponentialBackOff()
	b.MaxElapsedTime = time.Minute
	return cenk.Retry(ping, b) // want `Retry continues after ctx has ended: pass it that context \(RL202`
}

func boundedCenkalti(ctx context.Context) error {
	return backoff.Retry(ping, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)) // want `Retry continues after ctx has ended: pass it that context \(RL202`
}

func boundedAvast(ctx context.Context) error {
	return avast.Do(ping, avast.Attempts(5)) // want `RL202`
}

func boundedSethvargo(ctx context.Context) error {
	b := sethvargo.WithMaxRetries(3, sethvargo.NewConstant(time.Second))
	return sethvargo.Do(context.Background(), b, func(context.Context) error { return ping() }) // want `RL202`
}

func nopeFailsafe(ctx context.Context) error {
	long := retrypolicy.NewBuilder[any]().WithMaxRetries(-1).WithMaxDuration(time.Hour).Build()
	if err := failsafe.With[any](long).Run(ping); err != nil {
		return err
	}
	few := retrypolicy.NewBuilder[any]().WithMaxRetries(3).Build()
	if err := failsafe.With[any](few).Run(ping); err != nil {
		return err
	}
	busy := retrypolicy.NewBuilder[any]().HandleErrors(context.DeadlineExceeded).WithMaxRetries(-1).Build()
	if err := failsafe.With[any](busy).Run(ping); err != nil {
		return err
	}
	until := retrypolicy.NewBuilder[any]().WithMaxRetries(-1).Build()
	return failsafe.With[any](until).WithContext(ctx).Run(ping)
}

// The other policy may end it.
func nopeOther(timeout failsafe.Policy[any]) error {
	until := retrypolicy.NewBuilder[any]().WithMaxRetries(-1).Build()
	return failsafe.With[any](timeout, until).Run(ping)
}

func nopeInvoke(ctx context.Context, opts []gax.CallOption) error {
	call := func(context.Context, gax.CallSettings) error { return ping() }
	if err := gax.Invoke(ctx, call, gax.WithRetry(retryer)); err != nil {
		return err
	}
	return gax.Invoke(context.WithoutCancel(ctx), call, gax.WithRetry(retryer), gax.WithTimeout(time.Minute))
}

func nopeOptions(opt gax.CallOption) error {
	return gax.Invoke(context.Background(), func(context.Context, gax.CallSettings) error { return ping() }, gax.WithRetry(retryer), opt)
}

// The cap ends it.
func nopeCap() error {
	return wait.ExponentialBackoff(wait.Backoff{Duration: time.Second, Factor: 2, Steps: math.MaxInt32, Cap: time.Minute}, ready) // want `RL209`
}

func nopeSteps() error {
	return wait.ExponentialBackoff(wait.Backoff{Duration: time.Second, Factor: 1, Steps: 10}, ready)
}

// The waits are over at once.
func nopeBrief(ctx context.Context, ready wait.ConditionFunc) error {
	return wait.ExponentialBackoff(wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 3}, ready)
}

func nopeGiven(ctx context.Context, b backoff.BackOff, opts []avast.Option) error {
	if err := backoff.Retry(ping, b); err != nil {
		return err
	}
	if err := backoff.Retry(ping, backoff.WithMaxRetries(backoff.WithContext(backoff.NewExponentialBackOff(), ctx), 3)); err != nil {
		return err
	}
	if err := avast.Do(ping, avast.Attempts(5), avast.Context(ctx)); err != nil {
		return err
	}
	return avast.Do(ping, opts...)
}

// It asks the context itself.
func nopeAsks(ctx context.Context) error {
	return avast.Do(func() error {
		if ctx.Err() != nil {
			return nil
		}
		return ping()
	}, avast.Attempts(5))
}

// It knows when to give up, when the wait is over.
func permanent(ctx context.Context) error {
	return backoff.Retry(func() error { // want `Retry continues after ctx has ended: pass it that context \(RL202`
		err := ping()
		if errors.Is(err, context.Canceled) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.NewExponentialBackOff())
}

// It may run when the context has ended, and shall.
func nopeLater(ctx context.Context) func() error {
	return func() error { return avast.Do(ping, avast.Attempts(5)) }
}

func avastMethods() {
	avastv5.New(avastv5.Attempts(0)).Do(ping)                                                       // want `Do retries until it succeeds, without a limit: pass a limit \(Attempts above 0\) \(RL201`
	avastv5.NewWithData[int](avastv5.UntilSucceeded()).Do(func() (int, error) { return 0, ping() }) // want `RL201`
	avastv5.New(avastv5.UntilSucceeded(), avastv5.Context(context.Background())).Do(ping)           // want `RL201`
	retrier := avastv5.New(avastv5.UntilSucceeded())
	retrier.Do(ping) // want `RL201`
}

func endlessAvastMethod(ctx context.Context) error {
	return avastv5.New(avastv5.UntilSucceeded()).Do(ping) // want `pass ctx, or a limit \(Attempts above 0\) \(RL201, RL202`
}

func boundedAvastMethod(ctx context.Context) error {
	return avastv5.New(avastv5.Attempts(5)).Do(ping) // want `Do continues after ctx has ended: pass it that context \(RL202`
}

func cappedAvastMethod() error {
	return avastv5.New(avastv5.Delay(time.Minute), avastv5.MaxDelay(time.Second)).Do(ping) // want `RL209`
}

func nopeAvastMethods(ctx context.Context, given *avastv5.Retrier, options []avastv5.Option) {
	avastv5.New().Do(func() error { return ctx.Err() })
	avastv5.New(avastv5.UntilSucceeded(), avastv5.Context(ctx)).Do(ping)
	avastv5.New(avastv5.UntilSucceeded(), avastv5.AttemptsForError(3, errors.ErrUnsupported)).Do(func() error { return ctx.Err() })
	given.Do(ping)
	avastv5.New(options...).Do(ping)
}

func v2() error {
	return backoffv2.Retry(ping, backoffv2.NewConstantBackOff(time.Second)) // want `RL201`
}

func nopeV2() error {
	return backoffv2.Retry(ping, backoffv2.WithMaxRetries(backoffv2.NewConstantBackOff(time.Second), 5))
}

func number() (int, error) { return 0, ping() }

func withData() (int, error) {
	return backoff.RetryWithData(number, backoff.NewConstantBackOff(time.Second)) // want `RL201`
}

func avastWithData() (int, error) {
	return avast.DoWithData(number, avast.Attempts(0)) // want `RL201`
}

func value() (int, error) {
	return sethvargo.DoValue(context.Background(), sethvargo.NewConstant(time.Second), func(context.Context) (int, error) { return number() }) // want `RL201`
}

var errStalled = errors.New("stalled")

// An error that it names itself is not the end of the context.
func stalls(ctx context.Context, moved func(context.Context) (int, error)) error {
	b := backoff.NewExponentialBackOff()
	return backoff.Retry(func() error { // want `Retry continues after ctx has ended: .*\(RL202`
		n, err := moved(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return backoff.Permanent(errStalled)
		}
		return nil
	}, b)
}

// What runs beside it is given the context as well, and its operation uses it.
func leads(ctx context.Context, become func(context.Context) error, exit chan<- error) {
	go func() {
		err := backoff.Retry(func() error { // want `Retry continues after ctx has ended: .*\(RL202`
			return become(ctx)
		}, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 10))
		if err != nil {
			exit <- err
		}
	}()
}

// It is to go on without its caller.
func nopeDetached(ctx context.Context, become func(context.Context) error) {
	go func() {
		_ = backoff.Retry(func() error { return become(context.WithoutCancel(ctx)) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 10))
	}()
}

// A literal that leaves the limit out has none.
func literal() error {
	return backoff.Retry(ping, &backoff.ExponentialBackOff{ // want `RL201`
		InitialInterval: time.Second,
		MaxInterval:     time.Minute,
	})
}

// What is given the literal may set its limit.
func nopeLimited(limit func(*backoff.ExponentialBackOff)) error {
	b := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	limit(b)
	return backoff.Retry(ping, b)
}

// RL201 is said where it is called: a loop around it adds nothing.
func forEver(op func() error) {
	b := &backoff.ExponentialBackOff{InitialInterval: time.Second, MaxInterval: time.Minute}
	for {
		if err := backoff.Retry(op, b); err == nil {
			return
		}
	}
}

func calls() {
	forEver(ping) // want `RL201`
}

func unlimited() {
	backoffv2.Retry(ping, backoffv2.WithMaxRetries(backoffv2.NewConstantBackOff(time.Second), 0)) // want `RL201`
}

// Since v4 it means no retry.
func nopeNoRetry() error {
	return backoff.Retry(ping, backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 0))
}

func bare() error {
	return backoff.Retry(ping, backoff.WithMaxRetries(backoff.NewConstantBackOff(3), 3)) // want `3 nanoseconds.*RL207`
}

func nopeFraction(d time.Duration) time.Duration { return wait.Jitter(d, 2) }

func logged(op func() error) error {
	return backoff.Retry(func() error {
		err := op()
		if err != nil {
			println(err.Error())
		}
		return err
	}, backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 10))
}

func logs(ctx context.Context) error {
	return logged(func() error { return call(ctx) }) // want `logged continues after ctx has ended: add a context parameter that ends its waits \(RL202`
}

func until(b wait.Backoff, condition wait.ConditionFunc) error {
	return wait.ExponentialBackoff(b, func() (bool, error) {
		ok, err := condition()
		return ok && err == nil, nil
	})
}

func waits(ctx context.Context) error {
	return until(wait.Backoff{Duration: time.Second, Steps: 10}, func() (bool, error) { return call(ctx) == nil, nil }) // want `until continues after ctx has ended`
}

// It is never asked again.
func nopeOnce(ctx context.Context) error {
	return until(wait.Backoff{Duration: time.Second, Steps: 10}, func() (bool, error) {
		if err := call(ctx); err != nil {
			return false, err
		}
		return true, nil
	})
}

func nopeWithin(ctx context.Context, op func() error) error {
	return backoff.Retry(func() error { return op() }, backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 10), ctx))
}

func backoffOfCloud() wait.Backoff {
	return wait.Backoff{Duration: 3 * time.Second, Factor: 1, Steps: 10}
}

func onErrorLong(ctx context.Context) error {
	return retry.OnError(backoffOfCloud(), always, func() error { return call(ctx) }) // want `OnError continues after ctx has ended: call ExponentialBackoffWithContext of package wait instead \(RL202`
}

func nopeOnErrorBrief(ctx context.Context) error {
	return retry.OnError(wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1, Steps: 5}, always, func() error { return call(ctx) })
}

func nopeOnErrorUnknown(ctx context.Context, b wait.Backoff) error {
	return retry.OnError(b, always, func() error { return call(ctx) })
}

func nopeOnErrorEnds(ctx context.Context) error {
	return retry.OnError(backoffOfCloud(), func(error) bool { return ctx.Err() == nil }, func() error { return call(ctx) })
}

func withLogger(ctx context.Context) context.Context { return ctx }

func derived(ctx context.Context) error {
	ctx = withLogger(ctx)
	try := func() error {
		return avast.Do(func() error { return call(ctx) }, avast.Attempts(5), avast.Delay(time.Second)) // want `RL202`
	}
	return try()
}

func nopeShortJitter(ctx context.Context, call func(context.Context) error) (err error) {
	for range 10 {
		if err = call(ctx); err == nil {
			return nil
		}
		time.Sleep(wait.Jitter(30*time.Millisecond, 1))
	}
	return err
}

func longJitter(ctx context.Context, call func(context.Context) error) (err error) {
	for range 10 {
		if err = call(ctx); err == nil {
			return nil
		}
		time.Sleep(wait.Jitter(60*time.Millisecond, 4)) // want `RL102`
	}
	return err
}
