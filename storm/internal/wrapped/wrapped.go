// Package wrapped contains wrappers to which the simulation is compared.
package wrapped

import "context"

//go:generate go run ../../../cmd/retrygen .

// A Service is the service that the wrappers call. Each method is called under the policy
// with the same name.
type Service interface {
	Once(ctx context.Context) error
	Plain(ctx context.Context) error
	Budgeted(ctx context.Context) error
	Guarded(ctx context.Context) error
	Patient(ctx context.Context) error
	Timed(ctx context.Context) error
	Mixed(ctx context.Context) error
	Limited(ctx context.Context) error
	Adaptive(ctx context.Context) error
	Gated(ctx context.Context) error
}
