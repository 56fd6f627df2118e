package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// errPlain is an error of which nothing is known.
var errPlain = errors.New("failed")

var builtinClasses = [...]Class{
	ClassNetwork, ClassTimeout, ClassServerError, ClassRateLimit, ClassCanceled, ClassBreakerOpen,
}

// classesOf returns the built-in classes of err under p, except those that
// unite others.
func classesOf(p *Policy, err error) string {
	f := p.inspect(err)
	var list []string
	for _, c := range builtinClasses {
		if p.belongs(err, &f, c) {
			list = append(list, string(c))
		}
	}
	return strings.Join(list, " ")
}

// asserted is an error that claims to be another by its method Is alone.
type asserted struct{ target error }

func (a asserted) Error() string        { return "asserted" }
func (a asserted) Is(target error) bool { return target == a.target }

// Two types of errors whose methods panic if they are nil.
type (
	statusPointer struct{ code int }
	wrapper       struct{ err error }
)

func (e *statusPointer) Error() string   { return fmt.Sprint("status ", e.code) }
func (e *statusPointer) StatusCode() int { return e.code }
func (e *wrapper) Error() string         { return "wrapper: " + e.err.Error() }
func (e *wrapper) Unwrap() error         { return e.err }

// embedded has the methods of a nil pointer if it is empty.
type embedded struct{ *net.OpError }

// gRPC codes as an interceptor or a client returns them.
type code uint32

func (c code) Error() string { return fmt.Sprint("rpc error: timeout: ", uint32(c)) }

func grpcFacts(err error) (Facts, bool) {
	c, ok := errors.AsType[code](err)
	return Facts{GRPC: uint32(c)}, ok
}

func TestClasses(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	gaveUp := func(err error) error { return &Error{Policy: "read", Reason: ErrAttempts, Attempts: 500, Err: err} }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{refused, "network"},
		{&url.Error{Op: "Get", Err: refused}, "network"},
		{&url.Error{Op: "Get", Err: errors.New("unsupported protocol scheme")}, ""},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, ""},
		{&net.DNSError{Err: "server misbehaving", IsTemporary: true}, "network"},
		{&net.OpError{Op: "dial", Err: &net.AddrError{Err: "missing port in address"}}, ""},
		{net.ErrClosed, "network"},
		{errors.Join(&net.DNSError{IsNotFound: true}, status(503)), "server_error"},
		{errors.Join(status(503), &net.DNSError{IsNotFound: true}), "server_error"},
		{&net.DNSError{IsTimeout: true}, "timeout"},
		{&net.DNSError{IsTimeout: true, UnwrapErr: errors.New("no answer")}, "timeout"},
		{syscall.ETIMEDOUT, "timeout"},
		{syscall.ENOENT, ""},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
		{fmt.Errorf("connection: %w", context.Canceled), "canceled"},
		{asserted{context.Canceled}, "canceled"},
		{After(errPlain, 0), "rate_limit"},
		{ErrBreakerOpen, "breaker_open"},

		// Closed connections.
		{io.ErrUnexpectedEOF, "network"},
		{&url.Error{Op: "Get", Err: io.EOF}, "network"},
		{&net.OpError{Op: "read", Err: io.EOF}, "network"},
		{fmt.Errorf("call: %w", &url.Error{Op: "Get", Err: fmt.Errorf("read: %w", io.EOF)}), "network"},
		{io.EOF, ""},
		{errors.Join(&url.Error{Op: "Get", Err: errPlain}, io.EOF), ""},
		{&net.OpError{Op: "read", Err: errors.Join(errPlain, io.EOF)}, "network"},
		{&os.PathError{Op: "read", Path: "file", Err: io.EOF}, ""},
		{syscall.EPIPE, "network"},
		{fmt.Errorf("write: %w", &os.PathError{Op: "write", Path: "fifo", Err: syscall.EPIPE}), "network"},
		{errors.Join(errPlain, &wrapper{os.NewSyscallError("read", syscall.ECONNRESET)}), "network"},

		// Statuses.
		{status(503), "server_error"},
		{fmt.Errorf("get: %w", status(429)), "rate_limit"},
		{status(404), ""},
		{status(501), ""},
		{status(505), ""},
		{fmt.Errorf("timeout: %w", status(400)), ""},
		{fmt.Errorf("timeout: %w", status(399)), "timeout"}, // no failure
		{fmt.Errorf("timeout: %w", status(600)), "timeout"}, // no status of HTTP
		{fmt.Errorf("connection refused: %w", status(400)), ""},

		// The types decide alone.
		{&os.PathError{Op: "open", Path: "network timeout", Err: syscall.ENOENT}, ""},

		// Our own texts.
		{gaveUp(errPlain), ""},
		{fmt.Errorf("status 500: %w", gaveUp(errPlain)), ""},
		{gaveUp(errors.New("connection refused")), "network"},
		{gaveUp(status(503)), "server_error"},
		{fmt.Errorf("connection refused: %w", ErrAttempts), ""},
		{&Error{Policy: "timeout", Reason: ErrBreakerOpen}, "breaker_open"},
		{&Error{Reason: ErrDeadline, Err: errPlain, Cause: context.DeadlineExceeded}, "timeout"},

		// A nil pointer proves nothing, nor does what wraps it.
		{(*statusPointer)(nil), ""},
		{(*wrapper)(nil), ""},
		{fmt.Errorf("timeout: %w", (*statusPointer)(nil)), ""},
		{errors.Join((*wrapper)(nil), errors.New("timeout")), ""},
		{errors.Join(status(503), (*wrapper)(nil)), "server_error"},
		{&wrapper{(*statusPointer)(nil)}, ""},

		// Nor does an error whose methods panic.
		{embedded{}, ""},
		{&embedded{}, ""},
		{fmt.Errorf("timeout: %w", embedded{}), ""},
		{&wrapper{}, ""},
		{errors.Join(status(503), struct{ error }{}), "server_error"},
		{errors.Join(struct{ *statusPointer }{}, status(503)), ""},
	} {
		if got := classesOf(new(Policy), tt.err); got != tt.want {
			t.Errorf("%T is %q, want %q", tt.err, got, tt.want)
		}
	}
}

// TestUnsoundErrors classifies errors whose methods panic, as package fmt prints
// them: the call goes on, and nothing is known of the error.
func TestUnsoundErrors(t *testing.T) {
	unsound := map[string]error{
		"Error":      struct{ error }{},
		"Unwrap":     embedded{},
		"StatusCode": struct{ *statusPointer }{},
		"nil inside": &wrapper{},
		"Is":         panicking{is: true},
		"As":         panicking{as: true},
	}
	for name, err := range unsound {
		for _, p := range []*Policy{
			{},
			{RetryOn: []Class{ClassTransient}},
			{AbortOn: []Class{ClassCanceled}},
			{Classes: []ErrorClass{{Class: "mine", Is: []error{errPlain}, Action: ActionRetry}}},
			{Classes: []ErrorClass{{Class: "mine", As: []func(error) bool{As[*statusPointer]}, Action: ActionRetry}}},
			{Classes: []ErrorClass{{Class: "mine", Pattern: regexp.MustCompile("x"), Action: ActionRetry}}},
			{Facts: func(err error) (Facts, bool) { _, ok := errors.AsType[code](err); return Facts{}, ok }},
		} {
			if got := p.Retries(err); got {
				t.Errorf("%s: retried by %+v", name, p)
			}
		}
		call := (&Policy{Schedule: Schedule{MaxAttempts: 1}}).Begin()
		if got := call.Next(t.Context(), err); got == nil {
			t.Errorf("%s: the only attempt was retried", name)
		}
		call.End()
	}
}

// panicking is an error whose methods for errors.Is or errors.As panic.
type panicking struct{ is, as bool }

func (p panicking) Error() string { return "unsound" }
func (p panicking) Is(error) bool { return p.is && *(*bool)(nil) }
func (p panicking) As(any) bool   { return p.as && *(*bool)(nil) }

// TestWords reads texts, in which a number alone proves nothing.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"connection REFUSED": "network", "übernetwork": "", "network": "network", "host unreachable": "network",
		"“timeout”": "timeout", "timeout… gave up": "timeout", "Timeout": "timeout", "i/o timeout": "timeout",
		"mytimeout": "", "timeouté": "", "timeout_ms": "", "timeout2": "", "context timed_out": "",
		"timed out": "timeout", "Timed Out.": "timeout", "timed outer": "", "timed": "",
		"internal server error": "server_error", "server errors": "",
		"rate limit exceeded": "rate_limit", "rate limited": "", "Too Many Requests": "rate_limit", "too many": "",

		"order 500 not found": "", "500": "", "after 503 attempts": "", "502 rows": "", "line 504": "", "user 429": "",
		"sync error: 500 rows rejected": "", "took 5004ms": "", "status 5000": "", "error. 503 lost": "",
		"HTTP 500": "server_error", "HTTP/1.1 503": "server_error", "HTTP/2 502 from upstream": "server_error",
		"status 503": "server_error", "status: 503": "server_error", "Status Code: 504": "server_error",
		"status=429": "rate_limit", "http: 429": "rate_limit", `{"status": "503"}`: "server_error",
		`{"code":503}`: "", "code: 503, message: x": "", "StatusCode(502)": "server_error", "status_code=500": "server_error",
		"Error 429": "rate_limit", "googleapi: Error 503: backend": "server_error", "error 501": "",
		"500 Internal Server Error": "server_error", "500 internal error": "server_error", "502 Bad Gateway": "server_error",
		"502 bad rows": "", "503 Service Unavailable": "server_error", "503 Service Temporarily Unavailable": "server_error",
		"503 services": "", "504 gateway": "server_error", "504 Gateway Time-out": "server_error",
		"429 Too Many Requests": "rate_limit", "http://503": "", "": "", "status = 503": "server_error", "status   = 503": "",
	} {
		if got := classesOf(new(Policy), errors.New(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if got := classesOf(&Policy{MatchText: MatchNone}, errors.New(text)); got != "" {
			t.Errorf("%q is %q under MatchNone", text, got)
		}
	}
}

// TestStatusTexts reads statuses in texts. Under MatchStatus, no word counts.
func TestStatusTexts(t *testing.T) {
	for text, want := range map[string]int{
		"GET http://x: unexpected status 404": 404, "unexpected status code: 503": 503, "HTTP 401": 401,
		"http response code 404 with body": 404, "got HTTP response code 429": 429, "HTTP/1.1 503": 503,
		"googleapi: Error 403: , rateLimitExceeded": 403, "server error: 404": 404, "slack server error: 404 Not Found": 404,
		"404 Not Found": 404, "401 Unauthorized": 401, "422 Unprocessable Entity": 422, "409 Conflict": 409, "410 Gone": 410,
		"500 Internal Server Error": 500, "HTTP status code 404": 404, "StatusCode: 400, RequestID: x": 400,
		"status 404: read from upstream with status 503": 404, "expected status 200, got 503": 503,
		"expected HTTP 503, got status 404": 404, "wanted status 503 but got 404": 404,
		"want 200 OK, got 503 Service Unavailable": 503, "expected status 404": 404, "status-code: 503": 503,
		"status 500, 3 attempts": 500,

		"code: 503, message: denied": 0, "error code: 404": 0, "Error 1045: access denied": 0, "error: 404 rows": 0,
		"404 rows not found": 0, "status 418": 0, "response 404": 0, "server error": 0, "connection refused": 0,
		"status 500,000": 0, "error 500.5": 0, "got 503": 0,
		"order 500 not found": 0, "status 4040": 0, "line 404": 0,
	} {
		f := (&Policy{MatchText: MatchStatus}).inspect(errors.New(text))
		if f.status != want || f.typed != (want != 0) || f.serverError || f.network {
			t.Errorf("%q: status %d, want %d", text, f.status, want)
		}
		if f := new(Policy).inspect(errors.New(text)); f.status != want {
			t.Errorf("%q: status %d with words, want %d", text, f.status, want)
		}
	}
}

// A class of the policy is evidence, too, if it names a type.
func TestNamedTypeIsEvidence(t *testing.T) {
	for _, c := range []ErrorClass{
		{Class: "mine", Is: []error{errPlain}},
		{Class: "mine", As: []func(error) bool{As[*wrapper]}},
	} {
		p := &Policy{Classes: []ErrorClass{c}}
		if got := classesOf(p, fmt.Errorf("timeout: %w", &wrapper{errPlain})); got != "" {
			t.Errorf("%+v: the error is %q by its text", c, got)
		}
		if got := classesOf(p, errors.New("timeout")); got != "timeout" {
			t.Errorf("%+v: another error is %q", c, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	p := &Policy{Classes: []ErrorClass{{Class: "locked", Pattern: regexp.MustCompile(`locked|500|^$`)}}}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{errors.New("database is locked"), true},
		{&Error{Reason: ErrAttempts, Attempts: 500, Err: errPlain}, false},
		{&Error{Reason: ErrAttempts, Err: errors.New("locked")}, true},
		{ErrAttempts, false},
		{(*statusPointer)(nil), false},
		{errors.New(strings.Repeat("x", maxText) + "locked"), false},
	} {
		f := p.inspect(tt.err)
		if got := p.belongs(tt.err, &f, "locked"); got != tt.want {
			t.Errorf("%T belongs to the class: %v", tt.err, got)
		}
	}
}

func TestGRPCCodes(t *testing.T) {
	p := &Policy{Facts: grpcFacts}
	for c, want := range map[code]string{
		1: "canceled", 2: "server_error", 4: "timeout server_error", 5: "", 8: "rate_limit", 10: "", 12: "",
		13: "server_error", 14: "network server_error", 15: "server_error", 99: "server_error",
	} {
		if got := classesOf(p, fmt.Errorf("call: %w", c)); got != want {
			t.Errorf("code %d is %q, want %q", c, got, want)
		}
	}
	if got := classesOf(p, errors.New("timeout")); got != "timeout" {
		t.Errorf("an error without a code is %q", got)
	}
}

// What the request or its sender is to blame for opens no breaker.
func TestNeutralSamples(t *testing.T) {
	var b breaker.Policy
	sampleOf := func(p *Policy, b *breaker.Policy, err error) breaker.Sample { return p.Sample(b, Failure{Err: err}) }
	for status := 400; status <= 599; status++ {
		want := breaker.Failure
		if status < 500 && status != 408 && status != 425 && status != 429 || status == 501 || status == 505 {
			want = breaker.Neutral
		}
		if got := sampleOf(new(Policy), &b, statusPointerOf(status)); got != want {
			t.Errorf("status %d is sample %v, want %v", status, got, want)
		}
	}
	blamesCaller := map[code]bool{1: true, 3: true, 5: true, 6: true, 7: true, 9: true, 10: true, 11: true, 12: true,
		16: true}
	for c := code(1); c <= 16; c++ {
		if got := sampleOf(&Policy{Facts: grpcFacts}, &b, c); (got == breaker.Neutral) != blamesCaller[c] {
			t.Errorf("code %d is sample %v", c, got)
		}
	}
	if got := sampleOf(new(Policy), &b, context.Canceled); got != breaker.Neutral {
		t.Errorf("context.Canceled is sample %v", got)
	}
	conflict := ErrorClass{Class: "conflict", HTTP: [][2]int{{409, 409}}}
	counted := &breaker.Policy{Count: []string{"conflict"}}
	if got := sampleOf(&Policy{Classes: []ErrorClass{conflict}}, counted, statusPointerOf(409)); got != breaker.Failure {
		t.Errorf("a class that the breaker counts is sample %v", got)
	}
}

// A breaker counts the classes that it lists, and by default what a policy does
// not forbid.
func TestCount(t *testing.T) {
	class := func(a Action, list ...Class) Policy {
		return Policy{Classes: []ErrorClass{{Class: "mine", HTTP: [][2]int{{503, 503}}, Action: a}}, RetryOn: list}
	}
	for _, tt := range []struct {
		name   string
		policy Policy
		count  []string
		err    error
		want   breaker.Sample
	}{
		{"a refusal", Policy{}, nil, ErrBreakerOpen, breaker.Neutral},
		{"a refusal, of any error", Policy{}, []string{"any"}, ErrBreakerOpen, breaker.Neutral},
		{"a refusal, counted", Policy{}, []string{"breaker_open"}, ErrBreakerOpen, breaker.Failure},
		{"a class that is listed", class(ActionDefault), []string{"mine"}, status(503), breaker.Failure},
		{"a class that is not listed", class(ActionDefault), []string{"mine"}, status(500), breaker.Neutral},
		{"not retried", class(ActionDefault, ClassNetwork), nil, status(503), breaker.Failure},
		{"retried by its class", class(ActionRetry, ClassNetwork), nil, status(503), breaker.Failure},
		{"failed by its class", class(ActionFail, ClassNetwork), nil, status(503), breaker.Neutral},
	} {
		b := breaker.Policy{Count: tt.count}
		if got := tt.policy.Sample(&b, Failure{Err: tt.err}); got != tt.want {
			t.Errorf("%s: sample %v, want %v", tt.name, got, tt.want)
		}
	}
}

func statusPointerOf(code int) error { return &statusPointer{code} }

// A long text is not read to its end: 1 MiB cost 47 ms.
func TestLongText(t *testing.T) {
	for _, filler := range []string{"x", "x ", "é", "500 "} {
		long := strings.Repeat(filler, 1<<20/len(filler))
		if got := classesOf(new(Policy), errors.New("timeout "+long)); got != "timeout" {
			t.Errorf("%q: the start is %q", filler, got)
		}
		if got := classesOf(new(Policy), errors.New(long+" timeout")); got != "" {
			t.Errorf("%q: the end is %q", filler, got)
		}
	}
	// No word is made by the cut.
	if got := classesOf(new(Policy), errors.New(strings.Repeat(" ", maxText-len("status 500"))+"status 5000")); got != "" {
		t.Errorf("a word that is cut is %q", got)
	}
}

func BenchmarkLongText(b *testing.B) {
	p, err := &Policy{RetryOn: []Class{ClassNetwork}}, errors.New(strings.Repeat("a long text ", 1<<20/12))
	b.ReportAllocs()
	for b.Loop() {
		p.Retries(err)
	}
}

// The errors of real connections that are closed early.
func TestClosedConnections(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"no answer": func(w http.ResponseWriter, _ *http.Request) { hijack(t, w) },
		"half a body": func(w http.ResponseWriter, _ *http.Request) {
			conn := hijack(t, w)
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
		},
		"reset": func(w http.ResponseWriter, _ *http.Request) {
			conn := hijack(t, w)
			_ = conn.(*net.TCPConn).SetLinger(0)
		},
		"stream": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"stream, half a body": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(handler)
			server.EnableHTTP2 = strings.HasPrefix(name, "stream")
			server.StartTLS()
			defer server.Close()
			if name == "reset" {
				server = httptest.NewServer(handler)
				defer server.Close()
			}
			resp, err := server.Client().Get(server.URL)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if got := classesOf(&Policy{MatchText: MatchNone}, err); got != "network" {
				t.Errorf("%v (%T) is %q", err, err, got)
			}
		})
	}
}

// hijack returns the connection of a request, which is closed after it.
func hijack(t *testing.T, w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { _ = conn.Close() })
	return conn
}

// A server announces the end of an HTTP/2 connection with GOAWAY.
func TestGoAway(t *testing.T) {
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	// The last stream is 1, and the code is INTERNAL_ERROR.
	goAway := "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, settings)
		_, _ = io.CopyN(io.Discard, conn, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
		const headers = 1 // the type of the frame with the request
		for frame := [9]byte{}; frame[3] != headers; {
			if _, err := io.ReadFull(conn, frame[:]); err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, conn, int64(frame[1])<<8|int64(frame[2]))
		}
		_, _ = io.WriteString(conn, goAway)
	}()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get("http://" + listener.Addr().String())
	if err == nil {
		_ = resp.Body.Close()
	}
	if got := classesOf(&Policy{MatchText: MatchNone}, err); got != "network" {
		t.Errorf("%v (%T) is %q", err, errors.Unwrap(err), got)
	}
}

// A tree without an end is the callee's bug, and must not hang the call.
func TestCyclicError(t *testing.T) {
	ring := &wrapper{}
	ring.err = ring
	branches := &joined{}
	branches.list = []error{branches, branches, status(503)}
	p := &Policy{
		RetryOn: []Class{ClassTransient}, Facts: grpcFacts,
		Classes: []ErrorClass{{
			Class: "mine", Is: []error{errPlain}, As: []func(error) bool{As[code]},
			Pattern: regexp.MustCompile("x"), Action: ActionFail,
		}},
	}
	for _, err := range []error{ring, branches, &wrapper{ring}} {
		if p.Retries(err) {
			t.Errorf("%T is retried", err)
		}
	}
}

// A tree is visited up to a number of errors, of which no real one has so many.
func TestLongChain(t *testing.T) {
	err := error(syscall.ECONNRESET)
	for range maxErrors - 1 {
		err = &wrapper{err}
	}
	if got := classesOf(new(Policy), err); got != "network" {
		t.Errorf("%d errors are %q", maxErrors, got)
	}
	if got := classesOf(new(Policy), &wrapper{err}); got != "" {
		t.Errorf("%d errors are %q", maxErrors+1, got)
	}
}

type joined struct{ list []error }

func (j *joined) Error() string   { return fmt.Sprint(j.list) }
func (j *joined) Unwrap() []error { return j.list }

// FuzzClassify builds trees of errors, sound or not, and asks everything about
// them. No tree makes classification panic or hang, and evidence is the same
// however often it is asked for.
func FuzzClassify(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, "status 503")
	f.Add([]byte{9, 8, 7, 20, 21, 22, 5}, "timeout")
	f.Add([]byte{10, 11, 12, 13, 14, 15, 16, 17}, "HTTP/1.1 500 \xff")
	f.Add([]byte{5, 7, 12}, "a cycle inside of a net.Error")
	f.Fuzz(func(t *testing.T, shape []byte, text string) {
		p := &Policy{
			RetryOn: []Class{ClassTransient, "mine"}, AbortOn: []Class{ClassCanceled}, Facts: grpcFacts,
			Classes: []ErrorClass{
				{Class: "mine", Is: []error{errPlain}, As: []func(error) bool{As[*wrapper]}, Action: ActionRetry},
			},
			PerError: []Override{{Class: ClassNetwork}},
		}
		err := tree(shape, text)
		first, class := p.Retries(err), classesOf(p, err)
		if err == nil {
			return
		}
		facts := p.inspect(err)
		_, _ = p.class(err, &facts), p.override(err, &facts)
		_ = p.Sample(new(breaker.Policy), Failure{Err: err})
		if p.Retries(err) != first || classesOf(p, err) != class {
			t.Errorf("%x: two answers about one error", shape)
		}
	})
}

// tree builds an error from a program for a stack of errors.
func tree(shape []byte, text string) error {
	stack := []error{errors.New(text)}
	for _, op := range shape {
		top := stack[len(stack)-1]
		switch op % 20 {
		case 0:
			stack = append(stack, status(int(op)*4))
		case 1:
			stack = append(stack, (*statusPointer)(nil))
		case 2:
			stack = append(stack, (*wrapper)(nil))
		case 3:
			stack = append(stack, &wrapper{top})
		case 4:
			stack = append(stack, &joined{stack})
		case 5:
			j := &joined{stack}
			j.list = append(j.list[:len(j.list):len(j.list)], j)
			stack = append(stack, j)
		case 6:
			w := new(wrapper)
			w.err = w
			stack = append(stack, w)
		case 7:
			stack = append(stack, &Error{Reason: ErrAttempts, Attempts: int(op), Err: top})
		case 8:
			stack = append(stack, &Error{Reason: ErrBreakerOpen, Cause: top})
		case 9:
			stack = append(stack, Permanent(top))
		case 10:
			stack = append(stack, After(top, time.Duration(op)))
		case 11:
			stack = append(stack, &url.Error{Op: "Get", Err: top})
		case 12:
			stack = append(stack, &net.OpError{Op: "read", Err: top})
		case 13:
			stack = append(stack, io.EOF)
		case 14:
			stack = append(stack, syscall.Errno(op))
		case 15:
			stack = append(stack, context.Canceled)
		case 16:
			stack = append(stack, code(op))
		case 17:
			stack = append(stack, asserted{top})
		case 18:
			stack = append(stack, &joined{[]error{nil, top, nil}})
		case 19:
			stack = append(stack, ErrDeadline)
		}
	}
	return stack[len(stack)-1]
}

// TestJudge compares what policies make of errors, at the ends of their ranges.
func TestJudge(t *testing.T) {
	class := func(action Action, ranges ...[2]int) Policy {
		return Policy{Classes: []ErrorClass{{Class: "mine", HTTP: ranges, Action: action}}}
	}
	only := func(p Policy) Policy { p.RetryOn = []Class{"mine"}; return p }
	rate := Policy{RetryOn: []Class{ClassRateLimit}}
	server := Policy{RetryOn: []Class{ClassServerError}}
	for _, tt := range []struct {
		name   string
		policy Policy
		status map[int]verdict
	}{
		{"no classes", Policy{}, map[int]verdict{
			399: unclassifiedError, 400: permanentError, 401: escalatedError, 402: retriedError, 403: escalatedError,
			404: permanentError,
			405: retriedError, 421: retriedError, 422: permanentError, 423: retriedError,
		}},
		{"server_error", server,
			map[int]verdict{499: permanentError, 500: retriedError, 599: retriedError, 600: unclassifiedError}},
		{"rate_limit", rate, map[int]verdict{428: permanentError, 429: retriedError, 430: permanentError}},
		{"a class", only(class(ActionDefault, [2]int{410, 412})), map[int]verdict{
			409: permanentError, 410: retriedError, 412: retriedError, 413: permanentError,
		}},
		{"two classes", Policy{
			Classes: []ErrorClass{{Class: "other", HTTP: [][2]int{{500, 500}}}, {Class: "mine", HTTP: [][2]int{{503, 503}}}},
			RetryOn: []Class{"mine"},
		}, map[int]verdict{500: permanentError, 503: retriedError}},
		{"retry", class(ActionRetry, [2]int{400, 499}),
			map[int]verdict{400: retriedError, 401: retriedError, 403: retriedError}},
		{"fail", class(ActionFail, [2]int{401, 503}), map[int]verdict{
			401: permanentError, 403: permanentError, 503: permanentError, 504: retriedError,
		}},
		{"escalate", class(ActionEscalate, [2]int{503, 503}), map[int]verdict{503: escalatedError, 504: retriedError}},
		{"the first class with an action", Policy{Classes: []ErrorClass{
			{Class: "none", HTTP: [][2]int{{500, 500}}},
			{Class: "first", HTTP: [][2]int{{500, 501}}, Action: ActionFail},
			{Class: "second", HTTP: [][2]int{{500, 502}}, Action: ActionEscalate},
		}}, map[int]verdict{500: retriedError, 501: permanentError, 502: escalatedError, 503: retriedError}},
	} {
		for code, want := range tt.status {
			err := statusPointerOf(code)
			f := tt.policy.inspect(err)
			if got := tt.policy.judge(err, &f); got != want {
				t.Errorf("%s: status %d is %d, want %d", tt.name, code, got, want)
			}
		}
	}
	if new(Policy).Retries(nil) {
		t.Error("nil is retried")
	}
	// An error without a status belongs to no range.
	all := only(class(ActionDefault, [2]int{0, 999}))
	if all.Retries(errPlain) {
		t.Error("an error without a status belongs to a range of statuses")
	}
}

// The class of an event is the first that has the error.
func TestReportedClass(t *testing.T) {
	p := Policy{Classes: []ErrorClass{
		{Class: "teapot", HTTP: [][2]int{{418, 418}}},
		{Class: "eof", Is: []error{io.EOF}},
	}}
	for err, want := range map[error]Class{
		status(418): "teapot", status(404): "", status(503): ClassServerError, io.EOF: "eof", After(io.EOF, 0): "eof",
		ErrBreakerOpen: ClassBreakerOpen, context.Canceled: ClassCanceled, context.DeadlineExceeded: ClassTimeout,
	} {
		f := p.inspect(err)
		if got := p.class(err, &f); got != want {
			t.Errorf("%v is of class %q, want %q", err, got, want)
		}
	}
}

// Of several requests to wait the longest counts.
func TestJoinedRequests(t *testing.T) {
	for want, err := range map[time.Duration]error{
		2: After(After(errPlain, 1), 2),
		3: errors.Join(After(errPlain, 3), After(errPlain, -1)),
		5: errors.Join(After(errPlain, 4), After(errPlain, 5)),
	} {
		if f := new(Policy).inspect(err); f.after != want || !f.asked {
			t.Errorf("the error asks for %v, want %v", f.after, want)
		}
	}
	f := new(Policy).inspect(Permanent(errPlain))
	if f.asked || f.rateLimit || !f.permanent {
		t.Errorf("a permanent error asks for a wait: %+v", f)
	}
}
