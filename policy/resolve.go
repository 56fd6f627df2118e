package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// over returns the settings s, completed with the settings of below that s does not
// contain.
func (s settings) over(below settings) settings {
	values := maps.Clone(below.values)
	if values == nil {
		values = map[rules.Field]written{}
	}
	for i := range table {
		if row := &table[i]; row.own {
			delete(values, row.key)
		}
	}
	maps.Copy(values, s.values)
	s.values = values
	if !s.noPerError {
		s.perError, s.noPerError = mergeClasses(s.perError, below.perError), below.noPerError
	}
	return s
}

// fileClasses are the classes of a file in the form that its policies need.
// Policies share them and do not change them.
type fileClasses struct {
	models []retry.ErrorClass
	order  map[retry.Class]int
	action bool // some class has an action, which applies to every policy
}

func classesOf(list []ErrorClass) (c fileClasses) {
	c.order = map[retry.Class]int{}
	for i, e := range list {
		c.order[retry.Class(e.Name)] = i
		c.models = append(c.models, e.model())
		c.action = c.action || e.Action != retry.ActionDefault
	}
	c.models = slices.Clip(c.models)
	return c
}

// policy resolves the settings to a policy, with every default filled in.
func (s settings) policy(name string, f *File) Policy {
	p := Policy{Name: name, Policy: retry.Policy{Name: name}}
	s.addScope(&p, f) // first: its timeout is a default
	for i := range table {
		table[i].resolve(&p, s)
	}
	p.Schedule = p.Effective()
	p.PerError = s.overrides(f)
	s.addClasses(&p, f)
	return p
}

// resolve stores the value of the setting in p. It takes the value from the first
// settings that contain it. If none does, or if the value is null, p is unchanged.
func (s *setting) resolve(p *Policy, from ...settings) {
	for _, settings := range from {
		if w, ok := settings.values[s.key]; ok {
			if s.put != nil && !w.null {
				s.put(p, w.value)
			}
			return
		}
	}
}

// addScope fills in the scope, its hard limit, its timeout, and whether it captures.
func (s settings) addScope(p *Policy, f *File) {
	if scope := f.scopes[valueOf[string](s, "scope")]; scope != nil {
		p.Scope, p.HardLimit, p.Capture = scope.Name, scope.HardLimit, scope.Capture
		p.Timeout = cmp.Or(scope.Timeout, scope.HardLimit)
	}
}

// addClasses fills in the definitions of classes that the lists of the policy, or
// the actions of classes, need.
func (s settings) addClasses(p *Policy, f *File) {
	lists := slices.Concat(valueOf[[]class](s, "retry_on"), valueOf[[]class](s, "abort_on"))
	if b := f.breakers[p.Breaker]; b != nil {
		lists = append(lists, b.patterns...)
	}
	if t := f.throttles[p.Throttle]; t != nil {
		lists = append(lists, t.patterns...)
	}
	for _, c := range s.classSchedules() {
		lists = append(lists, class{name: c.class})
	}
	if f.classes.action || slices.ContainsFunc(lists, func(c class) bool { _, ok := f.classes.order[c.name]; return ok }) {
		p.Classes = f.classes.models
	}
	for _, c := range lists {
		same := func(have retry.ErrorClass) bool { return have.Class == c.name }
		if c.pattern != nil && !slices.ContainsFunc(p.Classes, same) {
			p.Classes = append(p.Classes, retry.ErrorClass{Class: c.name, Pattern: c.pattern})
		}
	}
}

// places maps every field that is written to the position of its value.
func (s settings) places() map[rules.Field]syntax.Span {
	places := map[rules.Field]syntax.Span{}
	for i := range table {
		row := &table[i]
		if w, ok := s.values[cmp.Or(row.within, row.key)]; ok {
			places[row.key] = w.at
		}
	}
	for _, c := range s.classSchedules() {
		places[rules.PerError(c.class)] = c.at
	}
	return places
}
