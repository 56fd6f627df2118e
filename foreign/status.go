package foreign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
)

// A grpcError is an error with a gRPC status code, and an httpError is an error with an HTTP
// status. Exports use them to ask the runtime whether a policy retries such errors.
type (
	grpcError uint32
	httpError int
)

func (e grpcError) Error() string { return fmt.Sprintf("code %d", uint32(e)) }
func (e httpError) Error() string { return "failed" }

// StatusCode returns the HTTP status. The runtime calls this method.
func (e httpError) StatusCode() int { return int(e) }

// factsOf returns the gRPC code of a grpcError.
func factsOf(err error) (retry.Facts, bool) {
	var e grpcError
	ok := errors.As(err, &e)
	return retry.Facts{GRPC: uint32(e)}, ok
}

// withCodes returns a policy whose classes test gRPC codes, as they do in generated code.
func (e *encoder) withCodes(p *policy.Policy) *retry.Policy {
	own := p.Policy
	own.Facts = factsOf
	own.Classes = slices.Clone(own.Classes)
	for i := range own.Classes {
		c := &own.Classes[i]
		for _, defined := range e.file.Errors {
			if defined.Name == string(c.Class) && len(defined.GRPC) > 0 {
				c.As = append(slices.Clone(c.As), hasCode(defined.GRPC))
			}
		}
	}
	return &own
}

func hasCode(names []policy.Symbol) func(error) bool {
	return func(err error) bool {
		facts, ok := factsOf(err)
		return ok && slices.ContainsFunc(names, func(s policy.Symbol) bool { return s.Name == grpcCodes[facts.GRPC] })
	}
}

// retriedCodes returns the names of the gRPC codes that a policy retries.
func (e *encoder) retriedCodes(p *policy.Policy) (codes []string) {
	own := e.withCodes(p)
	for code := 1; code < len(grpcCodes); code++ {
		if own.Retries(grpcError(code)) {
			codes = append(codes, grpcCodes[code])
		}
	}
	return codes
}

// retriedNumbers returns the numbers of the gRPC codes that a policy retries.
func (e *encoder) retriedNumbers(p *policy.Policy) (numbers []int) {
	for _, name := range e.retriedCodes(p) {
		numbers = append(numbers, slices.Index(grpcCodes[:], name))
	}
	return numbers
}

// retriedStatuses returns the HTTP statuses from 400 to 599 that a policy retries.
func (e *encoder) retriedStatuses(p *policy.Policy) (statuses []int) {
	own := e.withCodes(p)
	for status := 400; status < 600; status++ {
		if own.Retries(httpError(status)) {
			statuses = append(statuses, status)
		}
	}
	return statuses
}
