package retry

// This file is for generated code. It is stable within a version of the
// handshake constant, and of no use elsewhere: hand-written code calls [Do],
// [DoWith] or [Policy.Attempts].
//
// The methods of [Call], [Pass], [Breaker.Ready], [Breaker.Calm],
// [Breaker.Succeed], [Budget.Full], [Position], [PositionOf] and
// [EnsureIdempotencyKey] serve generated code as well.

// GeneratedV1 is referred to by every generated file, so that a file generated
// for another version of the runtime does not compile against this one.
const GeneratedV1 = true

// Begin returns the state of a new call under p.
func (p *Policy) Begin() Call { return Call{policy: p} }

// BeginWith returns the state of a new call under p. If s has a breaker,
// [Call.Admit] comes before the first attempt.
func (p *Policy) BeginWith(s Shared) Call {
	return Call{policy: p, breaker: s.Breaker, budget: s.Budget}
}

// BeginAdmitted returns the state of a new call under p whose first attempt the
// breaker has admitted with pass: see [Breaker.Ready].
func (p *Policy) BeginAdmitted(s Shared, pass Pass) Call {
	return Call{policy: p, breaker: s.Breaker, budget: s.Budget, permit: permit{pass: pass}}
}
