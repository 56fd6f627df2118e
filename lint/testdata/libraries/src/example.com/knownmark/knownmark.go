package knownmark

import (
	"context"
	"errors"

	"github.com/cenkalti/backoff/v4"
	retry "github.com/retrygen/retrygen/runtime"
)

// The class knows the mark.
var read = retry.Policy{Schedule: retry.Schedule{MaxAttempts: 3},
	Classes: []retry.ErrorClass{{Class: "final", As: []func(error) bool{retry.As[*backoff.PermanentError]}}}}

func nopeKnown(ctx context.Context) (int, error) {
	return retry.Do(ctx, &read, func(ctx context.Context) (int, error) {
		return 0, backoff.Permanent(errors.New("input"))
	})
}
