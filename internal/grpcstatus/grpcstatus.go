// Package grpcstatus maps gRPC status codes to HTTP statuses. The runtime uses the
// table to classify errors, and the rules use it to compare classes.
package grpcstatus

// The codes that have a meaning in the runtime in addition to their HTTP status:
// grpc/grpc, doc/statuscodes.md.
const (
	Canceled         = 1
	DeadlineExceeded = 4
	AlreadyExists    = 6
	Unimplemented    = 12
	Unavailable      = 14
)

// HTTP returns the HTTP status that is equivalent to a gRPC status code, according
// to googleapis/googleapis, google/rpc/code.proto: 503 for UNAVAILABLE. It returns
// 500 for an unknown code.
func HTTP(code uint32) int {
	if uint64(code) < uint64(len(statuses)) {
		return statuses[code]
	}
	return 500
}

// statuses lists the HTTP statuses by gRPC code.
var statuses = [...]int{
	200, // OK
	499, // CANCELLED
	500, // UNKNOWN
	400, // INVALID_ARGUMENT
	504, // DEADLINE_EXCEEDED
	404, // NOT_FOUND
	409, // ALREADY_EXISTS
	403, // PERMISSION_DENIED
	429, // RESOURCE_EXHAUSTED
	400, // FAILED_PRECONDITION
	409, // ABORTED
	400, // OUT_OF_RANGE
	501, // UNIMPLEMENTED
	500, // INTERNAL
	503, // UNAVAILABLE
	500, // DATA_LOSS
	401, // UNAUTHENTICATED
}
