package grpcretry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	retry "github.com/retrygen/retrygen/runtime"
)

// server fails with a code a number of times.
type server struct {
	health.UnimplementedHealthServer
	code     codes.Code
	failures int
	calls    int
}

func (s *server) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if s.calls++; s.calls <= s.failures {
		return nil, status.Error(s.code, "not now")
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

// TestCodes makes calls through a real connection.
func TestCodes(t *testing.T) {
	for _, tt := range []struct {
		code     codes.Code
		failures int
		calls    int
		is       error
	}{
		{codes.Unavailable, 2, 3, nil},
		{codes.ResourceExhausted, 9, 3, retry.ErrAttempts},
		{codes.NotFound, 9, 1, nil},
		{codes.PermissionDenied, 9, 1, retry.ErrEscalated},
	} {
		s := &server{code: tt.code, failures: tt.failures}
		_, err := NewRetryHealthClient(dial(t, s)).Check(t.Context(), &health.HealthCheckRequest{})
		if s.calls != tt.calls || tt.failures < tt.calls && err != nil ||
			tt.failures >= tt.calls && status.Code(err) != tt.code || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%v: %d calls, %v; want %d", tt.code, s.calls, err, tt.calls)
		}
	}
}

func dial(t *testing.T, s *server) health.HealthClient {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	g := grpc.NewServer()
	health.RegisterHealthServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient("passthrough:health", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return health.NewHealthClient(conn)
}

// TestBuiltIn: codes belong to the built-in classes.
func TestBuiltIn(t *testing.T) {
	for code, want := range map[codes.Code][]retry.Class{
		codes.Unavailable:       {retry.ClassNetwork, retry.ClassServerError},
		codes.DeadlineExceeded:  {retry.ClassTimeout, retry.ClassServerError},
		codes.ResourceExhausted: {retry.ClassRateLimit},
		codes.Internal:          {retry.ClassServerError},
		codes.Unimplemented:     nil,
		codes.NotFound:          nil,
	} {
		var got []retry.Class
		for _, class := range []retry.Class{retry.ClassNetwork, retry.ClassTimeout, retry.ClassServerError,
			retry.ClassRateLimit} {
			only := retry.Policy{Facts: retryFacts, RetryOn: []retry.Class{class}}
			if only.Retries(status.Error(code, "timed out")) {
				got = append(got, class)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v is %v, want %v", code, got, want)
		}
	}
	def := retry.Policy{Facts: retryFacts}
	for code, want := range map[codes.Code]bool{codes.InvalidArgument: false, codes.Unauthenticated: false,
		codes.Aborted: true, codes.Unknown: true} {
		if retried := def.Retries(status.Error(code, "no")); retried != want {
			t.Errorf("%v is retried: %v", code, retried)
		}
	}
}

// TestRetryInfo: the wait in the details of a status is that of the error.
func TestRetryInfo(t *testing.T) {
	with, err := status.New(codes.Unavailable, "not now").WithDetails(
		&errdetails.ErrorInfo{Reason: "busy"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	want := retry.Facts{GRPC: uint32(codes.Unavailable), RetryAfter: 3 * time.Second}
	if f, ok := retryFacts(fmt.Errorf("call: %w", with.Err())); f != want || !ok {
		t.Errorf("got %+v, want %+v", f, want)
	}
}

// TestHTTP2: the errors of x/net are those of the network, as their copies in
// net/http are.
func TestHTTP2(t *testing.T) {
	network := retry.Policy{RetryOn: []retry.Class{retry.ClassNetwork}, MatchText: retry.MatchNone}
	for _, err := range []error{
		http2.StreamError{StreamID: 1, Code: http2.ErrCodeInternal},
		http2.ConnectionError(http2.ErrCodeProtocol),
		http2.GoAwayError{ErrCode: http2.ErrCodeNo},
	} {
		if !network.Retries(fmt.Errorf("call: %w", err)) {
			t.Errorf("%T is no network error", err)
		}
	}
}

// TestWrapped: the code is also found in an error that others wrap.
func TestWrapped(t *testing.T) {
	is := hasCode(codes.Aborted)
	for err, want := range map[error]bool{
		fmt.Errorf("commit: %w", status.Error(codes.Aborted, "conflict")): true,
		status.Error(codes.Internal, "broken"):                            false,
		errors.New("aborted"):                                             false,
		context.Canceled:                                                  false,
	} {
		if got := is(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
