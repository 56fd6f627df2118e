package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// delayRules lists the rules about the delays of a single policy.
var delayRules = []Rule{
	{
		ID: "P106", Severity: Error,
		Reads: []Field{"backoff", "base"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Backoff == retry.BackoffExponential && p.Base < 1, Error, "base",
				"`base` %v makes delays shrink: write at least 1 | write `backoff: fixed` for equal delays", p.Base)
		},
	},
	{
		ID: "P201", Severity: Error,
		Reads: []Field{"max_attempts", "backoff", "initial_delay", "delays", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			first := p.InitialDelay
			switch {
			case p.MaxAttempts == 1:
				return Finding{}, false
			case p.Backoff == retry.BackoffCustom:
				return cutDelay(p)
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
		ID: "P204", Severity: Warning,
		Reads: waitFields("max_attempts"),
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
		ID: "P205", Severity: Warning,
		Reads: fields("max_attempts", "delay_budget", "max_elapsed", "timeout"),
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
		ID: "P206", Severity: Warning,
		Reads: []Field{"max_attempts", "backoff", "delays"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Backoff == retry.BackoffCustom && p.MaxAttempts > 0 && len(p.Delays) > p.MaxAttempts-1, Warning,
				"delays", "there are %d delays for %d retries: raise `max_attempts` to %s | remove the rest", len(p.Delays),
				p.MaxAttempts-1, attempts(len(p.Delays)+1))
		},
	},
	{
		ID: "P207", Severity: Warning,
		Reads: []Field{"max_attempts", "backoff", "delays", "max_delay"},
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
		ID: "P209", Severity: Warning,
		Reads: []Field{"max_attempts", "backoff", "initial_delay", "base", "increment", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			flat := p.Backoff == retry.BackoffExponential && p.Base == 1 ||
				p.Backoff == retry.BackoffLinear && p.Increment == 0 ||
				p.Backoff != retry.BackoffFixed && p.Backoff != retry.BackoffCustom && p.InitialDelay > 0 &&
					p.InitialDelay == p.MaxDelay
			_, delay, _ := p.Schedule.Bounds(1, 0)
			f, found := finding(flat && p.MaxAttempts != 1, Warning, "backoff",
				"all delays are %s: write `backoff: fixed`", duration.Format(delay))
			f.Else = "initial_delay"
			return f, found
		},
	},
}

// cutDelay is the part of P201 about custom delays.
func cutDelay(p *retry.Policy) (Finding, bool) {
	used := p.Delays[:min(len(p.Delays), max(p.MaxAttempts-1, 0))]
	i := slices.IndexFunc(used, func(d time.Duration) bool { return d > p.MaxDelay })
	if i < 0 || p.MaxDelay <= 0 {
		return Finding{}, false
	}
	f, found := finding(true, Warning, "max_delay",
		"`max_delay` %s cuts delay %d of `delays`, which is %s: raise `max_delay` | lower the delay",
		duration.Format(p.MaxDelay), i+1, duration.Format(used[i]))
	f.Else = "delays"
	return f, found
}
