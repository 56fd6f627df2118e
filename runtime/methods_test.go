package retry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/retrygen/retrygen/internal/grpcstatus"
)

// Errors with the methods that readMethods trusts, and with some that it does not.
type (
	httpStatus int
	httpCode   int
	awsCode    string
	awsV1Code  string
	sqlState   string
	mongoError []string
	unsent     bool
	retryable  bool
	permanent  bool
	azureFatal struct{}
	netOpinion struct{ timeout, temporary bool }
	bareCode   int
	recovers   bool
)

func (e httpStatus) Error() string       { return "failed" }
func (e httpStatus) HTTPStatusCode() int { return int(e) }
func (e httpCode) Error() string         { return "failed" }
func (e httpCode) HTTPCode() int         { return int(e) }
func (e awsCode) Error() string          { return "failed" }
func (e awsCode) ErrorCode() string      { return string(e) }
func (e awsV1Code) Error() string        { return "failed" }
func (e awsV1Code) Code() string         { return string(e) }
func (e awsV1Code) OrigErr() error       { return nil }
func (e sqlState) Error() string         { return "failed" }
func (e sqlState) SQLState() string      { return string(e) }
func (e mongoError) Error() string       { return "failed" }
func (e mongoError) HasErrorLabel(label string) bool {
	return slices.Contains(e, label)
}
func (e unsent) Error() string           { return "failed" }
func (e unsent) SafeToRetry() bool       { return bool(e) }
func (e retryable) Error() string        { return "failed" }
func (e retryable) RetryableError() bool { return bool(e) }
func (e permanent) Error() string        { return "failed" }
func (e permanent) NonRetryable() bool   { return bool(e) }
func (azureFatal) Error() string         { return "failed" }
func (azureFatal) NonRetriable()         {}
func (e netOpinion) Error() string       { return "failed" }
func (e netOpinion) Timeout() bool       { return e.timeout }
func (e netOpinion) Temporary() bool     { return e.temporary }
func (e bareCode) Error() string         { return "failed" }
func (e bareCode) Code() int             { return int(e) }
func (e bareCode) Status() int           { return int(e) }
func (e recovers) Error() string         { return "failed" }
func (e recovers) Recover() bool         { return bool(e) }
func (e recovers) Temporary() bool       { return bool(e) }

// TestMethods lists what each method proves: the class of the error and the
// verdict of a policy without retry_on.
func TestMethods(t *testing.T) {
	for _, tt := range []struct {
		err     error
		class   Class
		verdict verdict
	}{
		{httpStatus(503), ClassServerError, retriedError},
		{httpStatus(404), "", permanentError},
		{httpStatus(0), ClassUnknown, unclassifiedError},
		{httpCode(429), ClassRateLimit, retriedError},
		{httpCode(-1), ClassUnknown, unclassifiedError},

		// A code of throttling counts before the status around it.
		{awsCode("SlowDown"), ClassRateLimit, retriedError},
		{awsCode("NoSuchKey"), ClassUnknown, unclassifiedError},
		{&statusAround{400, awsCode("ThrottlingException")}, ClassRateLimit, retriedError},
		{&statusAround{400, awsCode("ValidationException")}, "", permanentError},
		{&statusAround{503, awsCode("InternalError")}, ClassServerError, retriedError},
		{awsV1Code("Throttling"), ClassRateLimit, retriedError},

		{sqlState("40001"), "", retriedError}, // like the status 409
		{sqlState("08006"), ClassNetwork, retriedError},
		{sqlState("08P01"), "", permanentError},
		{sqlState("53300"), ClassServerError, retriedError},
		{sqlState("57P01"), ClassServerError, retriedError},
		{sqlState("57014"), "", permanentError},
		{sqlState("25006"), ClassServerError, retriedError},
		{sqlState("23505"), "", permanentError},
		{sqlState("28P01"), "", escalatedError},
		{sqlState(""), ClassUnknown, unclassifiedError},
		{sqlState("HY000"), ClassUnknown, unclassifiedError},

		{mongoError{"RetryableWriteError"}, ClassNetwork, retriedError},
		{mongoError{"TransientTransactionError"}, "", retriedError},
		{mongoError{}, ClassUnknown, unclassifiedError},

		{unsent(true), ClassNetwork, retriedError},
		{unsent(false), ClassUnknown, unclassifiedError},
		{opinion{retryable: true}, ClassServerError, retriedError},
		{opinion{}, "", permanentError},
		{retryable(true), ClassServerError, retriedError},
		{retryable(false), "", permanentError},
		{permanent(true), "", permanentError},
		{permanent(false), ClassUnknown, unclassifiedError},
		{azureFatal{}, "", permanentError},

		{netOpinion{timeout: true}, ClassTimeout, retriedError},
		{netOpinion{temporary: true}, ClassNetwork, retriedError},
		{netOpinion{}, "", permanentError},
		{errors.Join(netOpinion{}, httpStatus(503)), ClassServerError, retriedError},
		{errors.Join(httpStatus(503), netOpinion{}), ClassServerError, retriedError},
		{errors.Join(netOpinion{}, errPlain), "", permanentError},
		{&statusAround{503, netOpinion{}}, ClassServerError, retriedError},

		// What is not trusted.
		{bareCode(503), ClassUnknown, unclassifiedError},
		{recovers(true), ClassUnknown, unclassifiedError},

		// A mark of the callee wins over all of these.
		{After(httpStatus(400), time.Second), ClassRateLimit, retriedError},
		{After(httpStatus(403), time.Second), ClassRateLimit, retriedError},
		{Permanent(httpStatus(503)), ClassServerError, permanentError},
	} {
		p := &Policy{MatchText: MatchNone}
		err := fmt.Errorf("call: %w", tt.err)
		f := p.inspect(err)
		if class, v := p.class(err, &f), p.judge(err, &f); class != tt.class || v != tt.verdict {
			t.Errorf("%T(%+v): class %q, verdict %d; want %q, %d", tt.err, tt.err, class, v, tt.class, tt.verdict)
		}
	}
}

// TestListedClass: a class of the policy that retry_on lists is retried whatever
// the methods of its errors say, but not against a status.
func TestListedClass(t *testing.T) {
	classes := []ErrorClass{{Class: "mine", As: []func(error) bool{As[sqlState], As[httpStatus]}}}
	for _, tt := range []struct {
		policy Policy
		err    error
		want   bool
	}{
		{Policy{Classes: classes, RetryOn: []Class{"mine"}}, sqlState("23505"), true},
		{Policy{Classes: classes, RetryOn: []Class{"mine"}}, httpStatus(404), false},
		{Policy{Classes: classes}, sqlState("23505"), false},
		{Policy{Classes: classes, RetryOn: []Class{ClassAny}}, sqlState("23505"), false},
		{Policy{Classes: classes, RetryOn: []Class{"mine"}, AbortOn: []Class{"mine"}}, sqlState("23505"), false},
	} {
		if got := tt.policy.Retries(tt.err); got != tt.want {
			t.Errorf("%v of %T by %+v: %v", tt.err, tt.err, tt.policy, got)
		}
	}
}

// statusAround is an error with a status around another error.
type statusAround struct {
	status int
	error
}

func (e *statusAround) HTTPStatusCode() int { return e.status }
func (e *statusAround) Unwrap() error       { return e.error }

// TestFacts: what a reader knows replaces what methods and the text prove.
func TestFacts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		facts   Facts
		err     error
		class   Class
		verdict verdict
		after   time.Duration
	}{
		{"a status", Facts{Status: 503}, errPlain, ClassServerError, retriedError, 0},
		{"a status instead of a method's", Facts{Status: 404}, httpStatus(503), "", permanentError, 0},
		{"a class instead of a status", Facts{Class: ClassNetwork}, httpStatus(400), ClassNetwork, retriedError, 0},
		{"a class before the status", Facts{Status: 409, Class: ClassTimeout}, errPlain, ClassTimeout, retriedError, 0},
		{"a permanent error", Facts{Permanent: true}, errors.New("timeout"), "", permanentError, 0},
		{"a permanent error with a status", Facts{Status: 503, Permanent: true}, errPlain, ClassServerError, permanentError,
			0},
		{"a wait", Facts{Status: 503, RetryAfter: time.Second}, errPlain, ClassServerError, retriedError, time.Second},
		{"a wait lifts a status", Facts{Status: 403, RetryAfter: time.Second}, errPlain, ClassRateLimit, retriedError,
			time.Second},
		{"a gRPC code", Facts{GRPC: grpcstatus.Unavailable}, errPlain, ClassNetwork, retriedError, 0},
		{"what exists will exist", Facts{GRPC: grpcstatus.AlreadyExists}, errPlain, "", permanentError, 0},
		{"a method that the server lacks", Facts{GRPC: grpcstatus.Unimplemented}, errPlain, "", permanentError, 0},
		{"a mark wins", Facts{Status: 503}, Permanent(errPlain), ClassServerError, permanentError, 0},
		{"the wait of a mark wins", Facts{RetryAfter: time.Second}, After(errPlain, time.Minute), ClassRateLimit,
			retriedError, time.Minute},
		{"nothing", Facts{}, errors.New("timeout"), ClassTimeout, retriedError, 0},
	} {
		p := &Policy{Facts: func(error) (Facts, bool) { return tt.facts, true }}
		f := p.inspect(tt.err)
		if class, v := p.class(tt.err, &f), p.judge(tt.err, &f); class != tt.class || v != tt.verdict || f.after != tt.after {
			t.Errorf("%s: class %q, verdict %d, wait %v; want %q, %d, %v", tt.name, class, v, f.after,
				tt.class, tt.verdict, tt.after)
		}
	}
}

// TestUnknown: an error of which nothing is known ends the call and is returned
// unchanged, unless the policy says otherwise.
func TestUnknown(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   Policy
		err      error
		attempts int
		reason   Reason
		class    Class
	}{
		{"without retry_on", Policy{}, errPlain, 1, ErrUnclassified, ClassUnknown},
		{"with retry_on", Policy{RetryOn: []Class{ClassTransient}}, errPlain, 1, ErrUnclassified, ClassUnknown},
		{"retried", Policy{RetryUnknown: true}, errPlain, 3, ErrAttempts, ClassUnknown},
		{"retried with retry_on", Policy{RetryUnknown: true, RetryOn: []Class{ClassNetwork}}, errPlain, 3, ErrAttempts,
			ClassUnknown},
		{"any", Policy{RetryOn: []Class{ClassAny}}, errPlain, 3, ErrAttempts, ClassUnknown},
		{"aborted", Policy{RetryUnknown: true, AbortOn: []Class{ClassUnknown}}, errPlain, 1, ErrPermanent, ClassUnknown},
		{"known and not in retry_on", Policy{RetryUnknown: true, RetryOn: []Class{ClassNetwork}}, status(503), 1,
			ErrPermanent, ClassServerError},
		{"a text", Policy{}, errors.New("status 503"), 3, ErrAttempts, ClassServerError},
		{"a text that is permanent", Policy{RetryUnknown: true}, errors.New("status 404"), 1, ErrPermanent, ""},
		{"a text that is not read", Policy{MatchText: MatchNone}, errors.New("status 503"), 1, ErrUnclassified, ClassUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.policy.InitialDelay = None
			var stop Event
			ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { stop = e })
			attempts := 0
			_, err := Do(ctx, &tt.policy, func(context.Context) (int, error) { attempts++; return 0, tt.err })
			if attempts != tt.attempts || stop.Reason != tt.reason || stop.Class != tt.class {
				t.Errorf("%d attempts, reason %q, class %q; want %d, %q, %q", attempts, stop.Reason, stop.Class,
					tt.attempts, tt.reason, tt.class)
			}
			if tt.attempts == 1 && err != tt.err {
				t.Errorf("got %#v, want the error itself", err)
			}
		})
	}
}

// A failure costs no allocation for the methods that are read.
func TestMethodsAllocateNothing(t *testing.T) {
	p := &Policy{RetryOn: []Class{ClassTransient}, MatchText: MatchStatus}
	for _, err := range []error{
		status(503), awsCode("SlowDown"), sqlState("57P01"), mongoError{"NetworkError"}, opinion{}, netOpinion{}, errPlain,
		errors.New("GET http://example.com: unexpected status 503"),
	} {
		if got := testing.AllocsPerRun(100, func() { p.Retries(err) }); got != 0 {
			t.Errorf("%T: %v allocations", err, got)
		}
	}
}

// BenchmarkFailure measures the decision about one error.
func BenchmarkFailure(b *testing.B) {
	p := &Policy{RetryOn: []Class{ClassTransient}}
	for name, err := range map[string]error{
		"status": fmt.Errorf("get: %w", status(503)),
		"aws":    &statusAround{400, awsCode("SlowDown")},
		"sql":    fmt.Errorf("query: %w", sqlState("57P01")),
		"plain":  errPlain,
		"text":   errors.New("GET http://example.com: unexpected status 503"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Retries(err)
			}
		})
	}
}
