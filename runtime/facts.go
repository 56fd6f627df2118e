package retry

import (
	"time"
)

// Facts are the information about one error of a client: see [Policy.Facts]. A zero field
// means that the reader knows nothing of it.
type Facts struct {
	Status int    // HTTP status, from 100 to 599
	GRPC   uint32 // gRPC status code; the HTTP status that corresponds to it is implied

	// Class is ClassNetwork, ClassTimeout, ClassServerError or ClassRateLimit. The
	// error belongs to it even if its status, such as 400, is due to the request.
	Class Class

	// Permanent reports whether the same call would fail again, as with the status
	// 400. A class with [ActionRetry] may retry it nevertheless.
	Permanent bool

	// RetryAfter is the wait that the error asks for. It makes the error one of
	// class [ClassRateLimit], as [After] does, unless it is Permanent or has a status
	// other than 403 that is due to the request. A negative value means that the error
	// asks for a wait that could not be parsed.
	RetryAfter time.Duration
}
