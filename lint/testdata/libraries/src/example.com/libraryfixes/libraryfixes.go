package libraryfixes

import (
	"context"
	"time"

	avast "github.com/avast/retry-go/v4"
	avastv5 "github.com/avast/retry-go/v5"
	"github.com/cenkalti/backoff/v4"
	"k8s.io/apimachinery/pkg/util/wait"
)

func ping() error { return nil }

func cenkalti(ctx context.Context) error {
	return backoff.Retry(ping, backoff.NewConstantBackOff(time.Second)) // want `RL202`
}

func cenkaltiVariable(ctx context.Context) error {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 0
	return backoff.RetryNotify(ping, b, nil) // want `RL202`
}

func cenkaltiBackground(ctx context.Context) error {
	return backoff.Retry(ping, backoff.WithContext(backoff.NewConstantBackOff(time.Second), context.Background())) // want `RL202`
}

func attempts(ctx context.Context) error {
	return avast.Do(ping, avast.Attempts(0)) // want `RL202`
}

func poll(ctx context.Context) error {
	return wait.PollUntilContextCancel(context.TODO(), time.Second, true, func(context.Context) (bool, error) { return ping() == nil, nil }) // want `RL202`
}

func infinite(ctx context.Context) error {
	return wait.PollInfinite(time.Second, func() (bool, error) { return ping() == nil, nil }) // want `RL202`
}

func avastMethod(ctx context.Context) error {
	return avastv5.New(avastv5.UntilSucceeded()).Do(ping) // want `RL202`
}

func avastMethodWithData(ctx context.Context) (int, error) {
	return avastv5.NewWithData[int]().Do(func() (int, error) { return 0, ping() }) // want `RL202`
}
