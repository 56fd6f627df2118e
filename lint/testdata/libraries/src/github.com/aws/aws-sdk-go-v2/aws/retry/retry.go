// Package retry declares what the tests use of github.com/aws/aws-sdk-go-v2/aws/retry.
package retry

import "time"

// StandardOptions are the settings of Standard.
type StandardOptions struct {
	MaxAttempts           int
	BaseDelay, MaxBackoff time.Duration
	Backoff               interface {
		BackoffDelay(attempt int, err error) (time.Duration, error)
	}
}

// Standard decides which requests are made again.
type Standard struct{}

// NewStandard returns a Standard.
func NewStandard(options ...func(*StandardOptions)) *Standard { return nil }
