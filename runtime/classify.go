package retry

import (
	"context"
	"regexp"
	"slices"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// Retries reports whether p retries err, provided that no limit ends the call. It returns
// false for nil.
//
// The result depends on the classes of err. Errors of the following types in the tree of
// err belong to built-in classes:
//
//   - [ClassRateLimit]: errors from [After], status 429, and throttling codes;
//   - [ClassServerError]: statuses 500 to 599 except 501 and 505;
//   - [ClassTimeout]: errors whose method Timeout() bool returns true,
//     context.DeadlineExceeded, the gRPC code DEADLINE_EXCEEDED, and an [*Error] of a
//     call that was ended by a time limit (it also belongs to the classes of its last
//     error);
//   - [ClassNetwork]: connection errors from the operating system, HTTP/2 stream and
//     connection errors, io.ErrUnexpectedEOF, io.EOF inside a net.Error, other
//     temporary errors from package net, and the gRPC code UNAVAILABLE;
//   - [ClassCanceled]: context.Canceled, and the gRPC code CANCELLED;
//   - [ClassBreakerOpen], [ClassLimited], [ClassRateLimited], [ClassThrottled]:
//     [ErrBreakerOpen], [ErrLimited], [ErrRateLimited], [ErrThrottled].
//
// Retries also calls the following methods of an error. Each of them has the same meaning
// in every known client library that defines it:
//
//   - StatusCode() int, HTTPStatusCode() int and HTTPCode() int return the HTTP status.
//     Results outside 100 to 599 mean that there is no status.
//   - ErrorCode() string returns an AWS error code, and so does Code() string if the
//     error also has the method OrigErr() error. Throttling codes take precedence over
//     the status, which is often 400.
//   - SQLState() string returns an SQLSTATE code, as defined by ISO/IEC 9075 and
//     PostgreSQL.
//   - HasErrorLabel(string) bool reports whether the error has a MongoDB error label.
//   - If SafeToRetry() bool returns true, nothing was sent.
//   - Retryable() bool, RetryableError() bool, NonRetryable() bool and NonRetriable()
//     report whether the client considers the error retryable.
//   - If Timeout() bool and Temporary() bool both return false, the same call would fail
//     again. An example is a lookup of a host that does not exist.
//
// If [Policy.Facts] returns facts about err, they replace the results of these methods.
//
// If none of these classifies err, its text is searched, as defined by MatchText. A
// status is recognized in the text if it is one of 400, 401, 403, 404, 409, 410, 422,
// 429, 500, 502, 503 and 504 after a label (HTTP 503, status: 503, status code 503,
// response code 503, error 503) or before its reason phrase (503 Service Unavailable).
// Without a status, [MatchWords] looks for these words:
//
//   - [ClassNetwork]: network, connection, refused, unreachable;
//   - [ClassTimeout]: timeout, timed out;
//   - [ClassServerError]: server error;
//   - [ClassRateLimit]: rate limit, too many requests.
//
// The text is not searched if an Is or As test in Classes holds. The text of this
// package's own errors is never searched. For all other errors, only the first 16 KiB of
// the text are searched.
//
// An error belongs to a class in Classes if one of the tests of that class holds. An
// error that belongs to no class is of [ClassUnknown].
//
// These errors are never retried:
//
//   - [Permanent] errors;
//   - errors whose [Action] is [ActionFail] or [ActionEscalate];
//   - errors of a class in AbortOn;
//   - errors with the status 400, 401, 403, 404 or 422, unless their Action is
//     [ActionRetry] or the callee has marked them with [After];
//   - other errors that show that the same call would fail again. The same two exceptions
//     apply. As a third exception, the error is retried if it belongs to a class that
//     Classes defines and RetryOn contains;
//   - refusals that come from a breaker, limiter, rate or throttle inside the called
//     function, unless RetryOn contains their class;
//   - errors of ClassUnknown, unless RetryUnknown is set or RetryOn contains
//     [ClassAny].
//
// Errors with status 401 or 403 are marked as escalated unless they have an Action. All
// other errors are retried unless RetryOn restricts them.
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
	unclassifiedError
)

// Sample returns the sample of a failure for a breaker. The sample is neutral if the
// caller's context ended, or if the attempt was refused or lost.
func (p *Policy) Sample(b *breaker.Policy, f Failure) breaker.Sample {
	f.classify(p)
	return p.sample(b, &f)
}

// sample returns the sample of a failure. A failure that is due to the request or
// its sender is neutral, unless the attempt's own limit has passed. So is a
// refusal inside the call: what refused counts its own samples.
func (p *Policy) sample(b *breaker.Policy, failure *Failure) breaker.Sample {
	err, f := failure.Err, &failure.facts
	switch {
	case err == nil || failure.Refused || failure.ended:
		return breaker.Neutral
	case f.refused != "" && !slices.Contains(b.Count, string(f.refused.class())):
		return breaker.Neutral
	}
	counts := slices.ContainsFunc(b.Count, func(class string) bool { return p.belongs(err, f, Class(class)) })
	if len(b.Count) == 0 {
		// A failure of the service counts even if the policy does not retry it.
		counts = (f.expired || !causedByRequest(f.status)) && !p.belongs(err, f, ClassCanceled) &&
			(failure.verdict == retriedError ||
				!f.permanent && p.action(err, f) <= ActionRetry && p.belongs(err, f, ClassTransient))
	}
	if counts {
		return breaker.Failure
	}
	return breaker.Neutral
}

// Samples returns the samples of a failure for a limiter and for a throttle with policy
// t. The limiter counts a timeout, a rate limit and status 503 as overload, because
// they mean that the service had no capacity for the request. Other errors may be returned quickly, so they are
// neutral for the limiter. For the throttle, an error means that the service has accepted
// the request, unless a breaker with the same Count would count the error as a failure.
func (p *Policy) Samples(t *capacity.ThrottlePolicy, f Failure) (limiter, throttle capacity.Sample) {
	f.classify(p)
	return p.samples(t, &f)
}

func (p *Policy) samples(t *capacity.ThrottlePolicy, f *Failure) (limiter, throttle capacity.Sample) {
	facts := &f.facts
	if f.Err == nil || f.ended || facts.refused != "" || p.belongs(f.Err, facts, ClassCanceled) {
		return capacity.Neutral, capacity.Neutral
	}
	if facts.has(ClassTimeout) || facts.status == 503 || facts.has(ClassRateLimit) {
		limiter = capacity.Overload
	}
	throttle = capacity.Success
	if p.sample(&breaker.Policy{Count: t.Count}, f) == breaker.Failure {
		throttle = capacity.Overload
	}
	return limiter, throttle
}

// judge returns the verdict of the policy about err.
func (p *Policy) judge(err error, f *facts) verdict {
	if f.permanent {
		return permanentError
	}
	if f.refused != "" && !p.retriesRefusal(f.refused) {
		return permanentError // refused inside of the callee
	}
	action := ActionDefault
	if len(p.Classes) > 0 {
		action = p.action(err, f)
	}
	marked := f.asked || action == ActionRetry
	switch {
	case action == ActionEscalate, action == ActionDefault && !f.asked && (f.status == 401 || f.status == 403):
		return escalatedError
	case action == ActionFail, !marked && neverRetried(f.status), p.belongsToAny(err, f, p.AbortOn):
		return permanentError
	case p.listed(err, f):
		return retriedError
	case f.fails && !marked:
		return permanentError
	case p.belongsToAny(err, f, p.RetryOn):
		return retriedError
	case p.class(err, f) == ClassUnknown:
		if p.RetryUnknown {
			return retriedError
		}
		return unclassifiedError
	case len(p.RetryOn) == 0:
		return retriedError
	}
	return permanentError
}

// listed reports whether err belongs to a class of Classes that RetryOn contains.
// The author of the policy knows these errors better than their methods do.
func (p *Policy) listed(err error, f *facts) bool {
	return len(p.RetryOn) > 0 && slices.ContainsFunc(p.Classes, func(c ErrorClass) bool {
		return slices.Contains(p.RetryOn, c.Class) && c.has(err, f)
	})
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
		o := &p.PerError[i]
		if o.Class == ClassTimeout && f.limited && p.class(err, f) != ClassTimeout {
			continue // the error of the last attempt inside decides
		}
		if p.belongs(err, f, o.Class) {
			return o
		}
	}
	return nil
}

// class returns the class to report for err: the first class of the policy to
// which it belongs, or a built-in class. It returns "" if err has none of these but
// is known, by its status for example.
func (p *Policy) class(err error, f *facts) Class {
	for i := range p.Classes {
		if c := &p.Classes[i]; c.has(err, f) {
			return c.Class
		}
	}
	for _, c := range transient {
		if f.has(c) {
			return c
		}
	}
	if f.refused != "" {
		return f.refused.class()
	}
	for _, c := range [...]Class{ClassCanceled, ClassTimeout} {
		if p.belongs(err, f, c) {
			return c
		}
	}
	if f.status >= 400 || f.fails || f.permanent {
		return ""
	}
	return ClassUnknown
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
		return f.limited || slices.ContainsFunc(transient[:], f.has)
	case ClassUnknown:
		return p.class(err, f) == ClassUnknown
	case ClassBreakerOpen, ClassLimited, ClassRateLimited, ClassThrottled:
		return f.refused.class() == class
	case ClassTimeout:
		return f.limited || f.has(class)
	case ClassNetwork, ClassServerError, ClassRateLimit:
		return f.has(class)
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

// has reports whether the error belongs to class, one of the four classes that
// [ClassTransient] contains.
func (f *facts) has(class Class) bool {
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
