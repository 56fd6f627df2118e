package retry

import (
	"time"
)

// Facts are the information about one error of a client: see [Policy.Facts]. A zero field
// means that its value is not known.
type Facts struct {
	Status int    // HTTP status, from 100 to 599
	GRPC   uint32 // gRPC status code; the HTTP status that corresponds to it is implied

	// Class is ClassNetwork, ClassTimeout, ClassServerError or ClassRateLimit. The error
	// belongs to this class even if it has a status that blames the request, such as 400.
	Class Class

	// Permanent reports whether the same call would fail again, as after the status 400.
	// With a class whose Action is [ActionRetry], the policy retries it nevertheless.
	Permanent bool

	// RetryAfter is the wait that the error asks for. Like [After], it makes the error
	// one of class [ClassRateLimit], unless the error is Permanent or has a status other
	// than 403 that blames the request. A negative value means that the error asks for a
	// wait that could not be parsed.
	RetryAfter time.Duration
}
