package retry

import (
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// digestBases are policies under which different fields have an effect.
func digestBases() (list []Policy) {
	for backoff := range Backoff(len(backoffNames)) {
		for jitter := range Jitter(len(jitterNames)) {
			s := Schedule{Backoff: backoff, Jitter: jitter}
			list = append(list, Policy{
				Schedule: s, HardLimit: time.Hour, PerError: []Override{{Class: "own", Schedule: s}},
				Classes: []ErrorClass{{Class: "own"}},
			})
		}
	}
	return list
}

// unchanging are the fields that no digest has, with the reason.
var unchanging = map[string]string{
	"Name": "a changed name is noticed without the digest",
}

// TestDigestHasEveryField: each field of a policy changes its digest.
func TestDigestHasEveryField(t *testing.T) {
	var visit func(typ reflect.Type, path string, at func(*Policy) reflect.Value)
	visit = func(typ reflect.Type, path string, at func(*Policy) reflect.Value) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			name := strings.TrimPrefix(path+"."+f.Name, ".")
			field := func(p *Policy) reflect.Value { return at(p).Field(i) }
			switch {
			case f.Type.Kind() == reflect.Struct:
				visit(f.Type, name, field)
				continue
			case f.Type == reflect.TypeFor[[]Override](), f.Type == reflect.TypeFor[[]ErrorClass]():
				visit(f.Type.Elem(), name, func(p *Policy) reflect.Value { return field(p).Index(0) })
			}
			if changes := changesDigest(t, field); changes == (unchanging[name] != "") {
				t.Errorf("%s.%s changes the digest: %v: write a line for it in Policy.canonical, and none for its default; "+
					"or write in unchanging why the digest does not have it", typ, f.Name, changes)
			}
		}
	}
	visit(reflect.TypeFor[Policy](), "", func(p *Policy) reflect.Value { return reflect.ValueOf(p).Elem() })
}

// changesDigest reports whether another value of a field changes the digest of
// some policy.
func changesDigest(t *testing.T, field func(*Policy) reflect.Value) bool {
	changes := false
	for i := range digestBases() {
		p, other := digestBases()[i], digestBases()[i]
		setOther(t, field(&other))
		changes = changes || p.Digest() != other.Digest()
	}
	return changes
}

// setOther sets a field to a value that is neither its zero value nor its default.
func setOther(t *testing.T, v reflect.Value) {
	switch v.Interface().(type) {
	case []error:
		v.Set(reflect.ValueOf([]error{io.EOF}))
		return
	case *regexp.Regexp:
		v.Set(reflect.ValueOf(regexp.MustCompile("busy")))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 7)
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(0.7)
	case reflect.String:
		v.SetString("other")
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if last := v.Index(v.Len() - 1); last.Kind() != reflect.Struct {
			setOther(t, last)
		}
	case reflect.Array:
		setOther(t, v.Index(0))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	default:
		t.Fatalf("a field of type %s: set it here to another value", v.Type())
	}
}

func temporary(err error) bool { return errors.Is(err, io.EOF) }

// TestDigest compares the canonical texts of policies. A text that changes without
// a reason changes the digests of policies that durable runs have recorded.
func TestDigest(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		policy Policy
		want   string
	}{
		{"zero", Policy{}, `policy 1`},
		{"defaults", Policy{Name: "read", Scope: "flow", Schedule: Schedule{
			MaxAttempts: 3, InitialDelay: s, Base: 2, MaxDelay: 30 * s, RetryAfter: RetryAfter{Max: 300 * s},
		}}, `policy 1`},
		{"without effect", Policy{Schedule: Schedule{
			Increment: s, Delays: []time.Duration{s}, JitterFactor: 0.4, RetryAfter: RetryAfter{Max: 300 * s},
		}}, `policy 1`},
		{"decorrelated", Policy{Schedule: Schedule{Jitter: JitterDecorrelated, Backoff: BackoffFixed}}, `
			policy 1
			jitter: decorrelated`},
		{"off", Policy{Schedule: Schedule{
			MaxAttempts: Unlimited, InitialDelay: None, MaxDelay: None, RetryAfter: RetryAfter{Max: None, Default: s},
		}}, `
			policy 1
			max_attempts: 9223372036854775807
			initial_delay: 0s
			max_delay: 2562047h47m16.854775807s
			retry_after.max: 0s`},
		{"all", Policy{
			Schedule: Schedule{
				Base: 3, Jitter: JitterProportional, JitterFactor: 0.5, Escalate: true,
				RetryAfter: RetryAfter{Default: s, FailOver: true},
			},
			DelayBudget: 60 * s, MaxElapsed: 61 * s, AttemptTimeout: 2 * s, Timeout: 62 * s,
			Scope: "flow", HardLimit: 63 * s, Capture: true,
			RetryOn: []Class{"own", "network", "own"}, AbortOn: []Class{"busy"},
			Classes: []ErrorClass{{
				Class: "own", Is: []error{io.EOF},
				As:   []func(error) bool{temporary, As[*Error], func(error) bool { return false }},
				HTTP: [][2]int{{500, 599}}, Pattern: regexp.MustCompile("a|b"), Action: ActionEscalate,
			}, {Class: "busy"}},
			Facts:     func(error) (Facts, bool) { return Facts{}, false },
			MatchText: MatchNone, RetryUnknown: true, Nested: true,
			PerError: []Override{
				{"own", Schedule{Backoff: BackoffLinear, Increment: s}},
				{"network", Schedule{Backoff: BackoffCustom, Delays: []time.Duration{s, 2 * s}, InitialDelay: 9 * s}},
			},
		}, `
			policy 1
			base: 3
			jitter: proportional
			jitter_factor: 0.5
			retry_after.default: 1s
			retry_after.fail_over: true
			escalate: true
			delay_budget: 1m0s
			max_elapsed: 1m1s
			attempt_timeout: 2s
			timeout: 1m2s
			scope: "flow"
			hard_limit: 1m3s
			capture: true
			retry_on: "network"
			retry_on: "own"
			retry_unknown: true
			abort_on: "busy"
			class: "own"
			is: *errors.errorString "EOF"
			as: "github.com/retrygen/retrygen/runtime.temporary"
			as: "github.com/retrygen/retrygen/runtime.As[...]"
			as: ""
			http: 500-599
			pattern: "a|b"
			action: escalate
			class: "busy"
			facts: ""
			match_text: false
			per_error: "own"
			backoff: linear
			increment: 1s
			per_error: "network"
			backoff: custom
			delay: 1s
			delay: 2s
			nested: true`},
	} {
		want := strings.ReplaceAll(strings.TrimSpace(tt.want), "\t", "") + "\n"
		if got := tt.policy.canonical(); got != want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, want)
		}
	}
	if got, want := (&Policy{}).Digest(), "a77041a81f2830d4"; got != want {
		t.Errorf("the digest of a policy of defaults is %s, want %s", got, want)
	}
}
