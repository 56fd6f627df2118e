package main

import (
	avast "github.com/avast/retry-go"
	avastv3 "github.com/avast/retry-go/v3"
	avastv4 "github.com/avast/retry-go/v4"
	avastv5 "github.com/avast/retry-go/v5"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	cenk "github.com/cenk/backoff"
	backoffv2 "github.com/cenkalti/backoff"
	backoffv3 "github.com/cenkalti/backoff/v3"
	"github.com/cenkalti/backoff/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	backoffv6 "github.com/cenkalti/backoff/v6"
	backoffv7 "github.com/cenkalti/backoff/v7"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/go-resty/resty/v2"
	"github.com/googleapis/gax-go/v2"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/redis/go-redis/v9"
	"github.com/sethvargo/go-retry"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/util/wait"
	k8sretry "k8s.io/client-go/util/retry"
	restyv3 "resty.dev/v3"
)

// The symbols that retrylint knows retry libraries by: those that are gone do
// not compile.
var _ = []any{
	cenk.Retry, cenk.RetryNotify, cenk.WithContext, cenk.NewConstantBackOff, cenk.NewExponentialBackOff,
	cenk.ZeroBackOff{}, cenk.WithMaxRetries, cenk.ExponentialBackOff{}.MaxElapsedTime,
	backoffv2.Retry, backoffv2.RetryNotify, backoffv2.WithContext, backoffv2.NewConstantBackOff,
	backoffv2.NewExponentialBackOff, backoffv2.ZeroBackOff{}, backoffv2.WithMaxRetries,
	backoffv2.ExponentialBackOff{}.MaxElapsedTime,
	backoffv3.Retry, backoffv3.RetryNotify, backoffv3.WithContext, backoffv3.NewConstantBackOff,
	backoffv3.NewExponentialBackOff, backoffv3.ZeroBackOff{}, backoffv3.WithMaxRetries,
	backoffv3.ExponentialBackOff{}.MaxElapsedTime,
	backoff.Retry, backoff.RetryNotify, backoff.RetryWithData[int], backoff.RetryNotifyWithData[int], backoff.WithContext,
	backoff.NewConstantBackOff, backoff.NewExponentialBackOff,
	backoff.WithMaxElapsedTime, backoff.ExponentialBackOff{}.MaxElapsedTime, backoff.ZeroBackOff{},
	backoff.WithMaxRetries, backoff.WithInitialInterval, backoff.WithMaxInterval, backoff.Permanent,
	backoff.WithRandomizationFactor, backoff.ExponentialBackOff{}.RandomizationFactor,
	backoffv5.ExponentialBackOff{}.RandomizationFactor,
	backoff.ExponentialBackOff{}.InitialInterval, backoff.ExponentialBackOff{}.MaxInterval,
	backoffv2.Permanent, backoffv3.Permanent, backoffv3.PermanentError{}, backoffv5.Permanent, backoffv5.RetryAfter,
	backoffv6.Permanent, backoffv7.RetryAfter, backoffv6.ErrPermanent, backoffv7.ErrPermanent,
	backoffv7.RetryAfterError{}, cenk.Permanent, avast.Unrecoverable, avastv3.IsRecoverable, avastv5.IsRecoverable,
	retry.RetryableError,
	backoffv5.Retry[int], backoffv5.WithMaxElapsedTime, backoffv5.WithMaxTries, backoffv5.WithBackOff,
	backoffv5.NewExponentialBackOff,
	backoffv6.Retry[int], backoffv6.WithMaxElapsedTime, backoffv6.WithMaxTries, backoffv6.WithBackOff,
	backoffv6.NewExponentialBackOff, backoffv6.NewConstantBackOff, backoffv6.ConstantBackOff{}, backoffv6.ZeroBackOff{},
	backoffv7.NewConstantBackOff, backoffv7.ConstantBackOff{}, backoffv7.ZeroBackOff{}, backoffv5.NewConstantBackOff,
	backoffv5.ConstantBackOff{}, backoffv5.ZeroBackOff{},
	backoffv7.Retry[int], backoffv7.WithMaxElapsedTime, backoffv7.WithMaxTries, backoffv7.WithBackOff,
	backoffv7.NewExponentialBackOff,
	avast.Do, avast.Attempts, avast.Context,
	avastv3.Do, avastv3.Attempts, avastv3.Context,
	avastv4.Do, avastv4.DoWithData[int], avastv4.Attempts, avastv4.UntilSucceeded, avastv4.Context, avastv4.Delay,
	avastv4.MaxDelay, avastv4.DelayType, avastv4.FixedDelay, avastv4.LastErrorOnly, avastv4.MaxJitter, avastv4.RetryIf,
	avastv4.Unrecoverable, avastv4.AttemptsForError,
	avastv5.New, avastv5.NewWithData[int], (*avastv5.Retrier).Do, (*avastv5.RetrierWithData[int]).Do, avastv5.Attempts,
	avastv5.UntilSucceeded, avastv5.Context, avastv5.Delay, avastv5.MaxDelay, avastv5.DelayType, avastv5.FixedDelay,
	avastv5.LastErrorOnly, avastv5.MaxJitter,
	avastv5.RetryIf, avastv5.Unrecoverable, avastv5.AttemptsForError, avastv5.WithThrottle,
	avastv5.WithFixedTokenBucketThrottle,
	retry.Do, retry.NewConstant, retry.NewExponential, retry.NewFibonacci, retry.Constant, retry.Exponential,
	retry.Fibonacci,
	retry.DoValue[int], retry.WithMaxRetries, retry.WithMaxDuration, retry.WithJitter, retry.WithJitterPercent,
	retry.WithFullJitter, retry.WithCappedDuration,
	failsafe.With[any], failsafe.Executor[any].Run, failsafe.Executor[any].Get, failsafe.Executor[any].WithContext,
	failsafe.Executor[any].RunWithExecution,
	retrypolicy.NewBuilder[any], retrypolicy.Builder[any].WithMaxRetries, retrypolicy.Builder[any].WithMaxAttempts,
	retrypolicy.Builder[any].WithMaxDuration,
	retrypolicy.Builder[any].WithBudget, retrypolicy.Builder[any].AbortIf, retrypolicy.Builder[any].Build,
	failsafe.DelayablePolicyBuilder[retrypolicy.Builder[any], any].WithDelay,
	failsafe.FailurePolicyBuilder[retrypolicy.Builder[any], any].HandleErrors,
	failsafe.FailurePolicyBuilder[retrypolicy.Builder[any], any].HandleErrorTypes,
	failsafe.FailurePolicyBuilder[retrypolicy.Builder[any], any].HandleIf,
	gax.Invoke, gax.WithRetry, gax.WithTimeout, gax.OnCodes, gax.OnErrorFunc, gax.OnHTTPCodes,
	retryablehttp.NewClient, retryablehttp.Client{}.HTTPClient, retryablehttp.Client{}.RetryWaitMin,
	retryablehttp.Client{}.RetryWaitMax, (*retryablehttp.Client).StandardClient,
	(*retryablehttp.Client).Get, (*retryablehttp.Client).Head, (*retryablehttp.Client).Post,
	(*retryablehttp.Client).PostForm, (*retryablehttp.Client).Do, retryablehttp.NewRequest,
	retryablehttp.Client{}.RetryMax, retryablehttp.Client{}.CheckRetry,
	wait.ExponentialBackoff, wait.ExponentialBackoffWithContext, wait.Backoff{}.Steps, wait.Backoff{}.Cap,
	wait.Backoff{}.Factor, wait.Backoff{}.Duration,
	k8sretry.OnError, k8sretry.RetryOnConflict,
	wait.Poll, wait.PollImmediate, wait.PollUntilContextTimeout, wait.PollInfinite, wait.PollImmediateInfinite,
	wait.PollUntilContextCancel, wait.PollWithContext, wait.PollImmediateWithContext,
	wait.PollUntil, wait.PollImmediateUntil, wait.NeverStop, wait.PollUntilWithContext, wait.PollImmediateUntilWithContext,
	wait.PollInfiniteWithContext, wait.PollImmediateInfiniteWithContext,
	(*resty.Client).SetRetryWaitTime, (*resty.Client).SetRetryMaxWaitTime, resty.New, resty.NewWithClient,
	resty.NewWithLocalAddr,
	(*restyv3.Client).SetRetryWaitTime, (*restyv3.Client).SetRetryMaxWaitTime, (*restyv3.Client).SetRetryDelayStrategy,
	restyv3.New, restyv3.NewWithClient, restyv3.NewWithDialer, restyv3.NewWithDialerAndTransportSettings,
	restyv3.NewWithTransportSettings,
	redis.Options{}.MinRetryBackoff, redis.Options{}.MaxRetryBackoff, redis.ClusterOptions{}.MinRetryBackoff,
	redis.ClusterOptions{}.MaxRetryBackoff, redis.FailoverOptions{}.MinRetryBackoff,
	redis.FailoverOptions{}.MaxRetryBackoff, redis.RingOptions{}.MinRetryBackoff, redis.RingOptions{}.MaxRetryBackoff,
	redis.UniversalOptions{}.MinRetryBackoff, redis.UniversalOptions{}.MaxRetryBackoff,
	retryablehttp.Client{}.Backoff,
	awsretry.NewStandard, awsretry.StandardOptions{}.BaseDelay, awsretry.StandardOptions{}.MaxBackoff,
	awsretry.StandardOptions{}.Backoff, awsretry.StandardOptions{}.MaxAttempts, awsretry.AddWithMaxAttempts,
	awsconfig.LoadDefaultConfig,
	awsconfig.WithRetryMaxAttempts, awsconfig.WithRetryer,
	grpc.WithDefaultServiceConfig,
}
