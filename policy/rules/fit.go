package rules

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/grpcstatus"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// neverBegin is P404. Whether it is certain depends on the waits that leave no time:
// the least delays, those with the most jitter, or the wait of rate limits that ask
// for none. P409 reports a default of retry_after that alone is too long.
func neverBegin(p *retry.Policy) (Finding, bool) {
	if p.Timeout <= 0 || p.MaxAttempts == retry.Unlimited || waitsForever(p) {
		return Finding{}, false
	}
	n, severity, when, shorten := retriesWithin(p, p.Timeout, 0, leastDelay), Error, "", "shorten `the delays`"
	all := p.MaxAttempts - 1
	if n == all {
		n, severity, when = retriesWithin(p, p.Timeout, 0, greatestDelay), Warning, "with the longest waits of its jitter, "
	}
	if n == all && p.RetryAfter.Default < p.Timeout {
		n, when, shorten = retriesWithin(p, p.Timeout, 0, greatestWait), unasked(p), "lower that default"
		if _, only := p.RateLimits(); !only {
			severity = Info
		}
	}
	if n > 0 && p.MaxAttempts >= manyAttempts {
		severity = Info
	}
	return finding(n < all, severity, "timeout",
		"%sonly %d of %d attempts can begin within `timeout` %s: raise `timeout` | lower `max_attempts` | %s",
		when, n+1, p.MaxAttempts, duration.Format(p.Timeout), shorten)
}

// doNotFit is P405 for a policy that retries timeouts.
func doNotFit(p *retry.Policy) (Finding, bool) {
	if p.Timeout <= 0 || p.AttemptTimeout <= 0 || p.AttemptTimeout > p.Timeout || p.MaxAttempts < 2 ||
		p.MaxAttempts == retry.Unlimited || retriesWithin(p, p.Timeout, 0, leastWait) < p.MaxAttempts-1 {
		return Finding{}, false
	}
	severity := Warning
	if p.MaxAttempts >= manyAttempts {
		severity = Info
	}
	n := retriesWithin(p, p.Timeout, p.AttemptTimeout, leastWait)
	waits := ""
	if p.AttemptTimeout <= p.Timeout/time.Duration(p.MaxAttempts) {
		waits = ", with the waits,"
	}
	return finding(n < p.MaxAttempts-1, severity, "timeout",
		"`attempt_timeout` %s × %d attempts%s does not fit in `timeout` %s, so only %d can begin if each times out: raise "+
			"`timeout` | lower `attempt_timeout` | lower `max_attempts`", duration.Format(p.AttemptTimeout), p.MaxAttempts,
		waits, duration.Format(p.Timeout), n+1)
}

// noTimeToRetry is P406 for a policy whose retry_on names timeouts by a class.
func noTimeToRetry(p *retry.Policy, class retry.Class) (Finding, bool) {
	unlimited := p.AttemptTimeout <= 0 || p.AttemptTimeout == p.Timeout
	return finding(p.Timeout > 0 && unlimited && p.MaxAttempts != 1, Warning, "retry_on",
		"`retry_on` has %s, but only `timeout` %s of the call ends an attempt: write an `attempt_timeout` below it",
		className(class), duration.Format(p.Timeout))
}

// timeoutCodes are the codes of an attempt that takes too long: DEADLINE_EXCEEDED,
// and 504, its HTTP status.
var timeoutCodes = (&ErrorClass{GRPC: []uint32{grpcstatus.DeadlineExceeded},
	ErrorClass: retry.ErrorClass{HTTP: [][2]int{{504, 504}}}}).codes()

// hasTimeouts reports whether attempts that take too long belong to a class that
// the file defines.
func (c *ErrorClass) hasTimeouts() bool { return c.codes()[grpcstatus.DeadlineExceeded] }

// timeoutsByCode returns the first class of retry_on by which a policy retries
// timeouts, or nil. The class is one that the file defines, and match accepts it.
func (f *File) timeoutsByCode(p Policy, match func(*ErrorClass) bool) *ErrorClass {
	aborted := slices.ContainsFunc(p.AbortOn, func(a retry.Class) bool {
		c := f.class(a)
		return covers(a, retry.ClassTimeout) || c != nil && c.hasTimeouts()
	})
	if aborted {
		return nil
	}
	for _, class := range p.RetryOn {
		c := f.class(class)
		if c == nil || !c.hasTimeouts() || !match(c) {
			continue
		}
		if by := f.deciders()[grpcstatus.DeadlineExceeded]; !by.class.permanent() || by.mayRetry {
			return c
		}
	}
	return nil
}

// doNotFitByCode is the part of P405 about classes that the file defines.
func doNotFitByCode(f *File, report report) {
	for _, p := range f.Policies {
		if retried(p.Policy, retry.ClassTimeout) {
			continue // the check of single policies reports it
		}
		c := f.timeoutsByCode(p, func(*ErrorClass) bool { return true })
		own := func(o retry.Override) bool {
			class := f.class(o.Class)
			return covers(o.Class, retry.ClassTimeout) || class != nil && class.hasTimeouts()
		}
		if c == nil || slices.ContainsFunc(p.PerError, own) {
			continue
		}
		if finding, found := doNotFit(p.Policy); found {
			report(finding.Severity, Place{"policies", p.Name, finding.Field}, "%s", finding.message)
		}
	}
}

// noTimeToRetryByCode is the part of P406 about classes that the file defines. A
// server may send their codes, so it informs only.
func noTimeToRetryByCode(f *File, report report) {
	for _, p := range f.Policies {
		c := f.timeoutsByCode(p, func(c *ErrorClass) bool { return c.within(timeoutCodes) })
		if c == nil || slices.Contains(p.RetryOn, retry.ClassTimeout) {
			continue
		}
		if finding, found := noTimeToRetry(p.Policy, c.Class); found {
			report(Info, Place{"policies", p.Name, finding.Field}, "%s", finding.message)
		}
	}
}
