package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/hedge"
	"github.com/retrygen/retrygen/runtime/job"
)

// DefaultAmplification is the maximum number of attempts that nested retries may add up
// to, unless the limits section of a policy file sets a different number.
const DefaultAmplification = 12

// A File is a resolved policy file in the form that the rules check. It keeps
// indexes that are built on demand, so it must not be used concurrently.
type File struct {
	Scopes            []Scope
	Errors            []ErrorClass
	Breakers          []breaker.Policy
	BreakersInGo      []string           // names of the breakers whose settings are in Go variables
	BreakersInProcess []string           // names of the breakers with shared: process
	Budgets           []string           // names of all budgets
	Buckets           []budget.Policy    // policies of the budgets for calls
	Counts            []job.BudgetPolicy // policies of the budgets for jobs
	Limiters          []capacity.LimiterPolicy
	Rates             []capacity.RatePolicy
	Throttles         []capacity.ThrottlePolicy
	CapacityInGo      []Place // limiters, rates and throttles whose settings are in Go variables
	Groups            []job.GroupPolicy
	Policies          []Policy
	Bindings          []Binding

	// Partial lists the sections in which some entries are unknown.
	Partial []string

	// Indexes and caches of find, innermost and deciders.
	scopes          map[string]*Scope
	breakers        map[string]*breaker.Policy
	limiters        map[string]*capacity.LimiterPolicy
	rates           map[string]*capacity.RatePolicy
	policies        map[string]*Policy
	classes         map[string]*ErrorClass
	hardLimitScopes map[string]*Scope
	timeoutScopes   map[string]*Scope
	decides         *[len(codes{})]decider
}

// A Scope is a level of the timeout hierarchy. A zero limit means no limit.
type Scope struct {
	Name, Within       string
	Timeout, HardLimit time.Duration
	Capture            bool
}

// An ErrorClass is a class that the file defines.
type ErrorClass struct {
	retry.ErrorClass
	GRPC        []uint32 // gRPC codes
	Unprocessed bool
	InGo        bool // some of its tests are Go symbols
	Unknown     bool // only the class's name is known, so the class may contain any error and have any action

	set *codes // the result of codes, once computed
}

// A Policy is a resolved policy with the names of the breaker and the budget that it
// shares; "" means that there is none.
type Policy struct {
	*retry.Policy
	Breaker, Budget string

	// Names of the limits on its attempts, or "".
	Concurrency, Rate, Throttle string

	Hedge       *hedge.Policy // settings of the hedge; nil means no hedge
	Extends     string        // the policy that it extends, or ""
	Durable     *Durable      // durable settings; nil means that the calls are not durable
	OnExhausted genapi.OnExhausted
	OnChanged   genapi.OnChanged
	Written     func(Field) bool // whether a field is set in the policy itself, not inherited
}

// A Binding is a Go symbol, or one method of a type, that is bound to a policy.
// Method is "" for the symbol itself.
type Binding struct {
	Symbol, Method string
	Policy         string
	Idempotent     Idempotency
	Group          string

	// These fields are for durable steps.
	HasID    bool     // whether the method or its symbol has an id
	Step     string   // name of the step; "" for a pattern, which has several names
	Formerly []string // older names of the step
	Written  []Field  // which of id, step, formerly and repeat are in the entry
}

// Idempotency describes whether a second call has an additional effect.
type Idempotency uint8

// The values of Idempotency. The zero value is Unknown.
const (
	Unknown         Idempotency = iota
	Idempotent                  // two calls have the same effect as one
	NotIdempotent               // the second call has an additional effect
	IdempotentByKey             // two calls with the same idempotency key have the same effect as one
)

// PerError returns the field that contains the schedule of a class.
func PerError(class retry.Class) Field { return Field("per_error." + string(class)) }

// CheckFile returns the findings of the rules about a whole file, ordered by rule id. For
// the rules about single policies, use [Check].
func CheckFile(f *File) []Finding {
	var findings []Finding
	for _, r := range All {
		if r.file == nil || slices.ContainsFunc(r.whole, f.partial) {
			continue
		}
		r.file(f, func(severity Severity, at Place, format string, args ...any) *Finding {
			findings = append(findings, Finding{
				Rule: r.ID, Severity: severity, Policy: at.Name, Section: at.Section, Field: at.Field,
				message: fmt.Sprintf(format, args...),
			})
			return &findings[len(findings)-1]
		})
	}
	for i, f := range findings {
		findings[i].Text = f.In(policyWords)
	}
	return findings
}

// partial reports whether some entries of a section are not known.
func (f *File) partial(section string) bool { return slices.Contains(f.Partial, section) }

// A Place is the position of a finding in a file: an entry in a section, and a field of
// the entry, written as keys joined by dots.
type Place struct {
	Section, Name string
	Field         Field
}

// report is the type of the functions that add a finding, and return it.
type report func(severity Severity, at Place, format string, args ...any) *Finding

func (f *File) scope(name string) *Scope {
	return find(&f.scopes, f.Scopes, name, func(s *Scope) string { return s.Name })
}

// hardLimitScope returns the innermost scope with a hard limit, from the named one
// outwards, or nil.
func (f *File) hardLimitScope(name string) *Scope {
	return f.innermost(&f.hardLimitScopes, name, func(s *Scope) bool { return s.HardLimit > 0 })
}

// timeoutScope returns the innermost scope with a timeout, from the named one
// outwards, or nil.
func (f *File) timeoutScope(name string) *Scope {
	return f.innermost(&f.timeoutScopes, name, func(s *Scope) bool { return s.Timeout > 0 })
}

// innermost returns the innermost scope that match accepts, from the named one
// outwards, or nil. It keeps its results in known.
func (f *File) innermost(known *map[string]*Scope, name string, match func(*Scope) bool) *Scope {
	if *known == nil {
		*known = map[string]*Scope{}
	}
	var path []string
	s := f.scope(name)
	for s != nil && !match(s) {
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

func (f *File) breaker(name string) *breaker.Policy {
	return find(&f.breakers, f.Breakers, name, func(b *breaker.Policy) string { return b.Name })
}

func (f *File) limiter(name string) *capacity.LimiterPolicy {
	return find(&f.limiters, f.Limiters, name, func(l *capacity.LimiterPolicy) string { return l.Name })
}

func (f *File) rate(name string) *capacity.RatePolicy {
	return find(&f.rates, f.Rates, name, func(r *capacity.RatePolicy) string { return r.Name })
}

func (f *File) policy(name string) *Policy {
	return find(&f.policies, f.Policies, name, func(p *Policy) string { return p.Name })
}

func (f *File) class(name retry.Class) *ErrorClass {
	return find(&f.classes, f.Errors, string(name), func(c *ErrorClass) string { return string(c.Class) })
}

// find returns the entry of a list with that name, or nil. It keeps an index,
// since rules look up names for every policy.
func find[T any](index *map[string]*T, list []T, name string, nameOf func(*T) string) *T {
	if *index == nil {
		*index = make(map[string]*T, len(list))
		for i := range list {
			(*index)[nameOf(&list[i])] = &list[i]
		}
	}
	return (*index)[name]
}

// inGroup reports whether any binding in a group uses the policy.
func (f *File) inGroup(policy string) bool {
	return slices.ContainsFunc(f.Bindings, func(b Binding) bool { return b.Policy == policy && b.Group != "" })
}

// maxSum returns the greatest sum of all waits of p. ok is false if there are more
// than maxSummed attempts.
func maxSum(p *retry.Policy) (sum time.Duration, ok bool) {
	if p.MaxAttempts > maxSummed {
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
