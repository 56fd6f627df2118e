package retry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Classify reports whether p retries err, and whether err belongs to each of
// the classes asked about.
//
// An error belongs to a class by, in this order,
//   - what its maker said: [After] makes it a [RateLimit];
//   - the definition of the class in Classes;
//   - its type: an error with the method StatusCode() int is a [RateLimit] at
//     429 and a [ServerError] at 500 to 599 but 501; a gRPC code counts as the
//     status that it stands for (see [HTTPStatus]), DEADLINE_EXCEEDED is a
//     Timeout and UNAVAILABLE a Network error, too; the errors of package net
//     and the system's connection errors are [Network], or [Timeout] where
//     their Timeout method says so; context.DeadlineExceeded is a Timeout,
//     context.Canceled is [Canceled]; [ErrBreakerOpen] is [BreakerOpen];
//   - only where its type says nothing, whole words of its text in any case:
//     network, connection, refused, unreachable; timeout, timed out; 500, 502,
//     503, 504, server error; rate limit, 429, too many requests.
//
// Never retried are [Permanent] errors, errors whose [Action] is [Fail] or
// [Escalate], errors of a class in AbortOn, and the status codes 400, 401, 403,
// 404 and 422 unless their Action is [Retry]. Of these 401 and 403 escalate
// unless they have an Action: no repetition gives leave, somebody has to.
// Everything else is retried unless RetryOn narrows it.
func (p *Policy) Classify(err error, classes ...Class) (retried bool, belongs []bool) {
	f := p.inspect(err)
	for _, class := range classes {
		belongs = append(belongs, p.belongs(err, &f, class))
	}
	return p.judge(err, &f) == retriedError, belongs
}

// verdict is what a policy makes of one error.
type verdict uint8

const (
	retriedError verdict = iota
	permanentError
	escalatedError
)

// sample returns what a failure says of the service.
func (b *BreakerPolicy) sample(p *Policy, err error, f *facts, v verdict) sample {
	if f.refused && !slices.Contains(b.Count, ClassBreakerOpen) {
		return neutral
	}
	counts := p.belongsToAny(err, f, b.Count)
	if len(b.Count) == 0 {
		// What the policy does not retry may be the service's fault all the same.
		counts = v == retriedError || !f.permanent && p.action(err, f) <= ActionRetry && p.belongs(err, f, ClassTransient)
	}
	if counts {
		return failed
	}
	return neutral
}

// judge decides about err.
func (p *Policy) judge(err error, f *facts) verdict {
	if f.permanent {
		return permanentError
	}
	if f.refused && !p.retriesOpenBreaker() {
		return permanentError // refused by a breaker of the callee
	}
	action := p.action(err, f)
	switch {
	case action == ActionEscalate, action == ActionDefault && (f.status == 401 || f.status == 403):
		return escalatedError
	case action == ActionFail, action != ActionRetry && neverRetried(f.status):
	case p.belongsToAny(err, f, p.AbortOn):
	case len(p.RetryOn) == 0 || p.belongsToAny(err, f, p.RetryOn):
		return retriedError
	}
	return permanentError
}

// action returns the action of the first class that err belongs to. Classes
// behind the last one with an action are not asked.
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

// override returns the schedule for errors such as err, if there is one.
func (p *Policy) override(err error, f *facts) *Override {
	for i := range p.PerError {
		if o := &p.PerError[i]; p.belongs(err, f, o.Class) {
			return o
		}
	}
	return nil
}

// class returns the class to report for err: the first of the policy's that it
// belongs to, else a built-in one, else none.
func (p *Policy) class(err error, f *facts) Class {
	for i := range p.Classes {
		if c := &p.Classes[i]; c.has(err, f) {
			return c.Class
		}
	}
	for _, c := range transient {
		if f.builtin(err, c) {
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

// neverRetried reports whether the request itself is at fault.
func neverRetried(status int) bool {
	switch status {
	case 400, 401, 403, 404, 422:
		return true
	}
	return false
}

func (p *Policy) belongsToAny(err error, f *facts, classes []Class) bool {
	return slices.ContainsFunc(classes, func(c Class) bool { return p.belongs(err, f, c) })
}

func (p *Policy) belongs(err error, f *facts, class Class) bool {
	switch class {
	case ClassAny:
		return true
	case ClassCanceled:
		return !f.expired && errors.Is(err, context.Canceled)
	case ClassTransient:
		return slices.ContainsFunc(transient[:], func(c Class) bool { return f.builtin(err, c) })
	case ClassBreakerOpen:
		return f.refused
	case ClassNetwork, ClassTimeout, ClassServerError, ClassRateLimit:
		return f.builtin(err, class)
	}
	return slices.ContainsFunc(p.Classes, func(c ErrorClass) bool { return c.Class == class && c.has(err, f) })
}

// has reports whether one of the tests of the class holds, the text last.
func (c *ErrorClass) has(err error, f *facts) bool {
	return slices.ContainsFunc(c.Is, func(target error) bool { return errors.Is(err, target) }) ||
		slices.ContainsFunc(c.As, func(is func(error) bool) bool { return is(err) }) ||
		f.status != 0 && slices.ContainsFunc(c.HTTP, func(r [2]int) bool { return r[0] <= f.status && f.status <= r[1] }) ||
		c.Pattern != nil && c.Pattern.MatchString(err.Error())
}

var transient = [...]Class{ClassNetwork, ClassTimeout, ClassServerError, ClassRateLimit}

// facts is what the types in an error's tree say.
type facts struct {
	permanent bool
	asked     bool          // for a wait, of
	after     time.Duration // unless that is unreadable: -1
	status    int

	refused   bool // a breaker refused an attempt: ErrBreakerOpen is in the tree
	expired   bool // the attempt's own limit has passed
	typed     bool // some type said something: the text does not count
	network   bool
	timeout   bool
	rateLimit bool
}

// timedOut records that the attempt's own limit has passed.
func (f *facts) timedOut() { f.typed, f.timeout, f.expired = true, true, true }

// inspect walks the tree of err once, in place of one errors.As for each
// question.
func (p *Policy) inspect(err error) (f facts) {
	f.walk(err)
	if p.GRPC != nil && f.status == 0 {
		if code, ok := p.GRPC(err); ok {
			f.typed, f.status = true, HTTPStatus(code)
			f.timeout = f.timeout || code == deadlineExceeded
			f.network = f.network || code == unavailable
		}
	}
	return f
}

// Two gRPC status codes: grpc/grpc, doc/statuscodes.md.
const (
	deadlineExceeded = 4
	unavailable      = 14
)

// HTTPStatus returns the HTTP status that a gRPC status code stands for, by
// googleapis/googleapis, google/rpc/code.proto: 503 for UNAVAILABLE. Codes that
// are not known are 500.
func HTTPStatus(code uint32) int {
	if uint64(code) < uint64(len(httpStatuses)) {
		return httpStatuses[code]
	}
	return 500
}

var httpStatuses = [...]int{
	200, // OK
	499, // CANCELLED
	500, // UNKNOWN
	400, // INVALID_ARGUMENT
	504, // DEADLINE_EXCEEDED
	404, // NOT_FOUND
	409, // ALREADY_EXISTS
	403, // PERMISSION_DENIED
	429, // RESOURCE_EXHAUSTED
	400, // FAILED_PRECONDITION
	409, // ABORTED
	400, // OUT_OF_RANGE
	501, // UNIMPLEMENTED
	500, // INTERNAL
	503, // UNAVAILABLE
	500, // DATA_LOSS
	401, // UNAUTHENTICATED
}

func (f *facts) walk(err error) {
	for err != nil {
		switch e := err.(type) {
		case *mark:
			if e.permanent {
				f.permanent = true
			} else {
				f.after = max(f.after, e.after)
				if !f.asked {
					f.after = e.after
				}
				f.typed, f.rateLimit, f.asked = true, true, true
			}
		case Reason:
			f.refused = f.refused || e == ErrBreakerOpen
		case interface{ StatusCode() int }:
			if f.status == 0 {
				f.status, f.typed = e.StatusCode(), true
			}
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			inner := e.Unwrap()
			if inner == nil {
				f.leaf(err)
			}
			err = inner
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				f.walk(inner)
			}
			return
		default:
			f.leaf(err)
			return
		}
	}
}

// leaf looks for the errors of package net and of the system where a chain
// ends: wrappers such as *url.Error have the methods of a net.Error too, but
// wrap anything. The interfaces are net.Error's, without a need for the
// package.
func (f *facts) leaf(err error) {
	timeout, ok := err.(interface{ Timeout() bool })
	if !ok {
		return
	}
	if timeout.Timeout() {
		f.typed, f.timeout = true, true
		return
	}
	if _, ok := err.(interface{ Temporary() bool }); ok && (!isErrno(err) || isConnectionErrno(err)) {
		f.typed, f.network = true, true
	}
}

// builtin reports whether the error belongs to one of the four classes that
// Transient unites.
func (f *facts) builtin(err error, class Class) bool {
	if !f.typed {
		return containsAnyWord(err.Error(), words[class])
	}
	switch class {
	case ClassNetwork:
		return f.network
	case ClassTimeout:
		return f.timeout
	case ClassServerError:
		return f.status >= 500 && f.status <= 599 && f.status != 501
	default: // RateLimit
		return f.rateLimit || f.status == 429
	}
}

// words are those of Prodigy's ErrorMatcher, matched as whole words: "1500
// rows" is no server error.
var words = map[Class][]string{
	ClassNetwork:     {"network", "connection", "refused", "unreachable"},
	ClassTimeout:     {"timeout", "timed out"},
	ClassServerError: {"500", "502", "503", "504", "server error"},
	ClassRateLimit:   {"rate limit", "429", "too many requests"},
}

func containsAnyWord(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return containsWord(text, w) })
}

// containsWord reports whether text contains word, which is in lower case,
// with no letter, digit or underscore on either side.
func containsWord(text, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		end := i + len(word)
		if !strings.EqualFold(text[i:end], word) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inWord(before) && !inWord(after) {
			return true
		}
	}
	return false
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
