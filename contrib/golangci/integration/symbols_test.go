package main

import (
	avast "github.com/avast/retry-go"
	avastv3 "github.com/avast/retry-go/v3"
	avastv4 "github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	"github.com/sethvargo/go-retry"
	"k8s.io/apimachinery/pkg/util/wait"
)

// The symbols that retrylint knows retry libraries by: those that are gone do
// not compile.
var _ = []any{
	backoff.Retry, backoff.RetryNotify, backoff.WithContext, backoff.NewConstantBackOff, backoff.NewExponentialBackOff,
	backoff.WithMaxElapsedTime, backoff.ExponentialBackOff{}.MaxElapsedTime, backoff.ZeroBackOff{},
	backoffv5.Retry[int], backoffv5.WithMaxElapsedTime, backoffv5.WithMaxTries,
	avast.Do, avast.Attempts, avast.Context,
	avastv3.Do, avastv3.Attempts, avastv3.Context,
	avastv4.Do, avastv4.Attempts, avastv4.UntilSucceeded, avastv4.Context,
	retry.Do, retry.NewConstant, retry.NewExponential, retry.NewFibonacci, retry.Constant, retry.Exponential, retry.Fibonacci,
	wait.PollInfinite, wait.PollImmediateInfinite, wait.PollUntilContextCancel,
}
