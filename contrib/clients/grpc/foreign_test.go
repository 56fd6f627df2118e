package grpcretry

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/policy"
)

// A recorder fails every call and records when it was made.
type recorder struct {
	health.UnimplementedHealthServer
	code  codes.Code
	hangs bool // until the call is ended
	calls []time.Time
}

// Check implements the method that the test calls.
func (r *recorder) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	r.calls = append(r.calls, time.Now())
	if r.hangs {
		<-ctx.Done()
	}
	return nil, status.Error(r.code, "not now")
}

// TestServiceConfig: clients of grpc-go accept the service config that a policy file
// is exported to, and do what the policy says: as many attempts, for the same codes,
// with delays within its bounds, and no longer than its timeout.
func TestServiceConfig(t *testing.T) {
	for name, tt := range map[string]struct {
		policies string
		code     codes.Code
		hangs    bool
		attempts int
		within   time.Duration
		want     codes.Code
	}{
		"exponential": {
			policies: "read: {max_attempts: 5, initial_delay: 100ms, max_delay: 9s, jitter: 0.2, timeout: 1m, retry_on: [busy]}",
			code:     codes.Unavailable, attempts: 5, within: 2 * time.Second, want: codes.Unavailable,
		},
		"another base": {
			policies: "read: {max_attempts: 4, backoff: {exponential: {base: 3}}, max_delay: none, jitter: 0.2}",
			code:     codes.Aborted, attempts: 4, within: 20 * time.Second, want: codes.Aborted,
		},
		"equal delays": {
			policies: "read: {max_attempts: 3, backoff: fixed, initial_delay: 2s, jitter: 0.2, retry_on: [transient]}",
			code:     codes.ResourceExhausted, attempts: 3, within: 5 * time.Second, want: codes.ResourceExhausted,
		},
		"a code that is not retried": {
			policies: "read: {max_attempts: 5, initial_delay: 1s, jitter: 0.2, retry_on: [busy]}",
			code:     codes.NotFound, attempts: 1, want: codes.NotFound,
		},
		"a permanent code": {
			policies: "read: {max_attempts: 5, initial_delay: 1s, jitter: 0.2}",
			code:     codes.InvalidArgument, attempts: 1, want: codes.InvalidArgument,
		},
		"one attempt": {
			policies: "read: {max_attempts: 1, timeout: 5s}",
			code:     codes.Unavailable, attempts: 1, want: codes.Unavailable,
		},
		"the timeout ends the call": {
			policies: "read: {max_attempts: 3, initial_delay: 1s, jitter: 0.2, timeout: 5s}",
			code:     codes.Unavailable, hangs: true, attempts: 1, within: 5 * time.Second, want: codes.DeadlineExceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := "version: 1\nerrors: {busy: {grpc: [UNAVAILABLE, ABORTED]}}\npolicies:\n" +
				"  # bind: grpc.health.v1.Health/Check\n  " + tt.policies + "\n"
			file, problems := policy.Check("retry.yaml", []byte(text))
			if file == nil {
				t.Fatal(problems)
			}
			config, _, problems := foreign.Export(foreign.ByName("grpc"), "retry.yaml", []byte(text))
			if problems != nil {
				t.Fatal(problems)
			}
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{code: tt.code, hangs: tt.hangs}
				start := time.Now()
				_, err := dialConfig(t, r, string(config)).Check(t.Context(), &health.HealthCheckRequest{})
				if status.Code(err) != tt.want || len(r.calls) != tt.attempts || time.Since(start) > tt.within {
					t.Errorf("%d attempts, %v after %v; want %d, %v within %v", len(r.calls), err, time.Since(start), tt.attempts,
						tt.want, tt.within)
				}
				for k := 1; k < len(r.calls); k++ {
					least, _, most := file.Policies[0].Bounds(k, 0)
					if wait := r.calls[k].Sub(r.calls[k-1]); wait < least || wait > most {
						t.Errorf("wait %d is %v; want from %v to %v", k, wait, least, most)
					}
				}
			})
		})
	}
}

// dialConfig returns a client of a server with a service config.
func dialConfig(t *testing.T, s health.HealthServer, config string) health.HealthClient {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	g := grpc.NewServer()
	health.RegisterHealthServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient("passthrough:health", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(config),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatalf("grpc-go refuses the service config: %v\n%s", err, config)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return health.NewHealthClient(conn)
}
