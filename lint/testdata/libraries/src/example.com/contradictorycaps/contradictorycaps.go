package contradictorycaps

import (
	"context"
	"math"
	"time"

	avast "github.com/avast/retry-go/v4"
	avastv5 "github.com/avast/retry-go/v5"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/cenkalti/backoff/v4"
	"github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	restyv3 "resty.dev/v3"
)

func ready() (bool, error) { return true, nil }

func ping() error { return nil }

func steps() error {
	b := wait.Backoff{Steps: 10, Duration: time.Second, Factor: 2, Cap: 10 * time.Second}
	return wait.ExponentialBackoff(b, ready) // want `ends at Cap, after 4 of its 10 Steps: .* \(RL209`
}

func unlimited(ctx context.Context) error {
	return wait.ExponentialBackoffWithContext(ctx, wait.Backoff{ // want `after 6 of its unlimited Steps`
		Steps: math.MaxInt32, Duration: time.Second, Factor: 2, Jitter: 0.1, Cap: time.Minute,
	}, func(context.Context) (bool, error) { return true, nil })
}

var conflict = wait.Backoff{Steps: 5, Duration: time.Second, Factor: 3, Cap: 5 * time.Second}

func variable() error {
	return retry.RetryOnConflict(conflict, ping) // want `after 2 of its 5 Steps`
}

func intervals() error {
	b := backoff.NewExponentialBackOff() // want `the first delay 2m0s is above MaxInterval, which is 1m0s, so delays never grow: lower it, or raise the other \(RL209`
	b.InitialInterval = 2 * time.Minute
	return backoff.Retry(ping, b)
}

func option() error {
	b := backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Second)) // want `RL209`
	b.MaxInterval = 100 * time.Millisecond
	return backoff.Retry(ping, b)
}

func client() *retryablehttp.Client {
	c := retryablehttp.NewClient() // want `the first delay 1m0s is above RetryWaitMax, which is 30s`
	c.RetryWaitMin = time.Minute
	return c
}

func delays() error {
	return avast.Do(ping, avast.Delay(time.Minute), avast.MaxDelay(time.Second)) // want `RL209; library`
}

func retrier() error {
	r := avastv5.New(avastv5.Delay(time.Minute), avastv5.MaxDelay(time.Second)) // want `the first delay 1m0s is above MaxDelay, which is 1s, .* \(RL209; library`
	return r.Do(ping)
}

func nopeDelays(more ...avast.Option) error {
	if err := avast.Do(ping, append([]avast.Option{avast.Delay(time.Minute)}, more...)...); err != nil {
		return err
	}
	return avast.Do(ping, avast.Delay(time.Minute), avast.MaxDelay(0))
}

func nopeFits() error {
	if err := retry.RetryOnConflict(wait.Backoff{Steps: 4, Duration: time.Second, Factor: 2, Cap: 10 * time.Second}, ping); err != nil {
		return err
	}
	return wait.ExponentialBackoff(wait.Backoff{Steps: 10, Duration: time.Second, Factor: 1, Cap: time.Second}, ready)
}

// Step goes on at Cap.
func nopeStep() {
	b := wait.Backoff{Steps: 10, Duration: time.Second, Factor: 2, Cap: 10 * time.Second}
	for range 100 {
		time.Sleep(b.Step())
	}
}

func nopeUnknown(limit time.Duration) error {
	b := wait.Backoff{Steps: 10, Duration: time.Second, Factor: 2, Cap: limit}
	return wait.ExponentialBackoff(b, ready)
}

func nopeSet(patient bool) error {
	b := wait.Backoff{Steps: 10, Duration: time.Second, Factor: 2, Cap: 10 * time.Second}
	if patient {
		b.Cap = time.Hour
	}
	return wait.ExponentialBackoff(b, ready)
}

// Others may set it.
var Exported = wait.Backoff{Steps: 5, Duration: time.Second, Factor: 3, Cap: 5 * time.Second}

func nopeExported() error { return retry.RetryOnConflict(Exported, ping) }

func nopeBoth() *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.RetryWaitMin, c.RetryWaitMax = time.Minute, time.Hour
	return c
}

func nopeIntervals(d time.Duration) error {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = 2 * time.Minute
	b.MaxInterval = d
	return backoff.Retry(ping, b)
}

// Options may set it.
func nopeOptions(options ...func(*retryablehttp.Client)) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.RetryWaitMin = time.Minute
	for _, set := range options {
		set(c)
	}
	return c
}

var stepsOf wait.Backoff

func withOthers(f func()) {
	old := stepsOf
	f()
	stepsOf = old
}

func nopeRestored(ready wait.ConditionFunc) error { return wait.ExponentialBackoff(stepsOf, ready) }

func once(ctx context.Context, ready wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, time.Minute, time.Minute, true, ready) // want `the interval 1m0s is not below the timeout 1m0s, so the condition is checked at most once \(RL209; library\)`
}

func nopeTwice(ctx context.Context, interval time.Duration, ready wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, ready); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, interval, time.Minute, true, ready)
}

func cache() *redis.Client {
	return redis.NewClient(&redis.Options{MinRetryBackoff: time.Second, MaxRetryBackoff: 100 * time.Millisecond}) // want `the first delay 1s is above MaxRetryBackoff, which is 100ms`
}

// A default, and no backoff.
func nopeCache(o *redis.Options) []*redis.Client {
	return []*redis.Client{
		redis.NewClient(o),
		redis.NewClient(&redis.Options{MinRetryBackoff: 100 * time.Millisecond}),
		redis.NewClient(&redis.Options{MinRetryBackoff: time.Second, MaxRetryBackoff: -1}),
		redis.NewClient(&redis.Options{MaxRetries: -1, MaxRetryBackoff: time.Second}),
	}
}

func chained() *resty.Client {
	return resty.New().SetRetryCount(3).SetRetryWaitTime(5 * time.Second) // want `the first delay 5s is above RetryMaxWaitTime, which is 2s`
}

func statements() *resty.Client {
	c := resty.New() // want `the first delay 30s is above RetryMaxWaitTime, which is 20s`
	c.SetRetryMaxWaitTime(20 * time.Second)
	c.SetRetryWaitTime(30 * time.Second)
	return c
}

func nopeWaits() *resty.Client {
	return resty.New().SetRetryWaitTime(5 * time.Second).SetRetryMaxWaitTime(10 * time.Second)
}

func nopeUnknownWait(most time.Duration) *resty.Client {
	return resty.New().SetRetryWaitTime(5 * time.Second).SetRetryMaxWaitTime(most)
}

type hooks interface{ Add(c *resty.Client) }

func nopeHooks(h hooks) *resty.Client {
	c := resty.New().SetRetryWaitTime(5 * time.Second)
	h.Add(c)
	return c
}

// It grows without the maximum.
func nopeLinear() *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.RetryWaitMin, c.Backoff = time.Minute, retryablehttp.LinearJitterBackoff
	return c
}

func nopeShared(set func(*resty.Client)) *resty.Client {
	c := resty.New().SetRetryWaitTime(5 * time.Second)
	set(c)
	return c
}

func literal() *retryablehttp.Client {
	return &retryablehttp.Client{RetryMax: 3, RetryWaitMin: time.Minute, RetryWaitMax: time.Second} // want `the first delay 1m0s is above RetryWaitMax, which is 1s`
}

func nopeLiterals(d time.Duration) []*retryablehttp.Client {
	var later retryablehttp.Client
	later.RetryWaitMin, later.RetryWaitMax = time.Minute, time.Second
	if d > 0 {
		later.RetryWaitMax = d
	}
	return []*retryablehttp.Client{
		{RetryMax: 3, RetryWaitMin: time.Minute},
		{RetryMax: 3, RetryWaitMin: time.Minute, RetryWaitMax: time.Second, Backoff: retryablehttp.LinearJitterBackoff},
		{RetryMax: 3, RetryWaitMin: time.Minute, RetryWaitMax: d},
		&later,
	}
}

func exponential() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: time.Minute, MaxInterval: time.Second} // want `the first delay 1m0s is above MaxInterval, which is 1s`
}

func newer() *restyv3.Client {
	return restyv3.New().SetRetryWaitTime(time.Minute).SetRetryMaxWaitTime(20 * time.Second) // want `the first delay 1m0s is above RetryMaxWaitTime, which is 20s, .* \(RL209; library`
}

func nopeStrategy(f func(*restyv3.Response, error) (time.Duration, error)) *restyv3.Client {
	return restyv3.New().SetRetryWaitTime(time.Minute).SetRetryMaxWaitTime(20 * time.Second).SetRetryDelayStrategy(f)
}

func standard() *awsretry.Standard {
	return awsretry.NewStandard(func(o *awsretry.StandardOptions) { // want `the first delay 10s is above MaxBackoff, which is 5s, .* \(RL209; library`
		o.BaseDelay = 10 * time.Second
		o.MaxBackoff = 5 * time.Second
	})
}

func defaults() *awsretry.Standard {
	return awsretry.NewStandard(patient) // want `the first delay 1m0s is above MaxBackoff, which is 20s, .* \(RL209; named`
}

func patient(o *awsretry.StandardOptions) { o.BaseDelay = time.Minute }

func nopeStandard(d time.Duration, more func(*awsretry.StandardOptions)) []*awsretry.Standard {
	return []*awsretry.Standard{
		awsretry.NewStandard(func(o *awsretry.StandardOptions) { o.MaxBackoff = 5 * time.Second }),
		awsretry.NewStandard(func(o *awsretry.StandardOptions) { o.BaseDelay, o.MaxBackoff = time.Minute, d }),
		awsretry.NewStandard(patient, more),
	}
}

func nopeChanged(change func(*retryablehttp.Client)) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.RetryWaitMin, c.RetryWaitMax = time.Minute, time.Second
	change(c)
	return c
}

type api struct{ http *retryablehttp.Client }

func kept() *api {
	c := retryablehttp.NewClient() // want `the first delay 1m0s is above RetryWaitMax, which is 1s`
	c.RetryWaitMin, c.RetryWaitMax = time.Minute, time.Second
	return &api{http: c}
}

// Those who have it may set the other.
func nopeKept() *api {
	a := &api{http: retryablehttp.NewClient()}
	a.http.RetryWaitMin = time.Minute
	c := retryablehttp.NewClient()
	c.RetryWaitMin = time.Minute
	a.http = c
	return a
}

func noAttempts(ctx context.Context) (config.Config, error) {
	return config.LoadDefaultConfig(ctx, config.WithRetryMaxAttempts(0)) // want `0 attempts have no effect, so the default of 3 remains: .* \(RL209; library`
}

func noLimit() *awsretry.Standard {
	return awsretry.NewStandard(func(o *awsretry.StandardOptions) { o.MaxAttempts = 0 }) // want `0 attempts have no effect`
}

func nopeAttempts(ctx context.Context, n int) (config.Config, error) {
	if n > 3 {
		return config.LoadDefaultConfig(ctx, config.WithRetryMaxAttempts(n))
	}
	return config.LoadDefaultConfig(ctx)
}
