// Package config declares what the tests use of github.com/aws/aws-sdk-go-v2/config.
package config

import "context"

// A Config configures clients.
type Config struct{}

// LoadOptions are the settings of LoadDefaultConfig.
type LoadOptions struct{ RetryMaxAttempts int }

// LoadDefaultConfig returns a configuration.
func LoadDefaultConfig(ctx context.Context, options ...func(*LoadOptions) error) (c Config, err error) {
	return c, nil
}

// WithRetryMaxAttempts returns an option.
func WithRetryMaxAttempts(n int) func(*LoadOptions) error { return nil }
