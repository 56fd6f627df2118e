package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// IsEndlessPoll reports whether the loop polls, at intervals, something that is or may be
// outside the process, and only the answer ends the loop, or an error if the operation returns
// one.
func (t *Attempt) IsEndlessPoll() bool {
	const others = vocab.Receives | vocab.Asks | vocab.Random | vocab.Exits | vocab.Stops | vocab.Locks
	if t.Never&SomeAnswer == 0 || known(&t.Op.Call).Is(others) || t.GivenContext() != nil || t.StaysInside() ||
		t.consumes() {
		return false
	}
	if !t.Op.Call.IsInvoke() && effect.Callee(&t.Op.Call) == nil {
		return false // a function value, whose variables may count
	}
	return slices.ContainsFunc(t.Waits, func(w Wait) bool { return !w.Heeds })
}

// consumes reports whether the loop does more with the answer of the operation than test it.
func (t *Attempt) consumes() bool {
	j := &judge{p: t.pkg, run: t.Passed}
	for i := range t.between(t.Passed) {
		call, ok := i.(*ssa.Call)
		if !ok || call == t.Op || known(&call.Call).Is(vocab.Logs) && known(&call.Call).Evidence >= vocab.Library ||
			len(flow.Refs(call)) > 0 && !t.pkg.effects.Acts(call) {
			continue
		}
		if j.all(call.Call.Args...)&Answer != 0 {
			return true
		}
	}
	return false
}
