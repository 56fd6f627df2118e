package emit

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// words describes a policy, for the comment above its literal.
func words(p *retry.Policy) string {
	var b strings.Builder
	switch p.MaxAttempts {
	case retry.Unlimited:
		b.WriteString("any number of attempts")
	case 1:
		b.WriteString("one attempt, no retry")
	default:
		fmt.Fprintf(&b, "up to %d attempts", p.MaxAttempts)
	}
	switch {
	case p.MaxAttempts == 1:
	case p.Jitter == retry.JitterDecorrelated: // does not use the strategy
		b.WriteString(", waiting from " + duration.Format(p.InitialDelay) + " to three times the wait before" + capWords(p))
	default:
		b.WriteString(", waiting " + waits(p) + jitterWords(p))
	}
	for _, limit := range []struct {
		d    time.Duration
		text string
	}{
		{p.AttemptTimeout, "each attempt takes at most %s"},
		{p.Timeout, "all of it at most %s"},
		{p.DelayBudget, "the waits at most %s in total"},
		{p.MaxElapsed, "no retry later than %s after the first failure"},
	} {
		if limit.d > 0 {
			fmt.Fprintf(&b, "; "+limit.text, duration.Format(limit.d))
		}
	}
	if len(p.RetryOn) > 0 {
		b.WriteString("; only " + classList(p.RetryOn) + " errors are retried")
	}
	if p.RetryUnknown {
		b.WriteString("; unknown errors are retried, too")
	}
	if len(p.AbortOn) > 0 {
		b.WriteString("; " + classList(p.AbortOn) + " errors never")
	}
	switch p.MatchText {
	case retry.MatchStatus:
		b.WriteString("; of the text of an error, only a status counts")
	case retry.MatchNone:
		b.WriteString("; the text of an error does not count")
	}
	if p.MaxAttempts != 1 {
		b.WriteString(retryAfterWords(p.RetryAfter))
	}
	if len(p.PerError) > 0 {
		var classes []retry.Class
		for _, o := range p.PerError {
			classes = append(classes, o.Class)
		}
		b.WriteString("; " + classList(classes) + " errors have their own schedule")
	}
	if p.Nested {
		b.WriteString("; inside a retry of another call, it is retried as well")
	}
	if p.Capture {
		b.WriteString("; timeouts are captured")
	}
	if p.Escalate {
		b.WriteString("; exhausted, it is escalated")
	}
	return b.String()
}

// retryAfterWords describes the waits that errors ask for, as far as they differ
// from the defaults.
func retryAfterWords(r retry.RetryAfter) (text string) {
	most := duration.Format(r.Limit())
	switch {
	case r.Limit() == 0:
		return "; the waits that errors ask for are ignored"
	case r.FailOver:
		text = "; an error that asks to wait for more than " + most + " ends it"
	case r.Limit() != (retry.RetryAfter{}).Limit():
		text = "; an error may ask to wait for up to " + most
	}
	if r.Default > 0 {
		text += "; a rate limit that asks for no wait waits for " + duration.Format(r.Default)
	}
	return text
}

// sharedWords describes what the calls of a policy share, and its hedge.
func sharedWords(p Policy) string {
	var b strings.Builder
	for _, s := range []struct{ kind, name string }{
		{"breaker", cmp.Or(p.Breaker, p.StoredBreaker)}, {"budget", cmp.Or(p.Budget, p.StoredBudget)},
		{"concurrency limit", p.Concurrency}, {"rate", p.Rate}, {"throttle", p.Throttle},
	} {
		if s.name != "" {
			fmt.Fprintf(&b, "; shares %s %s", s.kind, s.name)
		}
	}
	switch h := p.Hedge; {
	case h == nil:
	case h.After > 0:
		fmt.Fprintf(&b, "; an attempt that takes %s is made a second time", duration.Format(h.After))
	default:
		fmt.Fprintf(&b, "; an attempt that takes longer than %.4g %% of them is made a second time", 100*h.Quantile)
	}
	return b.String()
}

// jitterWords describes the jitter of a policy.
func jitterWords(p *retry.Policy) string {
	switch p.Jitter {
	case retry.JitterProportional:
		return fmt.Sprintf(", give or take %.4g %%", 100*p.JitterFactor)
	case retry.JitterAdditive:
		return fmt.Sprintf(", and up to %.4g %% more", 100*p.JitterFactor)
	case retry.JitterFull:
		return ", each drawn from zero to that"
	case retry.JitterEqual:
		return ", each drawn from half to all of that"
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
	return strings.Join(list, ", ") + ", …" + capWords(p)
}

// capWords describes the cap on delays.
func capWords(p *retry.Policy) string {
	if p.MaxDelay <= 0 {
		return ""
	}
	return ", never more than " + duration.Format(p.MaxDelay)
}

// join joins a list with commas, and its last element with last.
func join(list []string, last string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + last + list[len(list)-1]
}

// classList lists classes by their names in the policy file.
func classList(classes []retry.Class) string {
	var list []string
	for _, c := range classes {
		list = append(list, strings.TrimPrefix(string(c), "pattern:"))
	}
	return join(list, " and ")
}

// wrap breaks text into lines of a comment.
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
