package policy

import (
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// A Scope is a level of the timeout hierarchy.
type Scope struct {
	Name      string
	Pos       Pos
	Timeout   time.Duration // of calls without their own; 0: none
	HardLimit time.Duration // the most that any may have; 0: none
	Within    string        // the outer scope, or ""
}

// A Breaker is a circuit breaker that calls share.
type Breaker struct {
	Pos Pos
	retry.BreakerPolicy
	patterns []class
}

// A Budget is a budget of retries that calls share: a ratio, or a count for
// jobs.
type Budget struct {
	Name  string
	Pos   Pos
	Ratio *retry.BudgetPolicy
	Count *retry.JobBudgetPolicy
}

// A Group is work that fans out over units.
type Group struct {
	Pos Pos
	retry.GroupPolicy
}

// section returns the entries of a map at the top of the file that have good
// names. The others go no further: "" means no name at all from here on.
func (d decoder) section(root *node, key string) (list []entry) {
	e := root.get(key)
	if e == nil || e.value.isNull() || !d.isMap(e.value, key) {
		return nil
	}
	for _, e := range e.value.entries {
		if !policyName.MatchString(e.key) {
			d.problem(e.at, "P102", "the name %s is not lower case letters, digits and _, beginning with a letter", quoteShort(e.key))
			continue
		}
		list = append(list, e)
	}
	return list
}

// reference reads the name of something that another section defines.
func (d decoder) reference(section, what string) func(*entry) (string, bool) {
	return func(e *entry) (string, bool) {
		name, ok := e.value.value.(string)
		switch {
		case !ok:
			d.problem(e.value.span, "P102", "%s is the name of %s, not %s", e.key, what, kindOf(e.value))
		case !d.defined[section][name]:
			d.problem(e.value.span, "P901", "there is no %s %s%s", strings.TrimSuffix(section, "s"), quoteShort(name), didYouMean(name, d.names[section]))
			return "", false
		}
		return name, ok
	}
}

// scopes reads the section of that name.
func (d decoder) scopes(root *node) (list []Scope) {
	for _, e := range d.section(root, "scopes") {
		if !d.isMap(e.value, "a scope") {
			continue
		}
		d.unknownKeys(e.value, "", "timeout", "hard_limit", "within")
		s := Scope{Name: e.key, Pos: e.at.Pos}
		s.Timeout = one(d, e.value, d.timeout, "timeout").value
		s.HardLimit = one(d, e.value, d.timeout, "hard_limit").value
		s.Within = one(d, e.value, d.reference("scopes", "a scope"), "within").value
		list = append(list, s)
	}
	d.scopeCycles(root, list)
	return list
}

// scopeCycles reports scopes that contain themselves, each circle once.
func (d decoder) scopeCycles(root *node, list []Scope) {
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
		if begin, circle := at[back]; circle {
			at := root.get("scopes").value.get(back).value.get("within").value.span
			d.problem(at, "P903", "scopes contain each other in a circle: %s", path(append(names[begin:], back)))
		}
	}
}

// breakers reads the section of that name.
func (d decoder) breakers(root *node) (list []Breaker) {
	for _, e := range d.section(root, "breakers") {
		if e.value.isNull() {
			e.value = &node{span: e.at, value: map[string]any{}}
		}
		if !d.isMap(e.value, "a breaker") {
			continue
		}
		d.unknownKeys(e.value, "", "failures", "open_for", "half_open_calls", "successes", "escalate_after", "count")
		b := Breaker{Pos: e.at.Pos, BreakerPolicy: retry.BreakerPolicy{Name: e.key}}
		b.Failures = one(d, e.value, d.atLeastOne, "failures").value
		b.OpenFor = one(d, e.value, d.aboveZero, "open_for").value
		b.HalfOpenCalls = one(d, e.value, d.atLeastOne, "half_open_calls").value
		b.Successes = one(d, e.value, d.atLeastOne, "successes").value
		b.EscalateAfter = one(d, e.value, d.countOrZero, "escalate_after").value
		b.patterns = one(d, e.value, d.classes, "count").value
		for _, c := range b.patterns {
			b.Count = append(b.Count, c.name)
		}
		b.BreakerPolicy = b.Effective()
		list = append(list, b)
	}
	return list
}

// whole reads a whole number from least on.
func (d decoder) whole(e *entry, least int, hint string) (int, bool) {
	const most = 1 << 30
	v, ok := e.value.value.(int64)
	if !ok || v < int64(least) || v > most {
		d.problem(e.value.span, "P102", "%s is a whole number from %d%s, not %s", e.key, least, hint, kindOf(e.value))
		return 0, false
	}
	return int(v), true
}

// countOrZero reads a count that 0 switches off.
func (d decoder) countOrZero(e *entry) (int, bool) { return d.whole(e, 0, "; 0 switches it off") }

func (d decoder) atLeastOne(e *entry) (int, bool) { return d.whole(e, 1, "") }

// aboveZero reads a duration that cannot be none.
func (d decoder) aboveZero(e *entry) (time.Duration, bool) {
	value, ok := d.duration(e.value, e.key)
	if ok && value == 0 {
		d.problem(e.value.span, "P102", "%s is longer than 0", e.key)
		return 0, false
	}
	return value, ok
}

// budgets reads the section of that name.
func (d decoder) budgets(root *node) (list []Budget) {
	for _, e := range d.section(root, "budgets") {
		if !d.isMap(e.value, "a budget") {
			continue
		}
		before := d.errors()
		d.unknownKeys(e.value, "", "retries", "per_unit", "ceiling", "ratio", "min_per_second", "burst")
		b := Budget{Name: e.key, Pos: e.at.Pos}
		var counts, shares *entry
		for i := range e.value.entries {
			switch at := &e.value.entries[i]; at.key {
			case "retries", "per_unit", "ceiling":
				counts = at
			case "ratio", "min_per_second", "burst":
				shares = at
			}
		}
		switch {
		case counts != nil && shares != nil:
			d.problem(shares.at, "P102", "a budget counts (retries, per_unit, ceiling) or shares (ratio, min_per_second, burst): %s and %s do not go together", counts.key, shares.key)
		case counts != nil:
			b.Count = d.countBudget(e)
		case shares != nil:
			b.Ratio = d.ratioBudget(e)
		case d.errors() == before:
			d.problem(e.at, "P102", "%s is empty: write ratio: 0.2 for a share of traffic, or retries: 20 for a count", e.key)
		}
		list = append(list, b)
	}
	return list
}

func (d decoder) ratioBudget(e entry) *retry.BudgetPolicy {
	p := retry.BudgetPolicy{Name: e.key}
	read := func(key, what string, good func(float64) bool, to *float64) {
		at := e.value.get(key)
		if at == nil || at.value.isNull() {
			return
		}
		v, ok := number(at.value)
		if !ok || !good(v) {
			d.problem(at.value.span, "P102", "%s is %s, not %s", key, what, kindOf(at.value))
			return
		}
		*to = v
	}
	read("ratio", "a share of successes above 0, up to 1", func(v float64) bool { return v > 0 && v <= 1 }, &p.Ratio)
	read("min_per_second", "a number of retries from 0", func(v float64) bool { return v >= 0 && v <= 1e6 }, &p.MinPerSecond)
	read("burst", "a number of retries from 1", func(v float64) bool { return v >= 1 && v <= 1e6 }, &p.Burst)
	if at := e.value.get("min_per_second"); at != nil && !at.value.isNull() && p.MinPerSecond == 0 {
		p.MinPerSecond = retry.NoRefill
	}
	p = p.Effective()
	return &p
}

// countBudget reads a budget of AD-44. Zero and numbers above a ceiling are
// the business of P806.
func (d decoder) countBudget(e entry) *retry.JobBudgetPolicy {
	p := retry.JobBudgetPolicy{Name: e.key}
	p.Retries = one(d, e.value, d.retries, "retries").value
	p.PerUnit = one(d, e.value, d.retries, "per_unit").value
	if c := e.value.get("ceiling"); c != nil && !c.value.isNull() && d.isMap(c.value, "ceiling") {
		d.unknownKeys(c.value, "", "retries", "per_unit")
		p.MaxRetries = one(d, c.value, d.atLeastOne, "retries").value
		p.MaxPerUnit = one(d, c.value, d.atLeastOne, "per_unit").value
	}
	p = p.Effective()
	return &p
}

// retries is a number of retries, or none.
func (d decoder) retries(e *entry) (int, bool) {
	switch e.value.value {
	case "none":
		return retry.NoRetries, true
	case int64(0):
		d.problem(e.value.span, "P806", "%s: 0 means the default elsewhere: write none for no retries, or a number from 1", e.key)
		return 0, false
	}
	return d.whole(e, 1, ", or none")
}

// groups reads the section of that name.
func (d decoder) groups(root *node, budgets []Budget) (list []Group) {
	for _, e := range d.section(root, "groups") {
		if e.value.isNull() {
			e.value = &node{span: e.at, value: map[string]any{}}
		}
		if !d.isMap(e.value, "a group") {
			continue
		}
		d.unknownKeys(e.value, "", "units", "timeout", "budget", "best_effort")
		g := Group{Pos: e.at.Pos, GroupPolicy: retry.GroupPolicy{Name: e.key}}
		g.Units = one(d, e.value, d.atLeastOne, "units").value
		g.Timeout = one(d, e.value, d.timeout, "timeout").value
		name := one(d, e.value, d.reference("budgets", "a budget"), "budget")
		for _, b := range budgets {
			switch {
			case b.Name != name.value:
			case b.Count == nil && b.Ratio != nil:
				d.problem(name.at, "P102", "budget %s is a ratio, but the budget of a group counts: name one with retries", b.Name)
			default:
				g.Budget = b.Count
			}
		}
		if be := e.value.get("best_effort"); be != nil && !be.value.isNull() && d.isMap(be.value, "best_effort") {
			g.BestEffort = d.bestEffort(be.value)
		}
		list = append(list, g)
	}
	return list
}

func (d decoder) bestEffort(n *node) *retry.BestEffort {
	d.unknownKeys(n, "", "min_success", "deadline", "late", "check_every")
	var b retry.BestEffort
	b.MinSuccess = one(d, n, d.atLeastOne, "min_success").value
	b.Deadline = one(d, n, d.bestEffortDeadline, "deadline").value
	b.CheckEvery = one(d, n, d.aboveZero, "check_every").value
	if e := n.get("late"); e != nil && !e.value.isNull() {
		late := map[string]retry.Late{"log_only": retry.LogOnly, "log": retry.LogOnly, "update_result": retry.UpdateResult, "update": retry.UpdateResult}
		l, ok := late[e.value.text]
		if !ok {
			d.problem(e.value.span, "P102", "late is log_only or update_result, not %s", kindOf(e.value))
		}
		b.Late = l
		if word := l.String(); ok && e.value.text != word {
			d.spellings.Names = append(d.spellings.Names, Name{n, e, e.key, word})
		}
	}
	b = b.Effective()
	return &b
}

func (d decoder) bestEffortDeadline(e *entry) (time.Duration, bool) {
	value, ok := d.aboveZero(e)
	if ok && value > retry.MaxBestEffortDeadline {
		d.problem(e.value.span, "P806", "deadline %s is over the ceiling of %s: lower it", duration.Format(value), duration.Format(retry.MaxBestEffortDeadline))
		return 0, false
	}
	return value, ok
}
