package lint

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/durablerun"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// DurableRun reports incorrect uses of durable steps and runs (RL508 to RL512).
var DurableRun = newRule("durablerun", runDurableRun,
	[]string{"RL508", "RL509", "RL510", "RL511", "RL512"}, ssaForm, durableRuns)

func runDurableRun(pass *analysis.Pass, r *report) {
	p := pass.ResultOf[durableRuns].(*durablerun.Package)
	if p == nil {
		return
	}
	d := durableReport{report: r, p: p, seen: map[token.Pos]bool{}}
	for _, s := range p.Steps {
		d.step(s)
		if call, ok := s.Call.(*ssa.Call); ok && s.Body != nil {
			d.lost(call, s.Body, "a resumed run does not execute this step again, and %s is not set: return it from the step")
		}
	}
	for _, run := range p.Runs {
		text := "a finished run is not executed again, and %s is not set: return it, by durable.Run"
		if run.Units {
			text = "a resumed run does not execute finished units again, and %s lacks them: return the result of a unit"
		}
		if run.Waits {
			d.lost(run.Call, run.Fn, text)
		}
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, found := range p.Decisions(fn) {
			d.differs(found)
		}
		for instr := range flow.Instructions(fn.Blocks) {
			if start, ok := instr.(*ssa.Go); ok {
				d.outlives(start)
			}
		}
	}
}

// A durableReport reports problems with the durable runs of a package.
type durableReport struct {
	*report
	p    *durablerun.Package
	seen map[token.Pos]bool // the calls that are already reported
}

// at reports a violation of a rule at a call or another expression, unless something is already
// reported there.
func (d *durableReport) at(pos token.Pos, evidence Evidence, rule, format string, args ...any) {
	d.finding(analysis.Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)}, evidence, rule)
}

// finding reports a diagnostic whose position comes from the SSA form.
func (d *durableReport) finding(found analysis.Diagnostic, evidence Evidence, rule string) {
	file := handwritten(d.pass, found.Pos)
	if file == nil || d.seen[found.Pos] {
		return
	}
	d.seen[found.Pos] = true
	found.Pos, found.End = expressionStart(file, found.Pos), found.Pos
	d.report.finding(found, evidence, rule)
}

// step reports problems with one call of a step.
func (d *durableReport) step(s *durablerun.Step) {
	switch {
	case d.p.LacksRun(s):
		d.at(s.Call.Pos(), Proven, "RL509",
			"%s needs a run, and this context never has one: call it in the function of a run, with its context", s.Name())
	case d.p.IsRepeated(s):
		d.at(s.Call.Pos(), Proven, "RL508", "each iteration calls the same step of %s: put what differs "+
			"into its id, or into the context by durable.Scope", s.Name())
	}
	if found := d.p.Difference(s); found != nil {
		d.differs(found)
	}
}

// differences describes, for each kind, a value that differs in each execution of a run, and
// the remedy.
var differences = map[durablerun.Kind]struct{ what, remedy string }{
	durablerun.Time:     {"the time", "read the time in a step"},
	durablerun.Random:   {"a random value", "draw the value in a step"},
	durablerun.MapOrder: {"the order of a map", "sort the keys"},
}

// differs reports a step that a resumed run may call differently.
func (d *durableReport) differs(found *durablerun.Difference) {
	what, remedy, text := differences[found.Kind].what, differences[found.Kind].remedy, ""
	switch found.Use {
	case durablerun.ForID:
		text = fmt.Sprintf("the id of %s depends on %s: a resumed run calls another step; %s", found.Step, what, remedy)
	case durablerun.ForArgument:
		text = fmt.Sprintf("an argument of %s depends on %s: a resumed run passes another one, and the call fails; %s",
			found.Step, what, remedy)
	case durablerun.ForDecision:
		text = fmt.Sprintf("%s decides whether the run calls %s: a resumed run may decide otherwise; %s", what, found.Step,
			remedy)
	}
	diagnostic := analysis.Diagnostic{Pos: found.At, Message: text}
	if found.Source != nil && found.Source.Pos().IsValid() {
		diagnostic.Related = []analysis.RelatedInformation{{Pos: found.Source.Pos(), Message: what}}
	}
	d.finding(diagnostic, found.Evidence, "RL510")
}

// lost reports a variable that the executed code sets, but that remains unset when a resumed
// run uses the recorded result.
func (d *durableReport) lost(call *ssa.Call, executed ssa.Value, format string) {
	if variable := d.p.Lost(call, executed); variable != nil {
		d.at(call.Pos(), Proven, "RL511", format, variable.Comment)
	}
}

// outlives reports a goroutine that may call a step after the function of its run has returned.
func (d *durableReport) outlives(start *ssa.Go) {
	if s := d.p.Outlives(start); s != nil {
		d.at(start.Pos(), Proven, "RL512",
			"nothing waits for this goroutine: when the run has returned, %s fails with durable.ErrNoRun", s.Name())
	}
}

// durableRuns finds durable runs and their steps, and exports which functions call steps. Its
// result is nil for a package that has neither.
var durableRuns = &analysis.Analyzer{
	Name:       "durableruns",
	Doc:        "durableruns: find durable runs and their steps",
	Requires:   []*analysis.Analyzer{ssaForm},
	FactTypes:  []analysis.Fact{new(durablerun.Fact), new(callsSteps)},
	ResultType: reflect.TypeFor[*durablerun.Package](),
	Run: func(pass *analysis.Pass) (any, error) {
		if !imports(pass, vocab.DurablePath) && !imports(pass, vocab.DurableGenapiPath) && len(pass.AllPackageFacts()) == 0 {
			return (*durablerun.Package)(nil), nil
		}
		fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
		p := durablerun.New(fns, func(fn *types.Func) *durablerun.Fact {
			fact := new(durablerun.Fact)
			if fn.Pkg() == pass.Pkg || !pass.ImportObjectFact(fn, fact) {
				return nil
			}
			return fact
		})
		exports := false
		for _, fn := range fns {
			if obj := fn.Object(); obj != nil && obj.Exported() {
				if fact := p.Fact(fn); fact != nil {
					pass.ExportObjectFact(obj, fact)
					exports = true
				}
			}
		}
		if exports {
			pass.ExportPackageFact(new(callsSteps))
		}
		return p, nil
	},
}

// callsSteps is a fact about a package: some of its exported functions call steps.
type callsSteps struct{}

// AFact marks callsSteps as a fact.
func (*callsSteps) AFact() {}
