package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// TimeLimits reports timeouts, retries and calls that do not fit within the lifetime of
// their context (RL301 to RL304).
var TimeLimits = newRule("timelimits", runTimeLimits, []string{"RL301", "RL302", "RL303", "RL304"}, ssaForm,
	attempts, timeDemands)

func runTimeLimits(pass *analysis.Pass, r *report) {
	d := pass.ResultOf[timeDemands].(*demandFinder)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range callsOf(fn) {
			r.ended(d.found, call)
		}
		needed := map[*ssa.Call]bool{} // calls that need more time than there is: what else they may take is not reported
		for _, one := range d.of[fn] {
			if outer := d.lifetime(one); one.exceeds(outer.Limit) && !needed[one.at] {
				r.cut(d, one, outer)
				needed[one.at] = one.Needed
			}
		}
	}
}

// ended reports a call that derives a context with a timeout from a context that has already
// ended.
func (r *report) ended(found *attempt.Package, call *ssa.Call) {
	if !attempt.IsTimed(call) || !found.HasEnded(call.Call.Args[0], call) {
		return
	}
	if file := handwritten(r.pass, call.Pos()); file != nil {
		r.at(callStart(file, call.Pos()), call.Pos(), Proven, "RL301",
			"%s has ended here, so this context ends at once: derive it from the parent of %[1]s, or from "+
				"context.WithoutCancel", nameOfContext(call.Call.Args[0]))
	}
}

// exceeds reports whether a demand is longer than the lifetime of its context. A limit of 0
// means that there is no limit. A timeout or a first wait of equal length also exceeds it,
// because it starts later and so ends later.
func (one *demand) exceeds(limit time.Duration) bool {
	return limit > 0 && (one.Length > limit || one.Length == limit && (!one.Needed || one.First))
}

// cut reports a demand whose context ends earlier.
func (r *report) cut(d *demandFinder, one *demand, outer attempt.Lifetime) {
	if attempt.IsTimed(one.at) && d.found.HasEnded(one.ctx, one.at) || d.isReportedWithin(one) {
		return
	}
	shown := d.shown(one)
	file := fileOf(r.pass, shown.at.Pos())
	switch {
	case file == nil,
		inTest(r.pass, shown.at.Pos()) && !shown.isTimeout(),
		ast.IsGenerated(file) && !shown.isCall(): // the call of the generated function is reported
		return
	}
	pos, end := callStart(file, shown.at.Pos()), shown.at.Pos()
	if shown.loop != nil {
		pos, end = loopStart(file, shown.loop.Loop, shown.loop.Op), token.NoPos
	}
	rule, evidence, text := d.judge(one, shown, outer)
	if asleep(rule) {
		return
	}
	r.finding(analysis.Diagnostic{Pos: pos, End: end, Message: text, Related: []analysis.RelatedInformation{
		{Pos: outer.By.Pos(), Message: fmt.Sprintf("the outer limit of %v", outer.Limit)},
	}}, evidence, rule)
}

// isTimeout reports whether the demand comes from a call that derives a context.
func (one *demand) isTimeout() bool { return !one.isCall() && !one.Needed && !one.Policy }

// isCall reports whether the demand comes from a function call that passes a context on.
func (one *demand) isCall() bool { return one.Depth > 0 }

// shown returns the demand at which a finding is reported: the outermost in hand-written code
// of the package, or the demand itself.
func (d *demandFinder) shown(one *demand) *demand {
	for by := one; by != nil; by = by.inner {
		if handwritten(d.pass, by.at.Pos()) != nil {
			return by
		}
	}
	return one
}

// isReportedWithin reports whether the same problem is already reported in a called function,
// because all of its callers pass it such a context.
func (d *demandFinder) isReportedWithin(one *demand) bool {
	for by := one.inner; by != nil; by = by.inner {
		if handwritten(d.pass, by.at.Pos()) != nil && by.exceeds(d.lifetime(by).Limit) {
			return true
		}
	}
	return false
}

// judge returns the rule that a demand violates, and the evidence and text of the finding. The
// finding is reported at shown.
func (d *demandFinder) judge(one, shown *demand, outer attempt.Lifetime) (rule string, e Evidence, text string) {
	limit, ends := d.describe(outer)
	switch {
	case one.Needed:
		return "RL302", one.Evidence, needs(one, shown, ends)
	case one.isCall():
		rule, e = d.mayBeCut(one, outer)
		if shown.isCall() {
			return rule, e, fmt.Sprintf("%s may take %v (%s, %s), but %s: raise the outer limit, or lower the inner one",
				attempt.Name(shown.at), one.Length, shown.What, shown.Where, ends)
		}
		return rule, e, fmt.Sprintf("%s %v exceeds the outer %s, which ends it: raise the outer limit, or lower the inner "+
			"one", shown.What, one.Length, limit)
	case attempt.IsDeferred(one.at.Parent()) && one.Length > outer.Limit:
		text = fmt.Sprintf("inner timeout %v exceeds the outer %s, which may have ended in this deferred call: "+
			"derive it from the parent of the outer context", one.Length, limit)
	case one.Length == outer.Limit:
		text = fmt.Sprintf("inner timeout %v equals the outer %s, which began earlier and ends it: shorten it, or remove it",
			one.Length, limit)
	default:
		text = fmt.Sprintf("inner timeout %v exceeds the outer %s, which ends it: shorten the inner timeout or raise the "+
			"outer one", one.Length, limit)
	}
	return "RL301", Proven, text
}

// needs returns the message for a retry that needs more time than its context has.
func needs(one, shown *demand, ends string) string {
	what, are := shown.What, "are"
	if shown.isCall() {
		what += " (" + shown.Where + ")"
	}
	if one.Policy {
		are = "are at least"
	}
	if one.First {
		return fmt.Sprintf("%s is at least %v, but %s, so nothing is retried: shorten the wait, or raise that timeout",
			what, one.Length, ends)
	}
	return fmt.Sprintf("%s %s %v, but %s: make fewer attempts, or raise that timeout", what, are, one.Length, ends)
}

// mayBeCut returns the rule for a call that may take longer than its context lives. If no
// policy sets either duration, the short context may be intended.
func (d *demandFinder) mayBeCut(one *demand, outer attempt.Lifetime) (rule string, e Evidence) {
	switch {
	case d.found.Policies.Limiting(outer.By) != nil:
		return "RL303", Proven
	case one.Policy:
		return "RL304", Proven
	}
	return "RL304", Named
}

// describe returns an outer limit as a phrase and as a sentence.
func (d *demandFinder) describe(outer attempt.Lifetime) (limit, ends string) {
	if policy := d.found.Policies.Limiting(outer.By); policy != nil {
		limit = fmt.Sprintf("%v (%s of policy %s)", outer.Limit, policy.AttemptLimit().Setting, policy.Name)
		return limit, fmt.Sprintf("%s of policy %s ends the context after %v", policy.AttemptLimit().Setting, policy.Name,
			outer.Limit)
	}
	line := d.pass.Fset.Position(outer.By.Pos()).Line
	return fmt.Sprintf("%v from line %d", outer.Limit, line),
		fmt.Sprintf("the context from line %d ends after %v", line, outer.Limit)
}
