package foreignmark

import (
	"context"
	"errors"
	"fmt"

	"github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v4"
	backoff5 "github.com/cenkalti/backoff/v5"
	runtime "github.com/retrygen/retrygen/runtime"
	seth "github.com/sethvargo/go-retry"
)

var (
	errInput = errors.New("input")
	errBusy  = errors.New("busy")
)

func call(ctx context.Context, id string) error { return nil }

// ---- functions with a wrapper ----

func fetch(ctx context.Context, id string) (string, error) {
	err := call(ctx, id)
	switch {
	case id == "":
		return "", backoff.Permanent(errInput) // want `the policy of fetch does not know backoff.Permanent of github.com/cenkalti/backoff/v4, and may retry this error: use retry.Permanent.*RL514`
	case err != nil:
		return "", backoff5.RetryAfter(3) // want `does not know backoff.RetryAfter of .*/v5, and may retry this error at another time: use retry.After.*RL514`
	}
	return id, check(id)
}

func check(id string) error {
	if len(id) > 10 {
		return retry.Unrecoverable(errInput) // want `the policy of fetch does not know retry.Unrecoverable of github.com/avast/retry-go/v4, .*: use retry.Permanent of github.com/retrygen/retrygen/runtime.*RL514`
	}
	return nil
}

func send(ctx context.Context, id int) (err error) {
	defer fmt.Println("sent")
	if id == 0 {
		err = seth.RetryableError(errBusy) // want `the policy of send does not know retry.RetryableError of .*, and may also retry errors without it: mark those with retry.Permanent of .*.*RL514`
		return err
	}
	if err := inspected(id); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if err := inspected(id); errors.Is(err, errInput) {
		return runtime.Permanent(err)
	} else if err != nil {
		return err
	}
	return runtime.Permanent(errInput)
}

// Its callers look at the error.
func inspected(id int) error { return backoff.Permanent(errInput) }

// ---- operations of the runtime and of libraries ----

func do(ctx context.Context, p *runtime.Policy) (int, error) {
	return runtime.Do(ctx, p, func(ctx context.Context) (int, error) {
		if err := call(ctx, "a"); err != nil {
			return 0, backoff5.Permanent(err) // want `retry.Do does not know backoff.Permanent of github.com/cenkalti/backoff/v5, .*: use retry.Permanent.*RL514`
		}
		return 1, nil
	})
}

func avast(ctx context.Context) error {
	return retry.Do(func() error {
		return backoff.Permanent(errInput) // want `retry.Do does not know backoff.Permanent of .*: use retry.Unrecoverable.*RL514`
	}, retry.Context(ctx))
}

// Several libraries have a package of this name, and the one that retries has its path.
func sameName(ctx context.Context, p *runtime.Policy) (int, error) {
	err := retry.Do(func() error {
		return runtime.Permanent(errInput) // want `retry.Do of github.com/avast/retry-go/v4 does not know retry.Permanent of .*/runtime, .*: use retry.Unrecoverable \(RL514`
	}, retry.Context(ctx))
	if err != nil {
		return 0, err
	}
	return runtime.Do(ctx, p, func(ctx context.Context) (int, error) {
		return 0, retry.Unrecoverable(errInput) // want `retry.Do of github.com/retrygen/retrygen/runtime does not know retry.Unrecoverable of github.com/avast/.*: use retry.Permanent \(RL514`
	})
}

// A version does not know the marks of another.
func version(ctx context.Context) (int, error) {
	return backoff5.Retry(ctx, func() (int, error) {
		return 0, backoff.Permanent(errInput) // want `backoff.Retry of github.com/cenkalti/backoff/v5 does not know backoff.Permanent of github.com/cenkalti/backoff/v4, .*: use backoff.Permanent \(RL514`
	}, backoff5.WithMaxTries(3))
}

func back(b backoff.BackOff) error {
	return backoff.Retry(func() error {
		return runtime.Permanent(errInput) // want `backoff.Retry does not know retry.Permanent of .*/runtime, .*: use backoff.Permanent.*RL514`
	}, backoff.WithMaxRetries(b, 3))
}

func nopeOwn(b backoff.BackOff) error {
	return backoff.Retry(func() error {
		if err := call(context.Background(), "b"); err != nil {
			return backoff.Permanent(err)
		}
		return nil
	}, backoff.WithMaxRetries(b, 3))
}

// It retries errors with its own mark only.
func nopeUnmarked(ctx context.Context, b seth.Backoff) error {
	return seth.Do(ctx, seth.WithMaxRetries(3, b), func(ctx context.Context) error {
		return backoff.Permanent(errInput)
	})
}

// The inner library knows its mark, and returns the error without it.
func nopeInner(ctx context.Context, p *runtime.Policy, b backoff.BackOff) (int, error) {
	return runtime.Do(ctx, p, func(ctx context.Context) (int, error) {
		return 1, backoff.Retry(func() error { return backoff.Permanent(errInput) }, backoff.WithMaxRetries(b, 3))
	})
}
