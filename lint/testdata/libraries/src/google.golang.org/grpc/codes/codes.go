// Package codes declares what the tests use of google.golang.org/grpc/codes.
package codes

// A Code says what became of a call.
type Code uint32

// As the protocol numbers them.
const (
	Aborted     Code = 10
	Unavailable Code = 14
)
