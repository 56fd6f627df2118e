// Package lint contains retrylint's analyzers. They report retry mistakes in Go code.
// Each finding has an [Evidence]. By default, findings that are based only on a name are
// not reported. The analyzers see policies as retry.Policy literals and do not open
// files.
package lint

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/policy/rules"
)

// Suite contains all analyzers, in the order of the rules that they report. It must be
// run as a whole, because Directives checks which suppressions the other analyzers have
// used.
var Suite = append(slices.Clip(reporting), Directives)

// reporting contains the analyzers whose findings directives can suppress.
var reporting = []*analysis.Analyzer{
	UnboundedRetry, DeafWait, NoDelay, Overflow, HiddenExhaustion, RecursiveRetry, UnboundedPoll,
	EndlessConflict, HotLoop,
	UnboundedLibrary, BypassedRetry, ConsumedBody, BareDuration, SharedBackOff, ContradictoryCaps,
	TimeLimits, DeferInRetry,
	NestedRetry, WrapperCall, StaleCode, DirectCall, DurableRun, ForeignMark,
	PolicyLiteral, CapacityLiteral,
}

// newRule returns an analyzer that reports some rules. Its URL is the page of the first rule.
func newRule(name string, run func(*analysis.Pass, *report), ids []string,
	requires ...*analysis.Analyzer) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       name,
		Doc:        docOf(name, ids...),
		URL:        pageOf(ids[0]),
		Requires:   append(requires, directiveIndex),
		ResultType: used,
		Run: func(pass *analysis.Pass) (any, error) {
			r := newReport(pass)
			run(pass, r)
			return r.used, nil
		},
	}
}

// pageOf returns the URL of a rule's documentation.
func pageOf(rule string) string {
	return "https://github.com/retrygen/retrygen/blob/main/docs/rules/" + rule + ".md"
}

// docOf returns the documentation of an analyzer: the pages of its rules.
func docOf(analyzer string, ids ...string) string {
	doc := analyzer + ": report " + docs.Rule(ids[0]).Title() + "\n"
	for _, id := range ids {
		doc += "\n" + string(docs.Rule(id))
	}
	return doc
}

// informing lists, separated by commas, the ids of rules that the user enabled. They are
// reported even if they are informational or their evidence is weak.
var informing string

// informs reports whether the user enabled a rule by its id.
func informs(rule string) bool { return slices.Contains(strings.Split(informing, ","), rule) }

// asleep reports whether a rule is informational and was not enabled.
func asleep(rule string) bool {
	return SeverityOf(rule) == rules.Info && !informs(rule)
}

// A report collects the diagnostics of one analyzer in one package, except those that a
// directive suppresses.
type report struct {
	pass *analysis.Pass
	all  *directives
	used []*directive
}

func newReport(pass *analysis.Pass) *report {
	return &report{pass: pass, all: pass.ResultOf[directiveIndex].(*directives)}
}

// at reports a rule at a range of positions. If end is not valid, the diagnostic refers to a
// single position.
func (r *report) at(pos, end token.Pos, evidence Evidence, rule, format string, args ...any) {
	r.finding(analysis.Diagnostic{Pos: pos, End: end, Message: fmt.Sprintf(format, args...)}, evidence, rule)
}

// finding reports a diagnostic under the first of the rules. It is dropped if a directive
// suppresses it, or if its evidence is too weak and the rule was not enabled by its id. The
// other rules add information to the text.
func (r *report) finding(d analysis.Diagnostic, evidence Evidence, rules ...string) {
	if obeyed := r.all.covering(r.pass.Fset.Position(d.Pos), rules[0]); obeyed != nil {
		r.used = append(r.used, obeyed)
		return
	}
	if evidence < confidence && !informs(rules[0]) {
		return
	}
	d.Category, d.URL = rules[0], pageOf(rules[0])
	d.Message += tail(rules, evidence)
	if r.isMapped(d.Pos) {
		d.SuggestedFixes = nil // the generator of the file would overwrite the fix
	}
	r.pass.Report(d)
}

// isMapped reports whether a //line comment names another file as the source of pos.
func (r *report) isMapped(pos token.Pos) bool {
	file := r.pass.Fset.File(pos)
	return file != nil && file.Name() != r.pass.Fset.Position(pos).Filename
}

// imports reports whether the package imports path directly.
func imports(pass *analysis.Pass, path string) bool {
	for _, p := range pass.Pkg.Imports() {
		if p.Path() == path {
			return true
		}
	}
	return false
}
