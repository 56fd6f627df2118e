package gen

import (
	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/policy/rules"
)

// checkWrite reports a function that writes by its name or its shape, and is retried
// after errors that do not show whether it has written. The policy file says nothing
// about that, and one of two things suggests that nobody has thought of it:
//
//   - the name of the policy is the name of a read, which is a warning;
//   - the function is one of many methods of a type that have the policy, which is a
//     note.
//
// Nothing is reported if the policy is named like a write.
func (r *resolver) checkWrite(s served) {
	known := s.use.Idempotent != rules.Unknown || s.policy.Durable != nil
	if s.fn.Writes == "" || known || !r.unit.file.Repeats(&s.policy.Policy) {
		return
	}
	const text = "policy %s retries %s, which writes by %s: say by idempotent: true, key or false " +
		"whether it may be repeated, or %s"
	switch reads, writes := bind.Mentions(s.policy.Name); {
	case writes:
	case reads:
		r.warning(s.pos, "P926", text, s.policy.Name, s.symbol, s.fn.Writes, s.once())
	case s.byPattern:
		r.note(s.pos, "P926", text, s.policy.Name, s.symbol, s.fn.Writes, s.once())
	}
}
