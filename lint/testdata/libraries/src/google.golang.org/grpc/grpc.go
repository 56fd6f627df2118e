// Package grpc declares what the tests use of google.golang.org/grpc.
package grpc

// A DialOption configures a client.
type DialOption interface{ apply() }

// WithDefaultServiceConfig returns the option that sets the service config.
func WithDefaultServiceConfig(s string) DialOption { return nil }
