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

// settingsBases are policies under which different fields have an effect.
func settingsBases() (list []Policy) {
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

// unchanging are the fields that no Settings have, with the reason.
var unchanging = map[string]string{
	"Name": "a changed name is noticed without them",
}

// TestSettingsHaveEveryField: each field of a policy changes its Settings.
func TestSettingsHaveEveryField(t *testing.T) {
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
			if changes := changesSettings(t, field); changes == (unchanging[name] != "") {
				t.Errorf("%s changes the Settings: %v: write a line for it in settings.go, and its default in settingDefaults; "+
					"or write in unchanging why they do not have it", name, changes)
			}
		}
	}
	visit(reflect.TypeFor[Policy](), "", func(p *Policy) reflect.Value { return reflect.ValueOf(p).Elem() })
}

// changesSettings reports whether another value of a field changes the Settings of
// some policy.
func changesSettings(t *testing.T, field func(*Policy) reflect.Value) bool {
	changes := false
	for i := range settingsBases() {
		p, other := settingsBases()[i], settingsBases()[i]
		setOther(t, field(&other))
		changes = changes || p.Settings() != other.Settings()
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

// TestSettings compares the Settings of policies. A text that changes without a reason
// makes durable runs report changes of their policies.
func TestSettings(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		policy Policy
		want   string
	}{
		{"zero", Policy{}, ``},
		{"defaults", Policy{Name: "read", Scope: "flow", Schedule: Schedule{
			MaxAttempts: 3, InitialDelay: s, Base: 2, MaxDelay: 30 * s, RetryAfter: RetryAfter{Max: 300 * s},
		}}, ``},
		{"without effect", Policy{Schedule: Schedule{
			Increment: s, Delays: []time.Duration{s}, JitterFactor: 0.4, RetryAfter: RetryAfter{Max: 300 * s},
		}}, ``},
		{"decorrelated", Policy{Schedule: Schedule{Jitter: JitterDecorrelated, Backoff: BackoffFixed}}, `
			jitter: decorrelated`},
		{"off", Policy{Schedule: Schedule{
			MaxAttempts: Unlimited, InitialDelay: None, MaxDelay: None, RetryAfter: RetryAfter{Max: None, Default: s},
		}}, `
			max_attempts: unlimited
			initial_delay: 0s
			max_delay: none
			retry_after.max: none`},
		{"all", Policy{
			Schedule: Schedule{
				Base: 3, Jitter: JitterProportional, JitterFactor: 0.5, Escalate: true,
				RetryAfter: RetryAfter{Default: s, FailOver: true},
			},
			DelayBudget: 60 * s, MaxElapsed: 61 * s, AttemptTimeout: 2 * s, Timeout: 62 * s,
			Scope: "flow", HardLimit: 3600 * s, Capture: true,
			RetryOn: []Class{"own", "network", "own"}, AbortOn: []Class{"busy"},
			Classes: []ErrorClass{{
				Class: "own", Is: []error{io.EOF},
				As:   []func(error) bool{temporary, As[*Error], func(error) bool { return false }},
				HTTP: [][2]int{{500, 599}}, Pattern: regexp.MustCompile("a|b"), Action: ActionEscalate,
			}, {Class: "so: busy\n"}},
			Facts:     func(error) (Facts, bool) { return Facts{}, false },
			MatchText: MatchNone, RetryUnknown: true, Nested: true,
			PerError: []Override{
				{"own", Schedule{Backoff: BackoffLinear, Increment: s}},
				{"network", Schedule{Backoff: BackoffCustom, Delays: []time.Duration{s, 2 * s}, InitialDelay: 9 * s}},
			},
		}, `
			base: 3
			jitter: proportional
			jitter_factor: 0.5
			retry_after.default: 1s
			retry_after.fail_over: true
			escalate: true
			delay_budget: 1m
			max_elapsed: 1m1s
			attempt_timeout: 2s
			timeout: 1m2s
			scope: flow
			hard_limit: 1h
			capture: true
			retry_on: network
			retry_on: own
			retry_unknown: true
			abort_on: busy
			class: own
			class.own.is: *errors.errorString "EOF"
			class.own.as: github.com/retrygen/retrygen/runtime.temporary
			class.own.as: "github.com/retrygen/retrygen/runtime.As[...]"
			class.own.as: ""
			class.own.http: 500-599
			class.own.pattern: "a|b"
			class.own.action: escalate
			class: "so: busy\n"
			facts: ""
			match_text: false
			per_error: own
			per_error.own.backoff: linear
			per_error.own.increment: 1s
			per_error: network
			per_error.network.backoff: custom
			per_error.network.delays: 1s
			per_error.network.delays: 2s
			nested: true`},
	} {
		want := strings.TrimSuffix("policy 1"+strings.ReplaceAll(tt.want, "\t", ""), "\n") + "\n"
		got := tt.policy.Settings()
		if string(got) != want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, want)
		}
		if changes := got.Changes(got); changes != nil || !got.Known() {
			t.Errorf("%s: known: %v, changed: %q", tt.name, got.Known(), changes)
		}
	}
}

// TestSettingsTexts: what people read of a policy, and of the difference to that of no
// settings.
func TestSettingsTexts(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		policy   Policy
		attempts int
		schedule string
		changes  string
	}{
		{Policy{}, 3, "exponential 1s × 2 to 30s", ""},
		{Policy{
			Schedule:    Schedule{MaxAttempts: 5, InitialDelay: 2 * s, MaxDelay: 60 * s, Jitter: JitterFull},
			DelayBudget: 600 * s,
		}, 5, "exponential 2s × 2 to 1m, full jitter, delay_budget 10m",
			"delay_budget none → 10m; initial_delay 1s → 2s; jitter none → full; max_attempts 3 → 5; max_delay 30s → 1m"},
		{Policy{Schedule: Schedule{Backoff: BackoffFixed, MaxAttempts: Unlimited}, Timeout: 90 * s}, Unlimited,
			"fixed 1s, timeout 1m30s", "backoff exponential → fixed; max_attempts 3 → unlimited; timeout none → 1m30s"},
		{Policy{Schedule: Schedule{Backoff: BackoffLinear, Increment: s, MaxDelay: None}}, 3, "linear 1s + 1s",
			"backoff exponential → linear; increment 0s → 1s; max_delay 30s → none"},
		{Policy{Schedule: Schedule{Backoff: BackoffCustom, Delays: []time.Duration{s, 5 * s}}}, 3, "custom 1s, 5s to 30s",
			"backoff exponential → custom; delays none → 1s, 5s"},
		{Policy{Schedule: Schedule{Jitter: JitterDecorrelated}}, 3, "decorrelated 1s to 30s", "jitter none → decorrelated"},
		{Policy{PerError: []Override{{"rate_limit", Schedule{MaxAttempts: 8}}}}, 8,
			"exponential 1s × 2 to 30s, others for rate_limit",
			"per_error none → rate_limit; per_error.rate_limit.max_attempts 3 → 8"},
	} {
		got := tt.policy.Settings()
		if n := got.MaxAttempts(); n != tt.attempts {
			t.Errorf("got %d attempts, want %d of\n%s", n, tt.attempts, got)
		}
		if text := got.Schedule(); text != tt.schedule {
			t.Errorf("got %q, want %q", text, tt.schedule)
		}
		if changes := strings.Join(got.Changes((&Policy{}).Settings()), "; "); changes != tt.changes {
			t.Errorf("got %q, want %q", changes, tt.changes)
		}
	}
	for _, unknown := range []Settings{"", "a77041a81f2830d4", "policy 2\nmax_attempts: 5\n"} {
		if unknown.Known() || unknown.All() != nil || unknown.MaxAttempts() != 0 || unknown.Schedule() != "" ||
			unknown.Changes((&Policy{}).Settings()) != nil {
			t.Errorf("%q is known", unknown)
		}
	}
}
