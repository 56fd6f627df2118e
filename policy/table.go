package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// A setting is one row of the table of settings. It describes one field of a policy
// and how this package reads, resolves and prints it.
type setting struct {
	key    rules.Field       // also the key in a policy file
	older  string            // an earlier spelling of the key, or ""
	words  map[string]string // the canonical words for values of the older key that are spelled differently
	within rules.Field       // the key whose value also sets this field, or "": backoff sets base

	perError bool // an entry of per_error may set it
	file     bool // the file may set it for all policies, at the top
	own      bool // policies that extend this one do not inherit it
	kind

	// hidden reports whether the field has no effect under p. Explain omits it
	// then. Nil means never.
	hidden func(p *Policy) bool
}

// A kind describes the Go value of a setting. Its functions agree on the type
// of the value: see [field] and [fields].
type kind struct {
	// read decodes the value of an entry, which is not null. It reports a
	// problem, or returns true. Nil: the field is not read on its own.
	read func(d decoder, e *syntax.Entry) (any, bool)
	// put stores a value that read returned. Nil: settings.policy resolves it.
	put func(p *Policy, v any)
	// show formats the resolved field for Explain. Nil: Explain omits it.
	show func(p *Policy) string
}

// fields returns the kind of a setting that sets any number of fields.
func fields[T any](read func(decoder, *syntax.Entry) (T, bool), put func(*Policy, T), show func(*Policy) string) kind {
	k := kind{
		read: func(d decoder, e *syntax.Entry) (any, bool) { return read(d, e) },
		show: show,
	}
	if put != nil {
		k.put = func(p *Policy, v any) { put(p, v.(T)) }
	}
	return k
}

// field returns the kind of a setting whose value is stored in the field that at
// returns.
func field[T any](read func(decoder, *syntax.Entry) (T, bool), at func(*Policy) *T, format func(T) string) kind {
	return fields(read, func(p *Policy, v T) { *at(p) = v }, func(p *Policy) string { return format(*at(p)) })
}

// shown returns the kind of a setting that is printed, but not read on its own.
func shown[T any](at func(*Policy) *T, format func(T) string) kind {
	return kind{show: func(p *Policy) string { return format(*at(p)) }}
}

// table lists the settings of a policy, in the order of Explain. What a policy
// file may contain, how policies inherit, where problems are reported, what
// Explain prints and what Format rewrites all follow from it. A new setting is a
// row here, a field of [retry.Policy] and a property in package schema.
//
// per_error is a map of settings of this same table: see pererror.go.
var table = []setting{
	{
		key: "description", own: true,
		kind: fields(decoder.text, func(p *Policy, v string) { p.Description = v }, nil),
	},
	{key: "extends", own: true, kind: fields[string](decoder.name, nil, nil)},
	{
		key: "max_attempts", older: "attempts", perError: true,
		kind: field(decoder.attempts, func(p *Policy) *int { return &p.MaxAttempts }, attemptsText),
	},
	{
		key: "backoff", perError: true,
		kind: fields(decoder.backoff, (*Policy).setBackoff, func(p *Policy) string { return p.Backoff.String() }),
	},
	{
		key: "base", within: "backoff",
		kind:   shown(func(p *Policy) *float64 { return &p.Base }, numberText),
		hidden: func(p *Policy) bool { return p.Backoff != retry.BackoffExponential },
	},
	{
		key: "increment", within: "backoff",
		kind:   shown(func(p *Policy) *time.Duration { return &p.Increment }, duration.Format),
		hidden: func(p *Policy) bool { return p.Backoff != retry.BackoffLinear },
	},
	{
		key: "delays", within: "backoff",
		kind:   shown(func(p *Policy) *[]time.Duration { return &p.Delays }, durationsText),
		hidden: func(p *Policy) bool { return p.Backoff != retry.BackoffCustom },
	},
	{
		key: "initial_delay", perError: true,
		kind:   field(decoder.initialDelay, func(p *Policy) *time.Duration { return &p.InitialDelay }, orZero),
		hidden: func(p *Policy) bool { return p.Backoff == retry.BackoffCustom },
	},
	{
		key: "max_delay", perError: true,
		kind: field(decoder.maxDelay, func(p *Policy) *time.Duration { return &p.MaxDelay }, orNone),
	},
	{
		key: "jitter", perError: true,
		kind: fields(decoder.jitter, (*Policy).setJitter, func(p *Policy) string { return p.Jitter.String() }),
	},
	{
		key: "jitter_factor", within: "jitter", perError: true,
		kind:   field(decoder.factor, func(p *Policy) *float64 { return &p.JitterFactor }, numberText),
		hidden: func(p *Policy) bool { return !hasFactor(p.Jitter) },
	},
	{
		key: "delay_budget", older: "retry_budget",
		kind: field(decoder.delayBudget, func(p *Policy) *time.Duration { return &p.DelayBudget }, orNone),
	},
	{
		key:  "max_elapsed",
		kind: field(decoder.timeout, func(p *Policy) *time.Duration { return &p.MaxElapsed }, orNone),
	},
	{
		key:  "attempt_timeout",
		kind: field(decoder.timeout, func(p *Policy) *time.Duration { return &p.AttemptTimeout }, orNone),
	},
	{
		key:  "timeout",
		kind: field(decoder.timeout, func(p *Policy) *time.Duration { return &p.Timeout }, orNone),
	},
	{
		key: "scope", // settings.policy resolves it
		kind: fields(decoder.scope, nil,
			func(p *Policy) string {
				text := p.Scope + ", hard_limit " + orNone(p.HardLimit)
				if p.Capture {
					text += ", captures timeouts"
				}
				return text
			}),
		hidden: func(p *Policy) bool { return p.Scope == "" },
	},
	{
		key: "retry_on",
		kind: fields(decoder.classes, func(p *Policy, list []class) { p.RetryOn = namesOf(list) },
			func(p *Policy) string { return classNames(p.RetryOn, "every classified error that is not permanent") }),
	},
	{
		key: "unknown",
		kind: fields(decoder.unknown, func(p *Policy, retries bool) { p.RetryUnknown = retries },
			func(p *Policy) string { return unknownText(p.RetryUnknown) }),
		hidden: func(p *Policy) bool { return slices.Contains(p.RetryOn, retry.ClassAny) },
	},
	{
		key: "abort_on",
		kind: fields(decoder.classes, func(p *Policy, list []class) { p.AbortOn = namesOf(list) },
			func(p *Policy) string { return classNames(p.AbortOn, "none") }),
	},
	{
		key: "match_text", file: true,
		kind: field(decoder.matchText, func(p *Policy) *retry.MatchText { return &p.MatchText }, retry.MatchText.String),
	},
	{
		key: "retry_after", perError: true,
		kind: field(decoder.retryAfter, func(p *Policy) *retry.RetryAfter { return &p.RetryAfter }, retryAfterText),
	},
	{key: "per_error"},
	{
		key:  "breaker",
		kind: field(decoder.breaker, func(p *Policy) *string { return &p.Breaker }, nameOrNone),
	},
	{
		key:  "budget",
		kind: field(decoder.budget, func(p *Policy) *string { return &p.Budget }, nameOrNone),
	},
	{
		key:    "concurrency",
		kind:   field(decoder.limiterName, func(p *Policy) *string { return &p.Concurrency }, strings.Clone),
		hidden: func(p *Policy) bool { return p.Concurrency == "" },
	},
	{
		key:    "rate",
		kind:   field(decoder.rateName, func(p *Policy) *string { return &p.Rate }, strings.Clone),
		hidden: func(p *Policy) bool { return p.Rate == "" },
	},
	{
		key:    "throttle",
		kind:   field(decoder.throttleName, func(p *Policy) *string { return &p.Throttle }, strings.Clone),
		hidden: func(p *Policy) bool { return p.Throttle == "" },
	},
	{
		key:    "hedge",
		kind:   field(decoder.hedge, func(p *Policy) **hedge.Policy { return &p.Hedge }, hedgeText),
		hidden: func(p *Policy) bool { return p.Hedge == nil },
	},
	{
		key:    "nested",
		kind:   field(decoder.boolean, func(p *Policy) *bool { return &p.Nested }, strconv.FormatBool),
		hidden: func(p *Policy) bool { return !p.Nested },
	},
	{
		key: "reload", file: true,
		kind:   field(decoder.boolean, func(p *Policy) *bool { return &p.Reload }, strconv.FormatBool),
		hidden: func(p *Policy) bool { return !p.Reload },
	},
	{
		key: "durable",
		kind: fields(decoder.durable, func(p *Policy, v *rules.Durable) { p.Durable = v },
			func(p *Policy) string { return strconv.FormatBool(p.Durable != nil) }),
		hidden: notDurable,
	},
	{
		key: "record", within: "durable",
		kind:   shown(func(p *Policy) *genapi.Recording { return &p.Durable.Record }, genapi.Recording.String),
		hidden: notDurable,
	},
	{
		key: "on_lost", within: "durable",
		kind:   shown(func(p *Policy) *genapi.OnLost { return &p.Durable.OnLost }, genapi.OnLost.String),
		hidden: notDurable,
	},
	{
		key: "lost_max", within: "durable",
		kind:   shown(func(p *Policy) *int { return &p.Durable.LostMax }, strconv.Itoa),
		hidden: func(p *Policy) bool { return notDurable(p) || !p.Durable.Repeats() },
	},
	{
		key: "result", within: "durable",
		kind:   shown(func(p *Policy) *string { return &p.Durable.Result }, strings.Clone),
		hidden: notDurable,
	},
	{
		key: "park_after", within: "durable",
		kind:   shown(func(p *Policy) *time.Duration { return &p.Durable.ParkAfter }, orNone),
		hidden: notDurable,
	},
	{
		key: "resume_spread", within: "durable",
		kind:   shown(func(p *Policy) *time.Duration { return &p.Durable.ResumeSpread }, spreadText),
		hidden: notDurable,
	},
	{
		key: "on_changed",
		kind: field(decoder.changed, func(p *Policy) *genapi.OnChanged { return &p.OnChanged },
			genapi.OnChanged.String),
		hidden: notDurable,
	},
	{
		key: "on_exhausted", older: "on_failure", words: map[string]string{"stop": "fail"}, perError: true,
		kind: fields(decoder.exhausted, (*Policy).setExhausted,
			func(p *Policy) string { return p.OnExhausted.String() }),
		hidden: func(p *Policy) bool { return p.OnExhausted == genapi.ExhaustedFail },
	},
}

// notDurable reports whether the calls of p are not steps of a durable run.
func notDurable(p *Policy) bool { return p.Durable == nil }

// isKey reports whether the setting is a key in a policy file.
func (s *setting) isKey() bool { return s.read != nil || s.key == "per_error" }

// keysOf returns the keys, including older ones, of the settings for which want
// returns true.
func keysOf(want func(*setting) bool) (keys []string) {
	for i := range table {
		if s := &table[i]; s.isKey() && want(s) {
			keys = append(keys, string(s.key))
			if s.older != "" {
				keys = append(keys, s.older)
			}
		}
	}
	return keys
}

// The keys of settings that each kind of map may have.
var (
	policyKeys   = keysOf(func(*setting) bool { return true })
	fileKeys     = keysOf(func(s *setting) bool { return s.file }) // at the top of the file
	perErrorKeys = keysOf(func(s *setting) bool { return s.perError })
)

func attemptsText(n int) string {
	if n == retry.Unlimited {
		return "unlimited"
	}
	return strconv.Itoa(n)
}

func unknownText(retries bool) string {
	if retries {
		return "retry"
	}
	return "fail"
}

func numberText(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func orNone(d time.Duration) string {
	if d <= 0 {
		return "none"
	}
	return duration.Format(d)
}

func orZero(d time.Duration) string { return duration.Format(max(d, 0)) }

func durationsText(list []time.Duration) string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = duration.Format(d)
	}
	return strings.Join(texts, ", ")
}

func nameOrNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

func namesOf(list []class) (names []retry.Class) {
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}
