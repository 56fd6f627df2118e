package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/job"
)

// DefaultAmplification is the most attempts that retries inside of retries may
// multiply to, unless a policy file says otherwise.
const DefaultAmplification = 12

// A File is what one policy file says, resolved: the policies with all that
// stands around them.
type File struct {
	Scopes    []Scope
	Errors    []ErrorClass
	Breakers  []retry.BreakerPolicy
	Elsewhere []string // names of the breakers whose settings are in Go code
	Budgets   []string // names of all

	// Names of the breakers and budgets whose state is in a store.
	StoredBreakers, StoredBudgets []string

	Counts   []job.BudgetPolicy
	Groups   []job.GroupPolicy
	Policies []Policy
	Bindings []Binding

	// What find, outwards and deciders have found.
	scopes    map[string]*Scope
	breakers  map[string]*retry.BreakerPolicy
	policies  map[string]*Policy
	classes   map[string]*ErrorClass
	limitings map[string]*Scope
	timings   map[string]*Scope
	decides   *[len(codes{})]decider
}

// A Scope is a level of the timeout hierarchy. Limits that are zero are none.
type Scope struct {
	Name, Within       string
	Timeout, HardLimit time.Duration
}

// An ErrorClass is a class that the file defines.
type ErrorClass struct {
	retry.ErrorClass
	GRPC        []uint32 // gRPC codes
	Unprocessed bool
	InGo        bool // some of its tests are Go symbols

	set *codes // what codes has found
}

// A Policy is a policy with the names of what it shares with others; "" is
// nothing.
type Policy struct {
	*retry.Policy
	Breaker, Budget string
	Extends         string   // the policy that it extends, or ""
	Durable         *Durable // nil: its calls are not durable
	OnExhausted     durable.OnExhausted
	OnChanged       durable.OnChanged
	Written         func(Field) bool // in the policy itself, not inherited
}

// A Binding is a Go symbol that a policy serves. Method is one of an
// interface's, or "".
type Binding struct {
	Symbol, Method string
	Policy         string
	Idempotent     Idempotency
	Group          string

	// Of a durable step.
	HasID    bool     // its own, or that of the symbol
	Step     string   // its name; "": of a pattern, which has several
	Formerly []string // its older names
	Written  []Field  // which of id, step and formerly the entry has
}

// Idempotency says what happens when a call is made twice.
type Idempotency uint8

// The answers.
const (
	Unknown         Idempotency = iota
	Idempotent                  // the same as once
	NotIdempotent               // it is done twice
	IdempotentByKey             // the same as once, by the idempotency key in the context
)

// PerError is the field of a class's own schedule.
func PerError(class retry.Class) Field { return Field("per_error." + string(class)) }

// CheckFile returns the findings of the rules about a whole file, in the order
// of their ids. The rules about single policies are [Check]'s.
func CheckFile(f *File) []Finding {
	var findings []Finding
	for _, r := range All {
		if r.file == nil {
			continue
		}
		r.file(f, func(severity Severity, at Place, format string, args ...any) {
			findings = append(findings,
				Finding{Rule: r.ID, Severity: severity, Policy: at.Name, Section: at.Section, Field: at.Field,
					Text: fmt.Sprintf(format, args...)})
		})
	}
	return findings
}

// A Place is where a finding about a file shows: the entry Name of a section,
// and what of it, as keys joined by dots.
type Place struct {
	Section, Name string
	Field         Field
}

// report adds one finding.
type report func(severity Severity, at Place, format string, args ...any)

func (f *File) scope(name string) *Scope {
	return find(&f.scopes, f.Scopes, name, func(s *Scope) string { return s.Name })
}

// limiting returns the innermost scope with a hard limit, from the named one
// outwards, or nil.
func (f *File) limiting(name string) *Scope {
	return f.outwards(&f.limitings, name, func(s *Scope) bool { return s.HardLimit > 0 })
}

// timing returns the innermost scope with a timeout, from the named one
// outwards, or nil.
func (f *File) timing(name string) *Scope {
	return f.outwards(&f.timings, name, func(s *Scope) bool { return s.Timeout > 0 })
}

// outwards returns the innermost scope that is so, from the named one outwards,
// or nil. It remembers what it has found.
func (f *File) outwards(known *map[string]*Scope, name string, is func(*Scope) bool) *Scope {
	if *known == nil {
		*known = map[string]*Scope{}
	}
	var path []string
	s := f.scope(name)
	for s != nil && !is(s) {
		if found, ok := (*known)[s.Name]; ok {
			s = found
			break
		}
		path = append(path, s.Name)
		s = f.scope(s.Within)
	}
	for _, name := range path {
		(*known)[name] = s
	}
	return s
}

func (f *File) breaker(name string) *retry.BreakerPolicy {
	return find(&f.breakers, f.Breakers, name, func(b *retry.BreakerPolicy) string { return b.Name })
}

func (f *File) policy(name string) *Policy {
	return find(&f.policies, f.Policies, name, func(p *Policy) string { return p.Name })
}

func (f *File) class(name retry.Class) *ErrorClass {
	return find(&f.classes, f.Errors, string(name), func(c *ErrorClass) string { return string(c.Class) })
}

// find returns the entry of a list with that name, or nil. It keeps an index,
// since rules ask for every policy.
func find[T any](index *map[string]*T, list []T, name string, nameOf func(*T) string) *T {
	if *index == nil {
		*index = make(map[string]*T, len(list))
		for i := range list {
			(*index)[nameOf(&list[i])] = &list[i]
		}
	}
	return (*index)[name]
}

// bound reports whether some binding in a group uses the policy.
func (f *File) inGroup(policy string) bool {
	return slices.ContainsFunc(f.Bindings, func(b Binding) bool { return b.Policy == policy && b.Group != "" })
}

// maxSum returns the greatest sum of all waits of p, and false where there are
// too many to add up.
func maxSum(p *retry.Policy) (sum time.Duration, ok bool) {
	if p.MaxAttempts > mostSummed {
		return 0, false
	}
	const forever = 1<<63 - 1
	for k := 1; k < p.MaxAttempts; k++ {
		_, _, greatest := p.Bounds(k, 0)
		sum += min(greatest, forever-sum)
	}
	return sum, true
}

func short(d time.Duration) string { return duration.Format(d) }
