package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// A Coverage counts how the wrapper calls the methods of a bound type.
type Coverage struct {
	Source    string // the policy file
	Symbol    string // the type, as named in the policy file
	Methods   int
	Retried   int // methods with a policy
	Forwarded int // methods called without a policy, because they are bound to none or cannot report a failure
	Refused   int // methods with a problem

	// Doubtful reports whether the user may expect more methods to be retried. This is
	// the case if some methods are refused, if some are forwarded although they take a
	// context, or if more methods are forwarded than retried. Methods that the policy
	// file binds to none do not count.
	Doubtful bool
	Patterns bool // entries in the policy file are patterns, so nobody has chosen each method individually
}

// String returns a line such as "Store: 4 of 6 methods retried, 1 forwarded, 1
// refused".
func (c Coverage) String() string {
	return fmt.Sprintf("%s: %d of %d methods retried, %d forwarded, %d refused",
		c.Symbol, c.Retried, c.Methods, c.Forwarded, c.Refused)
}

// A refusal is a problem with one of several methods of a bound type.
type refusal struct {
	policy.Problem
	method string
	symbol string // of the method, as in the text of the problem
	lines  string // of the policy file, under methods, that avoid the problem
}

// cause returns the text of the problem without the fix.
func (r refusal) cause() string {
	before, after, _ := strings.Cut(r.Text, r.symbol)
	if what, _, ok := strings.Cut(after, ": "); ok && what != "" {
		return before + r.symbol + what
	}
	return r.Text
}

// serveMethods sets the policy of each method of a bound type.
func (r *resolver) serveMethods(b policy.Binding, w *emit.Wrapper) {
	if !r.checkEntries(b, w.Target) {
		return
	}
	cover := Coverage{Source: r.unit.source, Symbol: b.Symbol, Methods: len(w.Target.Methods)}
	cover.Patterns = slices.ContainsFunc(b.Methods, func(m policy.Method) bool { return m.IsPattern() })
	var refusals []refusal
	silent := 0
	for _, m := range w.Target.Methods {
		before := len(r.problems)
		entry, tie := b.MethodFor(m.Name)
		use, none := r.method(b, entry, tie, w.Target, m)
		refused := len(policy.AtLeast(rules.Error, r.problems[before:])) > 0
		for _, p := range r.problems[before:] {
			if refused && p.Severity == rules.Info {
				continue
			}
			lines := cmp.Or(p.Paste, m.Name+": none\n")
			refusals = append(refusals, refusal{p, m.Name, b.Symbol + "." + m.Name, lines})
		}
		r.problems = r.problems[:before]
		switch {
		case refused:
			cover.Refused++
		case use != nil:
			cover.Retried++
		default:
			cover.Forwarded++
			if !none {
				silent++
				cover.Doubtful = cover.Doubtful || m.TakesContext()
			}
		}
		w.By = append(w.By, use)
		bound := Bound{Symbol: b.Symbol + "." + m.Name, Wrapper: w.Name + "." + m.Name, Declared: m.Pos}
		if use != nil {
			bound.Policy = use.Name
		}
		pos := b.Pos
		if entry != nil {
			pos = entry.Pos
		}
		r.addBound(bound, use, pos)
	}
	cover.Doubtful = cover.Doubtful || cover.Refused > 0 || silent > cover.Retried
	r.problems = append(r.problems, mergeRefusals(refusals)...)
	r.coverage = append(r.coverage, cover)
}

// method returns how a method is served. entry is the entry of the binding that
// matches it, or nil; tie is another entry that matches it equally well, or nil.
// method returns nil if the method is called unchanged; none reports whether the
// policy file binds it to none.
func (r *resolver) method(
	b policy.Binding, entry, tie *policy.Method, target *bind.Target, m bind.Method,
) (use *emit.Use, none bool) {
	symbol := b.Symbol + "." + m.Name
	by, pos := b.Use, b.Pos
	if entry != nil {
		by, pos = entry.Use, entry.Pos
		if by.Idempotent == rules.Unknown {
			by.Idempotent = b.Idempotent
		}
	}
	switch {
	case tie != nil:
		r.problem(tie.Pos, "P904", "%s matches %s and %s, and neither is more specific: write an entry for %s",
			symbol, entry.Name, tie.Name, m.Name)
	case by.Policy == "" && entry != nil:
		return nil, true
	case by.Policy == "" && m.NoFailure == "":
		r.problem(pos, "P904", "%s returns an error and has no policy: write one under methods, or %s: none", symbol, m.Name)
	case by.Policy == "":
	case m.NoFailure != "" && by.Check.Name == "" && (entry == nil || entry.IsPattern()):
		r.unseen(served{policy: r.policies[by.Policy], fn: m.Func, symbol: symbol, pos: pos, method: m.Name})
	case m.NoFailure != "" && by.Check.Name == "":
		r.problem(pos, "P904", "%s cannot be bound: %s", symbol, m.NoFailure)
	default:
		s := served{fn: m.Func, symbol: symbol, pos: pos, method: m.Name, step: b.Step(m.Name)}
		s.byPattern = entry == nil || entry.IsPattern()
		return r.serve(by, target, "", s), false
	}
	return nil, false
}

// unseen reports a method that is not retried, although its result may hold a
// failure of the call.
func (r *resolver) unseen(s served) {
	switch {
	case !s.policy.Retries():
	case s.fn.HasErr:
		r.warning(s.pos, "P914", "policy %s does not retry %s, whose result has an Err that may concern only a part of it: "+
			"write under methods", s.policy.Name, s.symbol)
		r.paste("# if Err concerns all: func resultErr(r interface{ Err() error }) error { return r.Err() }\n" +
			s.entry("resultErr"))
	case s.fn.Status != nil:
		r.warning(s.pos, "P914", "policy %s does not retry %s, which has the status in its result %s: write under methods",
			s.policy.Name, s.symbol, s.fn.Status.Type)
		r.paste(s.statusCheck())
	}
}

// checkEntries reports problems of the entries under methods, and returns whether
// the type has any method to retry.
func (r *resolver) checkEntries(b policy.Binding, target *bind.Target) bool {
	retried := func(u policy.Use, m bind.Method) bool { return m.NoFailure == "" || u.Check.Name != "" }
	if !slices.ContainsFunc(target.Methods, func(m bind.Method) bool {
		entry, _ := b.MethodFor(m.Name)
		return retried(b.Use, m) || entry != nil && retried(entry.Use, m)
	}) {
		fix := "there is nothing to retry"
		if target.Offers != "" {
			fix = "bind what its methods return, such as " + target.Offers
		}
		r.problem(b.Pos, "P904", "%s has no method that returns an error as its last result: %s", b.Symbol, fix)
		return false
	}
	for i := range b.Methods {
		e := &b.Methods[i]
		var names []string
		matches, serves := false, e.Policy == ""
		for _, m := range target.Methods {
			names = append(names, m.Name)
			if e.Matches(m.Name) {
				matches, serves = true, serves || retried(e.Use, m)
			}
		}
		switch {
		case !matches && e.IsPattern():
			r.problem(e.Pos, "P904", "%s has no method that matches %s: correct the pattern, or remove it", b.Symbol, e.Name)
		case !matches:
			r.problem(e.Pos, "P904", "%s has no method %s%s", b.Symbol, e.Name, bind.DidYouMean(e.Name, names))
		case !serves && e.IsPattern():
			r.problem(e.Pos, "P904", "no method of %s that matches %s returns an error: write %s: none", b.Symbol, e.Name,
				e.Name)
		case strings.Trim(e.Name, "*") == "" && b.Policy != "":
			r.problem(b.Pos, "P904", "no method of %s is left to policy %s, since %s matches all: remove one of the two",
				b.Symbol, b.Policy, e.Name)
		}
	}
	return true
}

// names returns the names of the methods, or of the first ones and the number of
// the others.
func names(list []refusal) string {
	const most = 12
	var names []string
	for _, one := range list[:min(len(list), most)] {
		names = append(names, one.method)
	}
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	last := len(names) - 1
	return strings.TrimPrefix(strings.Join(names[:last], ", ")+" and "+names[last], " and ")
}

// mergeRefusals replaces the equal problems of several methods by one problem,
// with lines to paste into the policy file.
func mergeRefusals(refusals []refusal) (problems []policy.Problem) {
	type kind struct {
		policy.Pos
		rule, start string
	}
	var kinds []kind
	alike := map[kind][]refusal{}
	for _, one := range refusals {
		start, _, _ := strings.Cut(one.Text, one.symbol)
		k := kind{one.Pos, one.Rule, start}
		if alike[k] == nil {
			kinds = append(kinds, k)
		}
		alike[k] = append(alike[k], one)
	}
	for _, k := range kinds {
		list := alike[k]
		p := list[0].Problem
		if more := len(list) - 1; more > 0 {
			s := "s"
			if more == 1 {
				s = ""
			}
			p.Text = fmt.Sprintf("%s; the same for %d more method%s: write under methods", list[0].cause(), more, s)
			p.Paste = ""
			if p.Severity == rules.Info { // name them: there is nothing that has to be written
				p.Text = fmt.Sprintf("%s; the same for %s: write an entry for each", list[0].cause(), names(list[1:]))
				list = nil
			}
			for _, one := range list {
				for line := range strings.Lines(one.lines) {
					if !strings.HasPrefix(line, "#") || !strings.Contains(p.Paste, line) {
						p.Paste += line
					}
				}
			}
		}
		problems = append(problems, p)
	}
	return problems
}
