package rules

import (
	"fmt"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// delayRules lists the rules about the delays of a single policy.
var delayRules = []Rule{
	{
		ID: "P106", Title: "delays that shrink", Severity: Error,
		Reports: "The `base` of exponential backoff is below 1, so each delay is shorter than the one before.",
		Why: "Retries come faster the longer a service is down. The load is greatest when the service is least " +
			"able to take it.",
		Wrong: "policies:\n  read: {backoff: {exponential: {base: 0.5}}}",
		Right: "policies:\n  read: {backoff: {exponential: {base: 2}}}",
		NotReported: []string{
			"`base: 1`, which makes equal delays: P209 reports it.",
			"Custom delays that shrink: each of them was written on purpose.",
		},
		Fix:     "Write a `base` of at least 1, or `backoff: fixed` for equal delays.",
		Related: []string{"P209", "P204"},
		Reads:   []Field{"backoff", "base"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Backoff == retry.BackoffExponential && p.Base < 1, Error, "base",
				"`base` %v makes delays shrink: write at least 1 | write `backoff: fixed` for equal delays", p.Base)
		},
	},
	{
		ID: "P201", Title: "max_delay below the first delay", Severity: Error,
		Reports: "`max_delay` is shorter than `initial_delay`, so every delay is `max_delay` and the backoff " +
			"strategy has no effect.",
		Why: "The policy retries at a constant, shorter interval than its author reads in the file. A " +
			"recovering service gets no growing pause.",
		Wrong: "policies:\n  read: {initial_delay: 10s, max_delay: 5s}",
		Right: "policies:\n  read: {initial_delay: 5s, max_delay: 10s}",
		NotReported: []string{
			"`max_attempts: 1`, which has no delay.",
			"`max_delay` equal to `initial_delay`: P209 reports it.",
			"Custom delays: `max_delay` caps each of them, and may do so on purpose.",
		},
		Fix:     "Raise `max_delay` or lower `initial_delay`.",
		Related: []string{"P205", "P209"},
		Reads:   []Field{"max_attempts", "backoff", "initial_delay", "delays", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			first := p.InitialDelay
			if p.Backoff == retry.BackoffCustom || p.MaxAttempts == 1 {
				return Finding{}, false
			}
			f, found := finding(p.MaxDelay > 0 && p.MaxDelay < first, Error, "max_delay",
				"`max_delay` %s is shorter than the first delay %s, so every delay is %s: raise `max_delay` | "+
					"lower `initial_delay`",
				duration.Format(p.MaxDelay), duration.Format(first), duration.Format(p.MaxDelay))
			f.Else = "initial_delay"
			return f, found
		},
	},
	{
		ID: "P204", Title: "retries without a pause", Severity: Warning,
		Reports: "No delay is as long as 1ms, and there are more than three attempts; with `max_attempts: " +
			"unlimited` it is an error.",
		Why: "A service that is down receives all attempts of a call within a millisecond. They rarely " +
			"succeed, and they multiply the load when it hurts most.",
		Wrong: "policies:\n  read: {max_attempts: 5, backoff: fixed, initial_delay: 10us}",
		Right: "policies:\n  read: {max_attempts: 5, backoff: fixed, initial_delay: 10ms}",
		NotReported: []string{
			"Up to three attempts.",
			"A schedule with at least one delay that, with the most jitter, is 1ms or longer.",
		},
		Fix:     "Raise `initial_delay` (or `delays`) to a time in which the service can recover, such as 100ms.",
		Related: []string{"P106", "P210", "RL103"},
		Reads:   fields("max_attempts"),
		check: func(p *retry.Policy) (Finding, bool) {
			severity := Warning
			if p.MaxAttempts == retry.Unlimited {
				severity = Error
			}
			greatest := longest(p)
			var field Field = "initial_delay"
			if p.Backoff == retry.BackoffCustom {
				field = "delays"
			}
			return finding(p.MaxAttempts > 3 && greatest < time.Millisecond, severity, field,
				"no delay is longer than %s, so retries follow without a pause: raise `%s`", duration.Format(greatest), field)
		},
	},
	{
		ID: "P205", Title: "waits that grow beyond an hour", Severity: Warning,
		Reports: "`max_delay` is `none`, and a wait that the limits of the policy allow is longer than an hour.",
		Why: "Exponential delays double: after 15 retries from 200ms the next wait is almost two hours. The " +
			"service has long recovered while the caller still waits.",
		Wrong: "policies:\n  read: {max_attempts: 20, max_delay: none}",
		Right: "policies:\n  read: {max_attempts: 20, max_delay: 5m}",
		NotReported: []string{
			"A policy with any `max_delay`; the default is 30s.",
			"Waits that `delay_budget`, `max_elapsed` or `timeout` does not allow: the call ends without them.",
			"Waits that a custom list lacks: P207 reports them.",
		},
		Fix:     "Write a `max_delay`, such as 5m.",
		Related: []string{"P201", "P207", "P302"},
		Reads:   fields("max_attempts", "delay_budget", "max_elapsed", "timeout"),
		check: func(p *retry.Policy) (Finding, bool) {
			if p.MaxDelay >= 0 {
				return Finding{}, false
			}
			number, wait, last := longestWait(p)
			which := "the last wait"
			if !last {
				which = fmt.Sprintf("wait %d", number)
			}
			return finding(wait > time.Hour, Warning, "max_delay",
				"without a cap %s is %s: write a `max_delay`", which, long(wait))
		},
	},
	{
		ID: "P206", Title: "more custom delays than retries", Severity: Warning,
		Reports: "`delays` lists more delays than the policy makes retries, so the last ones are never used.",
		Why: "The author expects a retry after the last delay, and it never happens: the call fails earlier " +
			"than the file suggests.",
		Wrong: "policies:\n  read: {max_attempts: 3, backoff: {custom: {delays: [1s, 2s, 5s]}}}",
		Right: "policies:\n  read: {max_attempts: 4, backoff: {custom: {delays: [1s, 2s, 5s]}}}",
		NotReported: []string{
			"Strategies other than `custom`.",
			"`max_attempts: unlimited`.",
		},
		Fix:     "Raise `max_attempts` to the number of delays plus 1, or remove the extra delays.",
		Related: []string{"P207"},
		Reads:   []Field{"max_attempts", "backoff", "delays"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Backoff == retry.BackoffCustom && p.MaxAttempts > 0 && len(p.Delays) > p.MaxAttempts-1, Warning,
				"delays", "there are %d delays for %d retries: raise `max_attempts` to %s | remove the rest", len(p.Delays),
				p.MaxAttempts-1, attempts(len(p.Delays)+1))
		},
	},
	{
		ID: "P207", Title: "fewer custom delays than retries", Severity: Warning,
		Reports: "`delays` lists fewer delays than the policy makes retries, so the later retries wait for " +
			"`max_delay`; an error if that is `none`.",
		Why: "After a list such as 1s, 2s the next wait is 30s by default, a value that appears nowhere in the " +
			"list. Without a cap it is 292 years, the longest that a duration can be.",
		Wrong: "policies:\n  read: {max_attempts: 5, backoff: {custom: {delays: [1s, 2s]}}}",
		Right: "policies:\n  read: {max_attempts: 3, backoff: {custom: {delays: [1s, 2s]}}}",
		NotReported: []string{
			"An empty list with a `max_delay`: P108 reports it.",
			"`max_attempts: unlimited` with a `max_delay`, where a list can never be long enough.",
		},
		Fix:     "List a delay for every retry, lower `max_attempts`, or write a `max_delay`.",
		Related: []string{"P108", "P205", "P206"},
		Reads:   []Field{"max_attempts", "backoff", "delays", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			n := len(p.Delays)
			if waitsForever(p) {
				return finding(true, Error, "delays",
					"there is no delay for retry %d, and without `max_delay` it waits for 292 years: list a delay for each retry | "+
						"write a `max_delay`", n+1)
			}
			return finding(p.Backoff == retry.BackoffCustom && n > 0 && p.MaxAttempts != retry.Unlimited && n < p.MaxAttempts-1,
				Warning, "delays",
				"there are %d delays for %d retries, so retry %d and later wait for `max_delay`: list a delay for each", n,
				p.MaxAttempts-1, n+1)
		},
	},
	{
		ID: "P209", Title: "backoff strategy with equal delays", Severity: Warning,
		Reports: "A growing strategy makes equal delays: `base: 1`, `increment: 0`, or an `initial_delay` that " +
			"equals `max_delay`.",
		Why: "The file promises backoff and the policy does not back off. Readers choose timeouts and alerts " +
			"by the strategy that they see.",
		Wrong: "policies:\n  read: {backoff: {exponential: {base: 1}}}",
		Right: "policies:\n  read: {backoff: fixed}",
		NotReported: []string{
			"`backoff: fixed` and custom delays.",
			"`max_attempts: 1`, which has no delay.",
		},
		Fix:     "Write `backoff: fixed`, or settings that let the delays grow.",
		Related: []string{"P106", "P201"},
		Reads:   []Field{"max_attempts", "backoff", "initial_delay", "base", "increment", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			flat := p.Backoff == retry.BackoffExponential && p.Base == 1 ||
				p.Backoff == retry.BackoffLinear && p.Increment == 0 ||
				p.Backoff != retry.BackoffFixed && p.Backoff != retry.BackoffCustom && p.InitialDelay > 0 &&
					p.InitialDelay == p.MaxDelay
			_, delay, _ := p.Bounds(1, 0)
			f, found := finding(flat && p.MaxAttempts != 1, Warning, "backoff",
				"all delays are %s: write `backoff: fixed`", duration.Format(delay))
			f.Else = "initial_delay"
			return f, found
		},
	},
}
