package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/grpcstatus"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// A Policy is a policy from a foreign document, expressed in the terms of this module. A
// zero field means the default of the policy language.
type Policy struct {
	retry.Policy          // its Name is valid in a policy file
	Binds        []string // what the other system applies it to, such as package.Service/Method

	breaker *circuit
	words   words
	unknown []rules.Field          // fields that are decided elsewhere; rules that read them report nothing
	partial bool                   // every field that is not written is decided elsewhere
	remarks []string               // IDs of rules whose findings have severity Info for this policy
	judged  []string               // IDs of rules that the decoder applies, with data that no policy file has
	roots   []*value               // the parts of the document that it consists of
	places  map[rules.Field]*value // where fields are written
}

// words maps the fields of a policy to the names of a system's fields. A field
// that the system does not have is absent.
type words map[rules.Field]string

// countsRetries is the key of the field for max_attempts in a system that counts retries
// instead of attempts.
const countsRetries rules.Field = "max_retries"

// fullJitter is the key for what users of a system write instead of "jitter: full", if the
// system has jitter.
const fullJitter rules.Field = "jitter: full"

// fixedBackoff is the key for what users of a system write instead of "backoff: fixed".
const fixedBackoff rules.Field = "backoff: fixed"

// theDelays is the key for advice to change all delays. It can be followed in systems whose
// documents set the first delay.
const theDelays rules.Field = "the delays"

// fixed is the prefix of the name of a field that documents cannot set.
const fixed = "="

// A circuit is the circuit breaker of one or several policies.
type circuit struct {
	breaker.Policy
	word   string // its name in the other system
	at     *value
	words  words
	places map[rules.Field]*value
}

// A class is an error class that a converted file defines.
type class struct {
	name    string
	word    string // its name in the other system
	http    [][2]int
	grpc    []string
	pattern string
}

// A decoder converts one document.
type decoder struct {
	*reader
	kind *Kind

	partial bool // settings that the document does not write are decided elsewhere
	// Indexes of the first policy, loss and scope of the document in their lists.
	first, firstLoss, firstScope int
	job                          *section // the group of the document, or nil
}

// policy adds a policy. name can be any string. at contains the parts of the document from
// which the policy is converted. The first part is the policy's position. words contains the
// names of its fields.
func (d *decoder) policy(name string, words words, at ...*value) *Policy {
	p := &Policy{words: words, places: map[rules.Field]*value{}}
	for _, v := range at {
		if v != nil {
			p.roots = append(p.roots, v)
		}
	}
	p.Name = d.policyNames.unique(name)
	d.file.Policies = append(d.file.Policies, p)
	return p
}

// breaker adds a circuit breaker. Policies with the same pointer share the breaker.
func (d *decoder) breaker(name string, words words, at *value) *circuit {
	b := &circuit{word: name, words: words, at: at, places: map[rules.Field]*value{}}
	b.Name = d.breakerNames.unique(name)
	return b
}

// names contains the names that are already used in a policy file. Each value is the number to
// try next if the same name is needed again.
type names map[string]int

// unique returns an unused name for a string, and marks the name as used.
func (n names) unique(text string) string {
	base := nameOf(text)
	name := base
	for i := max(n[base], 2); n[name] > 0; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
		n[base] = i + 1
	}
	n[name] = max(n[name], 1)
	return name
}

var (
	camel    = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
	notName  = regexp.MustCompile(`[^a-z0-9]+`)
	maxNames = 60
)

// nameOf converts a string to a name of the policy language. For example, CheckConsistency
// becomes check_consistency.
func nameOf(text string) string {
	name := strings.ToLower(camel.ReplaceAllString(text, "${1}${3}_${2}${4}"))
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_")
	if len(name) > maxNames {
		name = strings.Trim(name[:maxNames], "_")
	}
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = strings.TrimSuffix("policy_"+name, "_")
	}
	return name
}

// from records where a field is written.
func (p *Policy) from(field rules.Field, v *value) {
	if v != nil {
		p.places[field] = v
	}
}

// unread records that the value of a field is unknown, for example because it is set at run
// time. No rule checks the field.
func (p *Policy) unread(field rules.Field) {
	p.unknown = append(p.unknown, field)
	if field == "initial_delay" {
		p.InitialDelay = time.Second // the default, rather than none
	}
}

// refused records that the value of a field was reported as a mistake, so that no rule judges the field's
// default instead.
func (p *Policy) refused(field rules.Field, v *value) {
	if v != nil {
		p.unknown = append(p.unknown, field)
	}
}

// isAtRunTime reports whether a value is known at run time only.
func (v *value) isAtRunTime() bool {
	return v != nil && !v.n.IsMap() && !v.n.IsList() && isExpression(v.n.Text)
}

// attempts reads max_attempts. extra is 1 if the system counts retries. attempts returns false
// if the value is absent or not a number.
func (p *Policy) attempts(v *value, extra int) bool {
	if v.isAtRunTime() {
		p.unread("max_attempts")
	}
	n, ok := v.int()
	switch {
	case !ok:
		p.refused("max_attempts", v)
		return false
	case n+extra < 1:
		p.refused("max_attempts", v)
		v.mistake("P102", "%s is %d: it must be at least %d", v.key, n, 1-extra)
		return false
	}
	p.MaxAttempts = n + extra
	p.from("max_attempts", v)
	return true
}

// duration reads a duration into a field of a policy. Zero means that there is no delay or no
// limit. It returns false if the value is absent or not a duration.
func (p *Policy) duration(field rules.Field, v *value, format durationFormat) bool {
	if v.isAtRunTime() {
		p.unread(field)
	}
	d, ok := v.duration(format)
	if !ok {
		p.refused(field, v)
		return false
	}
	p.setDuration(field, d, v)
	return true
}

// setDuration sets a duration and records where it is written.
func (p *Policy) setDuration(field rules.Field, d time.Duration, v *value) {
	p.from(field, v)
	switch field {
	case "initial_delay":
		p.InitialDelay = orNone(d)
	case "max_delay":
		p.MaxDelay = orNone(d)
	case "increment":
		p.Increment = d
	case "delay_budget":
		p.DelayBudget = d
	case "max_elapsed":
		p.MaxElapsed = d
	case "attempt_timeout":
		p.AttemptTimeout = d
	case "timeout":
		p.Timeout = d
	default:
		panic("foreign: " + string(field) + " is no duration of a policy")
	}
}

func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return retry.None
	}
	return d
}

// base reads the base of exponential backoff. A base of 1 means equal delays. It returns false
// if the value is absent, less than 1 or not a number.
func (p *Policy) base(v *value) bool {
	if v.isAtRunTime() {
		p.unread("base")
	}
	f, ok := v.float()
	switch {
	case !ok:
		p.refused("base", v)
		return false
	case f < 1:
		p.refused("base", v)
		v.mistake("P106", "%s %v makes delays shrink: write at least 1", v.key, f)
		return false
	case f == 1:
		p.Backoff, p.Base = retry.BackoffFixed, 0
	default:
		p.Base = f
	}
	p.from("base", v)
	return true
}

// jitterFactor reads the jitter factor. A factor of 0 means no jitter.
func (p *Policy) jitterFactor(v *value) {
	if f, ok := v.float(); ok && f == 0 {
		p.Jitter, p.JitterFactor = retry.JitterNone, 0
	} else if f, ok := v.share(1); ok {
		p.JitterFactor = f
		p.from("jitter_factor", v)
	}
}

// retryOn adds a class to retry_on, unless retry_on already contains it. v is the item that
// names the class, or nil.
func (p *Policy) retryOn(name retry.Class, v *value) { p.list("retry_on", &p.RetryOn, name, v) }

// abortOn adds a class to abort_on.
func (p *Policy) abortOn(name retry.Class, v *value) { p.list("abort_on", &p.AbortOn, name, v) }

func (p *Policy) list(field rules.Field, list *[]retry.Class, name retry.Class, v *value) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
	if p.places[field] == nil {
		p.from(field, v)
	}
}

// grpc returns the class for a gRPC status code, such as UNAVAILABLE.
func (d *decoder) grpc(code string) retry.Class {
	name := strings.ToLower(code)
	if slices.Contains(policy.BuiltinClasses(), name) {
		name = "grpc_" + name // for example, for UNKNOWN
	}
	return d.class(class{name: name, word: code, grpc: []string{code}})
}

// http returns the class for a range of HTTP statuses.
func (d *decoder) http(from, to int) retry.Class {
	word := strconv.Itoa(from)
	if to > from {
		word += "-" + strconv.Itoa(to)
	}
	name := "http_" + strings.ReplaceAll(word, "-", "_")
	return d.class(class{name: name, word: word, http: [][2]int{{from, to}}})
}

// pattern returns the class for errors whose text matches a regular expression. name can be any
// string.
func (d *decoder) pattern(name, expr string) retry.Class {
	return d.class(class{name: nameOf(name), word: name, pattern: expr})
}

// class returns the file's class with these tests. If there is none, class adds one with an
// unused name.
func (d *decoder) class(c class) retry.Class {
	tests := fmt.Sprint(c.http, c.grpc, c.pattern)
	name, ok := d.classes[tests]
	if !ok {
		c.name = d.classNames.unique(c.name)
		d.file.classes = append(d.file.classes, c)
		name = retry.Class(c.name)
		d.classes[tests] = name
	}
	return name
}

// ofRequest reports whether the class contains a status that is only retried if a class names
// it: 400, 401, 403, 404 or 422.
func (c class) ofRequest() bool {
	permanent := []int{400, 401, 403, 404, 422}
	return slices.ContainsFunc(c.http, func(r [2]int) bool {
		return slices.ContainsFunc(permanent, func(status int) bool { return r[0] <= status && status <= r[1] })
	}) || slices.ContainsFunc(c.grpc, func(name string) bool {
		return slices.Contains(permanent, grpcstatus.HTTP(uint32(slices.Index(grpcCodes[:], name))))
	})
}

// grpcCodes contains the names of the gRPC status codes, indexed by number.
var grpcCodes = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// assign sets the policy of each of the document's losses to the policy that contains the
// field.
func (d *decoder) assign() {
	owners := map[string]*Policy{}
	for _, p := range d.file.Policies[d.first:] {
		for _, root := range p.roots {
			if owners[root.path] == nil {
				owners[root.path] = p
			}
		}
	}
	for i := range d.file.Losses[d.firstLoss:] {
		l := &d.file.Losses[d.firstLoss+i]
		for path := l.Path; l.Policy == nil; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
			if l.Policy = owners[path]; path == "" {
				break
			}
		}
	}
}

// finish removes what has no effect on the policies of the document: the schedule
// of a policy that makes one attempt, and targets whose names are not known yet.
func (d *decoder) finish() {
	for _, p := range d.file.Policies[d.first:] {
		p.Binds = slices.DeleteFunc(p.Binds, func(target string) bool { return target == "" })
		if p.MaxAttempts == 1 && len(p.PerError) == 0 {
			p.Schedule, p.DelayBudget, p.MaxElapsed = retry.Schedule{MaxAttempts: 1}, 0, 0
		}
	}
}
