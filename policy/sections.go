package policy

import (
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/job"
)

// A Scope is a level of the timeout hierarchy.
type Scope struct {
	Name      string
	Pos       Pos
	Timeout   time.Duration // timeout of policies without their own timeout; 0 means none
	HardLimit time.Duration // the longest timeout that a policy may have; 0 means none
	Within    string        // the outer scope, or ""
	Capture   bool          // whether the state of calls that time out is captured
}

// A Budget is a retry budget that calls share. Exactly one of Ratio, Count and From is
// set.
type Budget struct {
	Name  string
	Pos   Pos
	Ratio *budget.Policy    // retries as a share of successes
	Count *job.BudgetPolicy // retries of one job
	Store bool              // whether the budget with the Ratio is kept in a store instead of in the process
	From  Symbol            // the Go variable that contains the budget, or empty
}

// section returns the entries of a map at the top of the file. It reports entries
// with invalid names and omits them: an empty name would later mean none.
func (d decoder) section(root *syntax.Node, key string) (list []syntax.Entry) {
	e := root.Get(key)
	if e == nil || e.Value.IsNull() || !d.isMap(e.Value, key) {
		return nil
	}
	for _, e := range e.Value.Entries {
		if !policyName.MatchString(e.Key) {
			if strings.Contains(e.Key, ".") && symbolName.MatchString(e.Key) {
				d.problem(e.At, "P102", "%s is a Go symbol, not a name under %s: write it under bind, at the top of the file",
					syntax.Quote(e.Key), key)
				continue
			}
			d.problem(e.At, "P102", "the name %s is not valid: use lower-case letters, digits and _, and begin with a letter",
				syntax.Quote(e.Key))
			continue
		}
		list = append(list, e)
	}
	return list
}

// reference returns a function that reads a name that a section defines.
func (d decoder) reference(section, what string) func(*syntax.Entry) (string, bool) {
	return func(e *syntax.Entry) (string, bool) {
		name, ok := e.Value.Value.(string)
		switch {
		case !ok:
			d.problem(e.Value.Span, "P102", "%s is the name of %s, not %s: define it under %s, and write its name here",
				e.Key, what, e.Value.Describe(), section)
		case !d.defined[section][name]:
			d.undefined(e.Value, section, strings.TrimPrefix(what, "a "))
			return "", false
		}
		return name, ok
	}
}

// undefined reports the name of a what, a policy for example, that section does
// not define.
func (d decoder) undefined(n *syntax.Node, section, what string) {
	hint := didYouMean(n.Text, d.names[section])
	if len(d.names[section]) == 0 {
		hint = ": define it under " + section + ", where there is none yet"
	}
	d.problem(n.Span, "P901", "there is no %s %s%s", what, syntax.Quote(n.Text), hint)
}

// scopes reads the section scopes.
func (d decoder) scopes(root *syntax.Node) (list []Scope) {
	for _, e := range d.section(root, "scopes") {
		if !d.isMap(e.Value, "a scope") {
			continue
		}
		d.unknownKeys(e.Value, "", "timeout", "hard_limit", "within", "capture")
		s := Scope{Name: e.Key, Pos: posOf(e.At)}
		s.Timeout = optional(d, e.Value, d.timeout, "timeout").value
		s.HardLimit = optional(d, e.Value, d.timeout, "hard_limit").value
		s.Within = optional(d, e.Value, d.reference("scopes", "a scope"), "within").value
		s.Capture = optional(d, e.Value, d.boolean, "capture").value
		list = append(list, s)
	}
	d.scopeCycles(root, list)
	return list
}

// scopeCycles reports scopes that contain themselves, each cycle once.
func (d decoder) scopeCycles(root *syntax.Node, list []Scope) {
	within := map[string]string{}
	for _, s := range list {
		within[s.Name] = s.Within
	}
	seen := map[string]bool{}
	for _, s := range list {
		var names []string
		at := map[string]int{} // in names
		for name := s.Name; name != "" && !seen[name]; name = within[name] {
			seen[name], at[name] = true, len(names)
			names = append(names, name)
		}
		if len(names) == 0 {
			continue
		}
		back := within[names[len(names)-1]]
		if begin, isCycle := at[back]; isCycle {
			at := root.Get("scopes").Value.Get(back).Value.Get("within").Value.Span
			d.problem(at, "P903", "scopes contain each other in a cycle: %s", cyclePath(append(names[begin:], back)))
		}
	}
}

// from reads the name of the Go variable that has a breaker or a budget. Other
// settings next to it are a problem.
func (d decoder) from(n *syntax.Node) Symbol {
	e := n.Written("from")
	if e == nil {
		return Symbol{}
	}
	name, ok := e.Value.Value.(string)
	if !ok || !symbolName.MatchString(name) || strings.HasPrefix(name, "*") {
		d.problem(e.Value.Span, "P102",
			"from is a Go variable with the import path of its package, as example.com/api.Breaker, not %s", e.Value.Describe())
	}
	for _, other := range n.Entries {
		if other.Key != "from" {
			d.problem(other.At, "P102", "%s is a setting of the Go variable %s: set it there, or remove from", other.Key,
				syntax.Quote(name))
			break
		}
	}
	return Symbol{name, posOf(e.Value.Span)}
}

// whole reads a whole number of at least least.
func (d decoder) whole(e *syntax.Entry, least int, hint string) (int, bool) {
	const most = 1 << 30
	v, ok := e.Value.Value.(int64)
	if !ok || v < int64(least) || v > most {
		d.problem(e.Value.Span, "P102", "%s is a whole number from %d%s, not %s", e.Key, least, hint, e.Value.Describe())
		return 0, false
	}
	return int(v), true
}

// countOrZero reads a count. 0 turns the feature off.
func (d decoder) countOrZero(e *syntax.Entry) (int, bool) {
	return d.whole(e, 0, "; 0 switches it off")
}

func (d decoder) atLeastOne(e *syntax.Entry) (int, bool) { return d.whole(e, 1, "") }

// aboveZero reads a duration above zero. The word none is a problem.
func (d decoder) aboveZero(e *syntax.Entry) (time.Duration, bool) {
	value, ok := d.duration(e.Value, e.Key)
	if ok && value == 0 {
		d.problem(e.Value.Span, "P102", "%s must be longer than 0", e.Key)
		return 0, false
	}
	return value, ok
}

// budgets reads the section budgets.
func (d decoder) budgets(root *syntax.Node) (list []Budget) {
	for _, e := range d.section(root, "budgets") {
		if !d.isMap(e.Value, "a budget") {
			continue
		}
		before := d.errors()
		d.unknownKeys(e.Value, "", "retries", "per_unit", "ceiling", "ratio", "min_per_second", "burst", "shared", "from")
		b := Budget{Name: e.Key, Pos: posOf(e.At), From: d.from(e.Value)}
		var counts, shares *syntax.Entry
		for i := range e.Value.Entries {
			switch at := &e.Value.Entries[i]; at.Key {
			case "retries", "per_unit", "ceiling":
				counts = at
			case "ratio", "min_per_second", "burst", "shared":
				shares = at
			}
		}
		switch {
		case b.From.Name != "":
		case counts != nil && shares != nil:
			d.problem(shares.At, "P102",
				"a budget counts (retries, per_unit, ceiling) or shares (ratio, min_per_second, burst, shared): %s and %s do "+
					"not go together", counts.Key, shares.Key)
		case counts != nil:
			b.Count = d.countBudget(e)
		case shares != nil:
			b.Ratio = d.ratioBudget(e)
			b.Store = optional(d, e.Value, d.stored, "shared").value
		case d.errors() == before:
			d.problem(e.At, "P102", "%s is empty: write ratio: 0.2 for a share of traffic, or retries: 20 for a count", e.Key)
		}
		list = append(list, b)
	}
	return list
}

func (d decoder) ratioBudget(e syntax.Entry) *budget.Policy {
	p := budget.Policy{Name: e.Key}
	read := func(key, what string, good func(float64) bool, to *float64) {
		at := e.Value.Get(key)
		if at == nil || at.Value.IsNull() {
			return
		}
		v, ok := number(at.Value)
		if !ok || !good(v) {
			d.problem(at.Value.Span, "P102", "%s is %s, not %s", key, what, at.Value.Describe())
			return
		}
		*to = v
	}
	read("ratio", "a share of successes above 0, up to 1", func(v float64) bool { return v > 0 && v <= 1 }, &p.Ratio)
	read("min_per_second", "a number of retries from 0", func(v float64) bool {
		return v >= 0 && v <= 1e6
	}, &p.MinPerSecond)
	read("burst", "a number of retries from 1", func(v float64) bool { return v >= 1 && v <= 1e6 }, &p.Burst)
	if at := e.Value.Get("min_per_second"); at != nil && !at.Value.IsNull() && p.MinPerSecond == 0 {
		p.MinPerSecond = budget.NoRefill
	}
	p = p.Effective()
	return &p
}

// countBudget reads a budget that counts the retries of a job. P806 reports zero
// and numbers above a ceiling.
func (d decoder) countBudget(e syntax.Entry) *job.BudgetPolicy {
	p := job.BudgetPolicy{Name: e.Key}
	p.Retries = optional(d, e.Value, d.retries, "retries").value
	p.PerUnit = optional(d, e.Value, d.retries, "per_unit").value
	if c := e.Value.Get("ceiling"); c != nil && !c.Value.IsNull() && d.isMap(c.Value, "ceiling") {
		d.unknownKeys(c.Value, "", "retries", "per_unit")
		p.MaxRetries = optional(d, c.Value, d.atLeastOne, "retries").value
		p.MaxPerUnit = optional(d, c.Value, d.atLeastOne, "per_unit").value
	}
	p = p.Effective()
	return &p
}

// retries reads a number of retries, or none.
func (d decoder) retries(e *syntax.Entry) (int, bool) {
	switch e.Value.Value {
	case "none":
		return job.NoRetries, true
	case int64(0):
		d.problem(e.Value.Span, "P806",
			"%s: 0 means the default in other systems: write none for no retries, or a number from 1", e.Key)
		return 0, false
	}
	return d.whole(e, 1, ", or none")
}
