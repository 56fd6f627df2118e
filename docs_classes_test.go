package retrygen

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// sample is an error and how the page names it.
type sample struct {
	text string
	err  error
}

// builtinClasses are the rows of the page, whose samples are all classified. The
// columns of statuses and codes follow from the runtime.
var builtinClasses = []struct {
	class retry.Class
	types []sample
	words []string
}{
	{
		retry.ClassNetwork,
		[]sample{
			{"temporary errors from package `net`", &net.DNSError{Err: "server misbehaving", IsTemporary: true}},
			{"connection errors from the operating system", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
			{"`io.ErrUnexpectedEOF`", io.ErrUnexpectedEOF},
			{"`io.EOF` inside a `net.Error`", &url.Error{Op: "Get", Err: io.EOF}},
			{"`driver.ErrBadConn` from `database/sql`", driver.ErrBadConn},
			{"HTTP/2 stream and connection errors, including GOAWAY", nil}, // tested with real connections in package retry
		},
		[]string{"network", "connection", "refused", "unreachable"},
	},
	{
		retry.ClassTimeout,
		[]sample{
			{"errors whose method `Timeout() bool` returns true", &net.DNSError{IsTimeout: true}},
			{"`context.DeadlineExceeded`", context.DeadlineExceeded},
			{"an attempt that was ended by `attempt_timeout`", retry.ErrAttemptTimeout},
		},
		[]string{"timeout", "timed out"},
	},
	{
		retry.ClassServerError, nil,
		[]string{"server error", "status 500", "HTTP 502", "status code: 503", "504 Gateway Timeout"},
	},
	{
		retry.ClassRateLimit,
		[]sample{{"errors returned by `retry.After`", retry.After(errors.New("busy"), 0)}},
		[]string{"rate limit", "too many requests", "status 429"},
	},
	{retry.ClassCanceled, []sample{{"`context.Canceled`", context.Canceled}}, nil},
	{retry.ClassBreakerOpen, []sample{{"`retry.ErrBreakerOpen`", retry.ErrBreakerOpen}}, nil},
	{retry.ClassLimited, []sample{{"`retry.ErrLimited`", retry.ErrLimited}}, nil},
	{retry.ClassRateLimited, []sample{{"`retry.ErrRateLimited`", retry.ErrRateLimited}}, nil},
	{retry.ClassThrottled, []sample{{"`retry.ErrThrottled`", retry.ErrThrottled}}, nil},
}

// statusError and codeError are errors of HTTP and of gRPC clients.
type (
	statusError int
	codeError   uint32
)

func (e statusError) Error() string   { return "status" }
func (e statusError) StatusCode() int { return int(e) }
func (e codeError) Error() string     { return "code" }

func factsOf(err error) (retry.Facts, bool) {
	code, ok := errors.AsType[codeError](err)
	return retry.Facts{GRPC: uint32(code)}, ok
}

// codeNames are the gRPC codes from 1.
var codeNames = strings.Fields(
	`CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED
	RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED`)

// statuses writes the HTTP statuses for which a test holds, as ranges.
func statuses(holds func(status int) bool) string {
	var ranges []string
	for status := 400; status <= 599; status++ {
		first := status
		for status <= 599 && holds(status) {
			status++
		}
		switch last := status - 1; {
		case last == first:
			ranges = append(ranges, fmt.Sprint(first))
		case last > first:
			ranges = append(ranges, fmt.Sprintf("%d–%d", first, last))
		}
	}
	return strings.Join(ranges, ", ")
}

// codes writes the gRPC codes for which a test holds.
func codes(holds func(error) bool) string {
	var list []string
	for i, name := range codeNames {
		if holds(codeError(i + 1)) {
			list = append(list, "`"+name+"`")
		}
	}
	return strings.Join(list, ", ")
}

// classesSection returns the part of the language page about the built-in
// classes.
func classesSection(t *testing.T) string {
	b := new(strings.Builder)
	b.WriteString(`
### Built-in classes

retrygen uses the type of an error to find its built-in classes. It reads the error's text only if nothing else classifies the error: it has none of the
types in this table and no status, and no class in the file lists it under ` + "`is` or `as`" + `.

| class | types | HTTP statuses | gRPC codes | words in the text |
|---|---|---|---|---|
`)
	for _, row := range builtinClasses {
		belongs := func(err error) bool {
			return (&retry.Policy{RetryOn: []retry.Class{row.class}, Facts: factsOf}).Retries(err)
		}
		var types, words []string
		for _, s := range row.types {
			types = append(types, s.text)
			if s.err != nil && !belongs(s.err) {
				t.Errorf("%s does not belong to %s", s.text, row.class)
			}
		}
		for _, word := range row.words {
			words = append(words, "`"+word+"`")
			if !belongs(fmt.Errorf("call: %s", word)) {
				t.Errorf("the text %q does not belong to %s", word, row.class)
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", row.class, strings.Join(types, "; "),
			statuses(func(status int) bool { return belongs(statusError(status)) }), codes(belongs), strings.Join(words, ", "))
	}
	b.WriteString("\nThree more names stand for several classes, or for none:\n\n" +
		"- `transient` is the first four classes together.\n" +
		"- `unknown` is every error that none of the sources on this page classifies. Such an error ends the call and\n" +
		"  is returned unchanged, and events contain the reason `ErrUnclassified`. With `unknown: retry`, a policy\n" +
		"  retries it.\n" +
		"- `any` is every error, except those in the last four classes. They are the errors of attempts that were\n" +
		"  refused before they were made. A policy retries them only if its `retry_on` lists the class itself.\n\n" +
		"The details:\n\n")
	byDefault := &retry.Policy{Facts: factsOf}
	never := func(err error) bool { return !byDefault.Retries(err) }
	fmt.Fprintf(b, "- **Never retried**, unless a class in the file with `retryable: true` matches: %s, and %s.\n",
		statuses(func(status int) bool { return never(statusError(status)) }), codes(never))
	fmt.Fprintf(b,
		"- **Not a failure** for a breaker without `count`, because the request or its sender is to blame: %s, %s, and "+
			"`canceled` errors.\n",
		statuses(func(status int) bool { return neutral(t, statusError(status)) }),
		codes(func(err error) bool { return neutral(t, err) }))
	b.WriteString(
		"- **Status.** The HTTP status is the result of a method `StatusCode() int`, `HTTPStatusCode() int` or\n" +
			"  `HTTPCode() int`. gRPC codes are read in packages that depend on `google.golang.org/grpc`.\n" +
			"- **Other methods** are read as well:\n" +
			"  - `ErrorCode() string`, for AWS throttling codes, which take precedence over the status;\n" +
			"  - `SQLState() string`, judged by the class of the code;\n" +
			"  - MongoDB's `HasErrorLabel(string) bool`;\n" +
			"  - `SafeToRetry() bool`, `Retryable() bool`, `RetryableError() bool`, `NonRetryable() bool` and\n" +
			"    `NonRetriable()`;\n" +
			"  - `Timeout() bool` together with `Temporary() bool`: if both return false, the error is permanent,\n" +
			"    as it is for a nonexistent host.\n" +
			"- **Clients.** Information that is read through `clients` takes precedence over these methods.\n" +
			"- **Words** count only as whole words, in upper or lower case. A number is a status only after `HTTP`,\n" +
			"  `status`, `status code`, `response code` or `error`, or before its reason phrase: `order 500 not found` and\n" +
			"  `code: 503` do not count. A status in the text takes precedence over words.\n" +
			"- **Limits of the text.** At most 16 KiB of a text is read. The texts of errors from package retry, and texts\n" +
			"  that are wrapped around them, are not read. With `match_text: status`, only statuses are read,\n" +
			"  and with `match_text: false`, no text at all.\n")
	return b.String()
}

// neutral reports whether a failure leaves a breaker closed that opens at the
// first.
func neutral(t *testing.T, err error) bool {
	b := breaker.New(breaker.Policy{Failures: 1})
	p := &retry.Policy{Facts: factsOf, Schedule: retry.Schedule{MaxAttempts: 1}}
	fail := func(context.Context) (struct{}, error) { return struct{}{}, err }
	_, _ = retry.DoWith(t.Context(), p, retry.Shared{Breaker: b}, fail)
	return b.State() == breaker.Closed
}

// TestClassesOfText keeps the examples of the page that prove nothing true.
func TestClassesOfText(t *testing.T) {
	transient := retry.Policy{RetryOn: []retry.Class{retry.ClassTransient}}
	for _, text := range []string{"order 500 not found", "1500 rows", "after 503 attempts", "mytimeout"} {
		if transient.Retries(errors.New(text)) {
			t.Errorf("%q is transient", text)
		}
	}
	if slices.ContainsFunc(builtinClasses[0].words, func(word string) bool {
		return (&retry.Policy{RetryOn: transient.RetryOn, MatchText: retry.MatchNone}).Retries(errors.New(word))
	}) {
		t.Error("a text is read under MatchNone")
	}
}
