package retry

import (
	"context"
	"regexp"
	"slices"
)

// Retries reports whether p retries err, provided that no limit of the call
// forbids it. It returns false for nil.
//
// The classes of err decide. These types in the tree of err belong to built-in
// classes:
//
//   - [ClassRateLimit]: errors of [After], and the status 429;
//   - [ClassServerError]: the statuses 500 to 599 except 501 and 505;
//   - [ClassTimeout]: errors whose method Timeout() bool returns true,
//     context.DeadlineExceeded, and the gRPC code DEADLINE_EXCEEDED;
//   - [ClassNetwork]: other errors of package net, errors of a connection of the
//     operating system and of a stream or connection of HTTP/2,
//     io.ErrUnexpectedEOF, io.EOF inside of a net.Error, and the gRPC code
//     UNAVAILABLE;
//   - [ClassCanceled]: context.Canceled, and the gRPC code CANCELLED;
//   - [ClassBreakerOpen]: [ErrBreakerOpen].
//
// The status is the result of a method StatusCode() int, or the HTTP status that
// corresponds to a gRPC code.
//
// If the tree has none of these types, no status and no system error, words in the
// text of err count:
//
//   - [ClassNetwork]: network, connection, refused, unreachable;
//   - [ClassTimeout]: timeout, timed out;
//   - [ClassServerError]: server error, and 500, 502, 503 or 504 as a status;
//   - [ClassRateLimit]: rate limit, too many requests, and 429 as a status.
//
// A number in the text is a status after a label (HTTP 503, status: 503, code 503,
// error 503) or before its reason phrase (503 Service Unavailable). The text is
// not read if IgnoreText is set, or if a test Is or As in Classes holds. Texts of
// this package are never read, and others only up to 16 KiB.
//
// An error belongs to a class in Classes if one of the tests of that class holds.
//
// These errors are never retried:
//
//   - [Permanent] errors;
//   - errors whose [Action] is [ActionFail] or [ActionEscalate];
//   - errors of a class in AbortOn;
//   - errors with the status 400, 401, 403, 404 or 422, unless their Action is
//     [ActionRetry];
//   - refusals by a breaker of the callee, unless RetryOn contains
//     [ClassBreakerOpen].
//
// The statuses 401 and 403 are marked as escalated unless they have an Action.
// All other errors are retried unless RetryOn restricts them.
func (p *Policy) Retries(err error) bool {
	if err == nil {
		return false
	}
	f := p.inspect(err)
	return p.judge(err, &f) == retriedError
}

// A verdict is the decision of a policy about one error.
type verdict uint8

const (
	retriedError verdict = iota
	permanentError
	escalatedError
)

// sample returns the sample of a failure. A failure that is due to the request or
// its sender is neutral, unless the attempt's own limit has passed. So is a
// refusal by another breaker inside the call, which counts its own samples.
func (b *BreakerPolicy) sample(p *Policy, failure *Failure) Sample {
	err, f := failure.Err, &failure.facts
	switch {
	case err == nil || failure.Refused || failure.ended:
		return SampleNeutral
	case f.refused && !slices.Contains(b.Count, ClassBreakerOpen):
		return SampleNeutral
	}
	counts := p.belongsToAny(err, f, b.Count)
	if len(b.Count) == 0 {
		// A failure of the service counts even if the policy does not retry it.
		counts = (f.expired || !causedByRequest(f.status)) && !p.belongs(err, f, ClassCanceled) &&
			(failure.verdict == retriedError ||
				!f.permanent && p.action(err, f) <= ActionRetry && p.belongs(err, f, ClassTransient))
	}
	if counts {
		return SampleFailure
	}
	return SampleNeutral
}

// judge returns the verdict of the policy about err.
func (p *Policy) judge(err error, f *facts) verdict {
	if f.permanent {
		return permanentError
	}
	if f.refused && !p.retriesOpenBreaker() {
		return permanentError // refused by a breaker of the callee
	}
	action := ActionDefault
	if len(p.Classes) > 0 {
		action = p.action(err, f)
	}
	switch {
	case action == ActionEscalate, action == ActionDefault && (f.status == 401 || f.status == 403):
		return escalatedError
	case action == ActionFail, action != ActionRetry && (f.fails || neverRetried(f.status)):
	case p.belongsToAny(err, f, p.AbortOn):
	case len(p.RetryOn) == 0 || p.belongsToAny(err, f, p.RetryOn):
		return retriedError
	}
	return permanentError
}

// action returns the action of the first class that err belongs to. It does not
// test the classes after the last one with an action.
func (p *Policy) action(err error, f *facts) Action {
	last := len(p.Classes) - 1
	for last >= 0 && p.Classes[last].Action == ActionDefault {
		last--
	}
	for i := range p.Classes[:last+1] {
		if c := &p.Classes[i]; c.has(err, f) {
			return c.Action
		}
	}
	return ActionDefault
}

// override returns the first entry of PerError for err, or nil.
func (p *Policy) override(err error, f *facts) *Override {
	for i := range p.PerError {
		if o := &p.PerError[i]; p.belongs(err, f, o.Class) {
			return o
		}
	}
	return nil
}

// class returns the class to report for err: the first class of the policy to
// which it belongs, or a built-in class, or "".
func (p *Policy) class(err error, f *facts) Class {
	for i := range p.Classes {
		if c := &p.Classes[i]; c.has(err, f) {
			return c.Class
		}
	}
	for _, c := range transient {
		if p.builtin(err, f, c) {
			return c
		}
	}
	for _, c := range [...]Class{ClassBreakerOpen, ClassCanceled} {
		if p.belongs(err, f, c) {
			return c
		}
	}
	return ""
}

// neverRetried reports whether a status means that the same request would fail
// again.
func neverRetried(status int) bool {
	switch status {
	case 400, 401, 403, 404, 422:
		return true
	}
	return false
}

// belongsToAny reports whether an error belongs to one of classes.
func (p *Policy) belongsToAny(err error, f *facts, classes []Class) bool {
	return slices.ContainsFunc(classes, func(c Class) bool { return p.belongs(err, f, c) })
}

// belongs reports whether an error belongs to a class. f are the facts about err.
func (p *Policy) belongs(err error, f *facts, class Class) bool {
	switch class {
	case ClassAny:
		return true
	case ClassCanceled:
		return !f.expired && (f.canceled || f.is(err, context.Canceled))
	case ClassTransient:
		return slices.ContainsFunc(transient[:], func(c Class) bool { return p.builtin(err, f, c) })
	case ClassBreakerOpen:
		return f.refused
	case ClassNetwork, ClassTimeout, ClassServerError, ClassRateLimit:
		return p.builtin(err, f, class)
	}
	return slices.ContainsFunc(p.Classes, func(c ErrorClass) bool { return c.Class == class && c.has(err, f) })
}

// has reports whether one of the tests of the class holds.
func (c *ErrorClass) has(err error, f *facts) bool {
	return c.hasType(err, f) ||
		f.status != 0 && slices.ContainsFunc(c.HTTP, func(r [2]int) bool { return r[0] <= f.status && f.status <= r[1] }) ||
		c.Pattern != nil && f.matches(c.Pattern)
}

// hasType reports whether one of the tests of types holds.
func (c *ErrorClass) hasType(err error, f *facts) bool {
	return slices.ContainsFunc(c.Is, func(target error) bool { return f.is(err, target) }) ||
		slices.ContainsFunc(c.As, func(test func(error) bool) bool { return f.as(err, test) })
}

var transient = [...]Class{ClassNetwork, ClassTimeout, ClassServerError, ClassRateLimit}

// builtin reports whether the error belongs to class, one of the four classes
// that [ClassTransient] contains.
func (p *Policy) builtin(err error, f *facts, class Class) bool {
	if !f.typed && !f.read && !p.IgnoreText {
		f.read = true
		if !slices.ContainsFunc(p.Classes, func(c ErrorClass) bool { return c.hasType(err, f) }) {
			if text, ok := f.readableText(); ok {
				f.readText(text)
			}
		}
	}
	switch class {
	case ClassNetwork:
		return f.network
	case ClassTimeout:
		return f.timeout
	case ClassServerError:
		return f.serverError || f.status >= 500 && f.status <= 599 && !causedByRequest(f.status)
	default: // ClassRateLimit
		return f.rateLimit || f.status == 429
	}
}

// matches reports whether a pattern matches the text.
func (f *facts) matches(pattern *regexp.Regexp) bool {
	text, ok := f.readableText()
	return ok && pattern.MatchString(text[:min(len(text), maxText)])
}

// causedByRequest reports whether a status is due to the request or its sender
// rather than to the service.
func causedByRequest(status int) bool {
	switch status {
	case 408, 425, 429: // too slow, too early, too often
		return false
	case 501, 505:
		return true
	}
	return 400 <= status && status <= 499
}
