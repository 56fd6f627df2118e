package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// A Hidden is a return of nil after a counter, a clock or a context has ended the attempts.
type Hidden struct {
	Return    *ssa.Return
	Polled    bool // the operation has not failed; another answer was expected
	ByContext bool // only the context has ended the attempts
	Told      bool // the function returns the error of the operation elsewhere
}

// spent contains the reasons that end attempts after a time or a number of attempts.
const spent = Count | Clock | Context

// Hidden returns how the function hides that the attempts have ended without success. It
// returns nil if other code can observe effects between the attempts.
func (t *Attempt) Hidden() (hidden []Hidden) {
	if t.IsDaemon() || !t.Fails() || !returnsOutcome(t.Fn) {
		return nil
	}
	if !t.IsByAnswer() {
		hidden = t.hiddenIn(t.Run)
	}
	if t.Ends&Polls != 0 && t.Passed.Again && len(hidden) == 0 && !t.consumes() {
		hidden = t.hiddenIn(t.Passed)
	}
	told := slices.ContainsFunc(t.exits(t.Failed), exit.isError)
	for i := range hidden {
		hidden[i].Told = told
	}
	return hidden
}

// returnsOutcome reports whether the last result of a function is an error, and no other result
// is a bool. A bool may report what the error does not.
func returnsOutcome(fn *ssa.Function) bool {
	hasBool := false
	for v := range fn.Signature.Results().Variables() {
		hasBool = hasBool || flow.IsBool(v.Type())
	}
	return !hasBool && flow.ReturnsError(fn.Signature)
}

// hiddenIn does the same as Hidden for one run. It returns nil if an exit that ends the
// attempts returns an error.
func (t *Attempt) hiddenIn(run *flow.Run) (hidden []Hidden) {
	for i := range t.between(run) {
		if i != ssa.Instruction(t.Op) && t.pkg.effects.Acts(i) {
			return nil
		}
	}
	for _, e := range t.exits(run) {
		switch {
		case e.why&spent == 0, e.why&^(spent|Fixed|Setting|Awaited) != 0:
		case e.isError():
			return nil
		case e.isZero() && !e.acts(t.pkg.effects):
			hidden = append(hidden, Hidden{Return: e.ret, Polled: run != t.Failed, ByContext: e.why&spent == Context})
		}
	}
	return hidden
}

// Exits returns what the branches depend on by which the run leaves the loop.
func (t *Attempt) Exits() (all Why) {
	for _, e := range t.exits(t.Run) {
		all |= e.why
	}
	return all
}

// An exit describes how a run leaves the loop.
type exit struct {
	why     Why               // what the branch that leaves the loop depends on
	path    []*ssa.BasicBlock // the blocks from the loop to a return, if little other code follows
	ret     *ssa.Return
	results []flow.Value
}

// exits returns the exits of a run, in the order of the blocks.
func (t *Attempt) exits(run *flow.Run) (exits []exit) {
	j := &judge{p: t.pkg, run: run}
	for branch := range run.Branches() {
		b := branch.Block()
		for k, s := range b.Succs {
			if !run.Takes(b, k) || t.Loop.Has(s) {
				continue
			}
			e := exit{why: j.why(branch.Cond)}
			if path := pathToReturn(b, s); path != nil {
				e.path = path[1:]
				e.ret, e.results = returned(run, path)
			}
			exits = append(exits, e)
		}
	}
	return exits
}

// isError reports whether the last result is known to be an error.
func (e exit) isError() bool {
	return len(e.results) > 0 && e.results[len(e.results)-1].Equal(flow.NonNil)
}

// isZero reports whether the exit leads to a return whose results are all known to be nil or
// constants.
func (e exit) isZero() bool {
	return e.ret != nil && !slices.ContainsFunc(e.results, func(v flow.Value) bool {
		return !v.IsKnown() || v.Equal(flow.NonNil)
	})
}

// acts reports whether other code can observe an effect of the path to the return.
func (e exit) acts(effects *effect.Package) bool {
	return slices.ContainsFunc(e.path, func(b *ssa.BasicBlock) bool { return slices.ContainsFunc(b.Instrs, effects.Acts) })
}
