package retry

import (
	"time"
)

// Facts describe one error that a client returned: see [Policy.Facts]. A zero field means
// that the value is unknown.
type Facts struct {
	Status int    // HTTP status, from 100 to 599
	GRPC   uint32 // gRPC status code; it implies the corresponding HTTP status

	// Class is ClassNetwork, ClassTimeout, ClassServerError or ClassRateLimit. The error
	// belongs to this class even if its status indicates a problem with the request, as
	// 400 does.
	Class Class

	// Permanent reports whether the same call would fail again, as after status 400. If
	// the error belongs to a class whose Action is [ActionRetry], the policy still
	// retries it.
	Permanent bool

	// RetryAfter is the wait that the error asks for. As with [After], the error belongs
	// to [ClassRateLimit], unless it is Permanent or has a status other than 403 that
	// indicates a problem with the request. A negative value means that the error asks
	// for a wait that could not be parsed.
	RetryAfter time.Duration
}
