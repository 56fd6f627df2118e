package live

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// ruleCompiled is the rule about changes of what is compiled.
const ruleCompiled = "P929"

// A version is a policy file that is to become effective.
type version struct {
	c        *Control
	old, new *policy.File
	problems []policy.Problem
	settings []string // what differs

	// What apply does, which cannot fail: all that can is known before.
	updates  []func()        // of what calls share
	policies []*retry.Policy // in the order of Control.policies
}

// compare finds out what a version changes. It returns an [*Error] if that is something that
// is compiled, and another error if something else has changed the policies.
func (c *Control) compare(file *policy.File, text []byte) (*version, error) {
	for i, l := range c.policies {
		if l.Policy() != c.inForce[i] {
			return nil, c.another()
		}
	}
	v := &version{c: c, old: c.file, new: file}
	v.bindings()
	v.classes()
	v.clients()
	v.groups()
	v.shared()
	v.allPolicies()
	if len(v.problems) > 0 {
		policy.Sort(v.problems)
		return nil, &Error{File: file.Name, Problems: v.problems, text: text}
	}
	return v, nil
}

// apply puts the version into force.
func (v *version) apply() {
	for _, update := range v.updates {
		update()
	}
	for i, p := range v.policies {
		v.c.policies[i].Store(p)
	}
	v.c.inForce = v.policies
}

// fixed reports that something is compiled and cannot change.
func (v *version) fixed(at policy.Pos, format string, args ...any) {
	v.problem(at, format+": that is compiled, so generate the code again and deploy it", args...)
}

// problem reports that the version cannot become effective.
func (v *version) problem(at policy.Pos, format string, args ...any) {
	v.problems = append(v.problems, policy.Problem{
		File: v.new.Name, Pos: cmp.Or(at, policy.Pos{Line: 1, Col: 1}), Rule: ruleCompiled, Severity: rules.Error,
		Text: fmt.Sprintf(format, args...),
	})
}

// pairs calls both for each entry that both versions have, and reports the others.
func pairs[T any](v *version, what string, old, new []T, name func(*T) string, pos func(*T) policy.Pos,
	both func(old, new *T)) {
	known := map[string]*T{}
	for i := range old {
		known[name(&old[i])] = &old[i]
	}
	for i := range new {
		one := &new[i]
		before, ok := known[name(one)]
		if !ok {
			v.fixed(pos(one), "%s %s is new", what, name(one))
			continue
		}
		delete(known, name(one))
		both(before, one)
	}
	for i := range old {
		if n := name(&old[i]); known[n] != nil {
			v.fixed(policy.Pos{}, "%s %s is missing", what, n)
		}
	}
}

// same reports whether two entries are equal, wherever they are in their files.
func same(a, b any) bool {
	return reflect.DeepEqual(unplaced(reflect.ValueOf(a)).Interface(), unplaced(reflect.ValueOf(b)).Interface())
}

var posType = reflect.TypeFor[policy.Pos]()

// unplaced returns a copy of exported data without positions.
func unplaced(v reflect.Value) reflect.Value {
	switch {
	case v.Type() == posType:
		return reflect.Zero(posType)
	case v.Kind() == reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(unplaced(v.Field(i)))
			}
		}
		return c
	case v.Kind() == reflect.Slice && !v.IsNil():
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(unplaced(v.Index(i)))
		}
		return c
	}
	return v
}

func (v *version) bindings() {
	pairs(v, "the binding of", v.old.Bindings, v.new.Bindings,
		func(b *policy.Binding) string { return b.Symbol }, func(b *policy.Binding) policy.Pos { return b.Pos },
		func(old, new *policy.Binding) {
			if !same(*old, *new) {
				v.fixed(new.Pos, "the binding of %s differs", new.Symbol)
			}
		})
}

// classes compares the Go symbols and gRPC codes of the error classes. Their statuses, patterns
// and actions may change: they are settings of the policies.
func (v *version) classes() {
	if !slices.EqualFunc(v.old.Errors, v.new.Errors, func(a, b policy.ErrorClass) bool { return a.Name == b.Name }) {
		at := policy.Pos{}
		if len(v.new.Errors) > 0 {
			at = v.new.Errors[0].Pos
		}
		v.fixed(at, "the error classes have other names, or another order")
		return
	}
	for i := range v.new.Errors {
		a, b := &v.old.Errors[i], &v.new.Errors[i]
		if !same(a.Is, b.Is) || !same(a.As, b.As) || !same(a.GRPC, b.GRPC) {
			v.fixed(b.Pos, "the Go symbols or gRPC codes of class %s differ", b.Name)
		}
	}
}

func (v *version) clients() {
	if len(v.old.Clients) != len(v.new.Clients) || !same(v.old.Clients, v.new.Clients) {
		at := policy.Pos{}
		if len(v.new.Clients) > 0 {
			at = v.new.Clients[0].Pos
		}
		v.fixed(at, "the section clients differs")
	}
}

func (v *version) groups() {
	pairs(v, "group", v.old.Groups, v.new.Groups,
		func(g *policy.Group) string { return g.GroupPolicy.Name }, func(g *policy.Group) policy.Pos { return g.Pos },
		func(old, new *policy.Group) {
			if !same(old.GroupPolicy, new.GroupPolicy) {
				v.fixed(new.Pos, "group %s differs", new.GroupPolicy.Name)
			}
		})
}
