package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// words describes a policy in sentences, for the comment above its variable.
func words(variable string, p *retry.Policy) string {
	text := variable + attemptsWords(p)
	for _, limit := range []struct {
		d    time.Duration
		text string
	}{
		{p.AttemptTimeout, "Each attempt may take at most %s."},
		{p.Timeout, "The whole call may take at most %s."},
		{p.DelayBudget, "All waits together may take at most %s."},
		{p.MaxElapsed, "No retry starts later than %s after the first failure."},
	} {
		if limit.d > 0 {
			text += fmt.Sprintf(" "+limit.text, duration.Format(limit.d))
		}
	}
	text += classWords(p)
	switch p.MatchText {
	case retry.MatchStatus:
		text += " Error texts are searched only for an HTTP status."
	case retry.MatchNone:
		text += " Error texts are not searched."
	}
	if p.MaxAttempts != 1 {
		text += retryAfterWords(p.RetryAfter)
	}
	if len(p.PerError) > 0 {
		var classes []retry.Class
		for _, o := range p.PerError {
			classes = append(classes, o.Class)
		}
		text += " Errors of class " + classList(classes, " or ") + " have their own schedule."
	}
	if p.Nested {
		text += " The call is retried even inside a retry of another call."
	}
	if p.Capture {
		text += " If a time limit ends an attempt, the state of its work is captured."
	}
	if p.Escalate {
		text += " If all attempts fail, the error is escalated."
	}
	return text
}

// attemptsWords describes the attempts of a policy and the waits between them.
func attemptsWords(p *retry.Policy) string {
	text := fmt.Sprintf(" makes up to %d attempts", p.MaxAttempts)
	switch p.MaxAttempts {
	case 1:
		return " makes one attempt and never retries."
	case retry.Unlimited:
		text = " makes any number of attempts"
	}
	if p.Jitter == retry.JitterDecorrelated { // this jitter does not use the strategy
		return text + ". Each wait is drawn from " + duration.Format(p.InitialDelay) +
			" to three times the previous wait" + capWords(p, ", but at most %s") + "."
	}
	return text + " and waits " + waits(p) + " between them." + jitterWords(p)
}

// classWords describes which errors are retried, and which never are.
func classWords(p *retry.Policy) (text string) {
	switch {
	case len(p.RetryOn) > 0 && p.RetryUnknown && !slices.Contains(p.RetryOn, retry.ClassUnknown):
		text = " Only " + classList(append(slices.Clone(p.RetryOn), retry.ClassUnknown), " and ") + " errors are retried."
	case len(p.RetryOn) > 0:
		text = " Only " + classList(p.RetryOn, " and ") + " errors are retried."
	case p.RetryUnknown:
		text = " Unknown errors are retried as well."
	}
	if len(p.AbortOn) > 0 {
		text += " Errors of class " + classList(p.AbortOn, " or ") + " are never retried."
	}
	return text
}

// retryAfterWords describes the waits that errors ask for, as far as they differ
// from the defaults.
func retryAfterWords(r retry.RetryAfter) (text string) {
	most := duration.Format(r.Limit())
	switch {
	case r.Limit() == 0:
		return " The waits that errors ask for are ignored."
	case r.FailOver:
		text = " An error that asks for a wait of more than " + most + " ends the call."
	case r.Limit() != (retry.RetryAfter{}).Limit():
		text = " An error may ask for a wait of up to " + most + "."
	}
	if r.Default > 0 {
		text += " After a rate limit that asks for no wait, the call waits at least " + duration.Format(r.Default) + "."
	}
	return text
}

// sharedWords describes the state that the calls of a policy share, and its hedge.
func sharedWords(p Policy) (text string) {
	var list []string
	for _, s := range []struct{ kind, name string }{
		{"breaker", cmp.Or(p.Breaker, p.StoredBreaker)}, {"budget", cmp.Or(p.Budget, p.StoredBudget)},
		{"concurrency limit", p.Concurrency}, {"rate", p.Rate}, {"throttle", p.Throttle},
	} {
		if s.name != "" {
			list = append(list, s.kind+" "+s.name)
		}
	}
	if len(list) > 0 {
		text = " Its calls share " + join(list, " and ") + "."
	}
	switch h := p.Hedge; {
	case h == nil:
	case h.After > 0:
		text += fmt.Sprintf(" If an attempt takes longer than %s, a second request is made.", duration.Format(h.After))
	default:
		text += fmt.Sprintf(" If an attempt takes longer than %.4g %% of the recent ones, a second request is made.",
			100*h.Quantile)
	}
	return text
}

// jitterWords describes the jitter of a policy.
func jitterWords(p *retry.Policy) string {
	switch p.Jitter {
	case retry.JitterProportional:
		return fmt.Sprintf(" Jitter makes each wait up to %.4g %% shorter or longer.", 100*p.JitterFactor)
	case retry.JitterAdditive:
		return fmt.Sprintf(" Jitter makes each wait up to %.4g %% longer.", 100*p.JitterFactor)
	case retry.JitterFull:
		return " Full jitter draws each wait from zero to that value."
	case retry.JitterEqual:
		return " Equal jitter draws each wait from half of that value to all of it."
	}
	return ""
}

// waits lists the first delays, without jitter.
func waits(p *retry.Policy) string {
	const shown = 4
	n := p.MaxAttempts - 1
	if n < 0 || n > shown {
		n = shown
	}
	var list []string
	for k := range n {
		_, base, _ := p.Schedule.Bounds(k+1, 0)
		list = append(list, duration.Format(base))
	}
	if p.MaxAttempts-1 == n {
		return join(list, " and ")
	}
	return strings.Join(list, ", ") + ", …" + capWords(p, " (at most %s)")
}

// capWords describes the maximum delay. Format has a verb for it.
func capWords(p *retry.Policy, format string) string {
	if p.MaxDelay <= 0 {
		return ""
	}
	return fmt.Sprintf(format, duration.Format(p.MaxDelay))
}

// join joins the elements of a list with commas, and puts last before the last element.
func join(list []string, last string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + last + list[len(list)-1]
}

// classList lists classes by their names in the policy file, with last before the last element.
func classList(classes []retry.Class, last string) string {
	var list []string
	for _, c := range classes {
		list = append(list, strings.TrimPrefix(string(c), "pattern:"))
	}
	return join(list, last)
}

// wrap breaks text into the lines of a comment.
func wrap(text string) string {
	const width = 77 // without "// "
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
