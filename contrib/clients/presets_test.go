package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/IBM/sarama"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/containerd/errdefs"
	"github.com/gocql/gocql"
	"github.com/google/go-github/v72/github"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/minio/minio-go/v7"
	"github.com/nats-io/nats.go"
	"github.com/openai/openai-go/v3"
	"github.com/opensearch-project/opensearch-go/v4"
	"github.com/slack-go/slack"
	"github.com/stripe/stripe-go/v82"
	twilio "github.com/twilio/twilio-go/client"
	"github.com/twitchtv/twirp"
	mongo1 "go.mongodb.org/mongo-driver/mongo"
	"golang.org/x/crypto/ssh"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	kubernetes "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	retry "github.com/retrygen/retrygen/runtime"
)

// TestPresets: what the presets say about errors that the survey does not have.
func TestPresets(t *testing.T) {
	withPresets := &stages[len(stages)-1]
	pods := schema.GroupResource{Resource: "pods"}
	quota := response(404)
	quota.Header = http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"60"}}
	for _, f := range []failure{
		{"azure: a fake without a response", permanent, &azcore.ResponseError{StatusCode: 404}},
		{"azure: the code of storage that is busy", throttled,
			&azcore.ResponseError{StatusCode: 503, ErrorCode: "ServerBusy"}},
		{"aws: an answer without a code", transient,
			&smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: response(503)}, Err: errors.New("x")}},
		{"aws: no response", permanent, &smithyhttp.ResponseError{Err: errors.New("x")}},
		{"google: a quota of the day", permanent, &googleapi.Error{Code: 403,
			Errors: []googleapi.ErrorItem{{Reason: "dailyLimitExceeded"}}}},
		{"google: 404 with a quota that is used up", permanent, &googleapi.Error{Code: 404, Header: quota.Header}},
		{"connect: not found with a quota that is used up", permanent, connectError(connect.CodeNotFound, quota.Header)},
		{"kubernetes: expired", permanent, kubernetes.NewResourceExpired("m")},
		{"kubernetes: timeout", transient, kubernetes.NewTimeoutError("m", 3)},
		{"kubernetes: exists", permanent, kubernetes.NewAlreadyExists(pods, "p")},
		{"minio: a pointer", permanent, &minio.ErrorResponse{StatusCode: 404, Code: "NoSuchKey"}},
		{"minio: slow down", throttled, minio.ErrorResponse{StatusCode: 503, Code: "SlowDown"}},
		{"openai: no money", permanent, &openai.Error{StatusCode: 429, Code: "insufficient_quota"}},
		{"stripe: a card declined, of another type", permanent,
			&stripe.Error{HTTPStatusCode: 402, Type: stripe.ErrorTypeInvalidRequest}},
		{"github: a second factor", permanent, &github.TwoFactorAuthError{Response: response(401)}},
		{"slack: an error of the server", transient, slack.SlackErrorResponse{Err: "internal_error"}},
		{"twilio: the other type", permanent, &twilio.RestErrorV1{HttpStatusCode: 404, Code: 503}},
		{"discord: attempts exhausted", transient, errors.New("Exceeded Max retries HTTP 502 Bad Gateway, x")},
		{"opensearch: the status is text", transient, &opensearch.ReasonError{Status: "503"}},
		{"opensearch: the status is text, of the request", permanent, opensearch.MessageError{Status: "404"}},
		{"oauth2: try later", transient, &oauth2.RetrieveError{Response: response(400),
			ErrorCode: "temporarily_unavailable"}},
		{"twirp: aborted", conflict, twirp.NewError(twirp.Aborted, "m")},
		{"twirp: a bad route", permanent, twirp.NewError(twirp.BadRoute, "m")},
		{"docker: forbidden", permanent, fmt.Errorf("pull: %w", errdefs.ErrPermissionDenied)},
		{"docker: out of resources", throttled, errdefs.ErrResourceExhausted},
		{"pgx: a protocol violation", permanent, &pgconn.PgError{Code: "08P01"}},
		{"pgx: a broken connection", transient, &pgconn.PgError{Code: "08006"}},
		{"mongo: a duplicate key", permanent, mongo1.WriteException{WriteErrors: mongo1.WriteErrors{{Code: 11000}}}},
		{"cassandra: an overloaded node", transient, cassandra[gocql.RequestErrUnavailable](gocql.ErrCodeOverloaded)},
		{"nats: another sequence", conflict, &nats.APIError{Code: 400, ErrorCode: nats.JSErrCodeStreamWrongLastSequence}},
		{"nats: no JetStream", permanent, &nats.APIError{Code: 503, ErrorCode: nats.JSErrCodeJetStreamNotEnabled}},
		{"kafka: a producer's error", transient, &sarama.ProducerError{Msg: &sarama.ProducerMessage{},
			Err: sarama.ErrNotEnoughReplicas}},
		{"ssh: a channel refused", permanent, &ssh.OpenChannelError{Reason: ssh.Prohibited}},
		{"grpc: a deadline", transient, status.Error(codes.DeadlineExceeded, "m")},
	} {
		if !withPresets.right(f) {
			t.Errorf("%s: %T is not %s", f.name, f.err, f.want)
		}
	}
}

// TestUntyped: a client's error in the text of another one says nothing, and one
// among others does.
func TestUntyped(t *testing.T) {
	known := runtime.NewResponseError(response(503))
	if err := fmt.Errorf("get: %v", errors.New("x")); policyRead.Retries(err) {
		t.Errorf("%v is retried", err)
	}
	if err := errors.Join(errors.New("x"), known); !policyRead.Retries(err) {
		t.Errorf("%v is not retried", err)
	}
}

// TestWaits makes calls through the generated code. They wait as long as the error
// asks.
func TestWaits(t *testing.T) {
	wants := map[string]time.Duration{
		"azcore 429":               7 * time.Second,
		"googleapi 429":            7 * time.Second,
		"openai-go 429":            7 * time.Second,
		"anthropic 429":            7 * time.Second,
		"gitlab 429":               7 * time.Second,
		"oauth2 429":               7 * time.Second,
		"kubernetes 429":           7 * time.Second,
		"grpc UNAVAILABLE":         3 * time.Second,
		"gax apierror UNAVAILABLE": 3 * time.Second,
		"go-github 403 rate limit": time.Minute,
		"go-github 403 abuse":      9 * time.Second,
		"discordgo 429":            time.Second,
	}
	var seen []string
	for _, c := range slices.Concat(webClients(t), cloudClients(t)) {
		for _, f := range c.failures {
			name := c.name + " " + f.name
			want, ok := wants[name]
			if !ok {
				continue
			}
			seen = append(seen, name)
			synctest.Test(t, func(t *testing.T) {
				start, failures := time.Now(), 0
				_, err := Strict(t.Context(), func(context.Context) (int, error) {
					if failures++; failures == 1 {
						return 0, f.err
					}
					return 1, nil
				})
				if waited := time.Since(start).Round(time.Second); err != nil || waited != want {
					t.Errorf("%s: waited %v, %v, want %v", name, waited, err, want)
				}
			})
		}
	}
	if len(seen) != len(wants) {
		t.Errorf("of %d errors that ask for a wait, the survey has %q", len(wants), seen)
	}
}

// sdks are ten clients of services that many programs have.
var sdks = []string{
	"aws-sdk-go-v2", "azcore", "googleapi", "kubernetes", "openai-go", "anthropic", "stripe", "go-github", "minio",
	"slack",
}

// TestSDKs counts the SDKs whose statuses 404 and 503 a policy distinguishes from each
// other: all with presets, and without any those that have a method or a status in
// their text.
func TestSDKs(t *testing.T) {
	all := allClients(t)
	for i, want := range []int{1, 7, len(sdks)} {
		s := &stages[i]
		var seen []string
		for _, name := range sdks {
			at := slices.IndexFunc(all, func(c client) bool { return c.name == name })
			if at < 0 {
				t.Fatalf("the survey has no %s", name)
			}
			if !slices.ContainsFunc(all[at].failures, func(f failure) bool {
				return (f.name == "404" || f.name == "503") && !(s.knows(f) && s.right(f))
			}) {
				seen = append(seen, name)
			}
		}
		if len(seen) < want {
			t.Errorf("%s: %d of %d SDKs: %q, want at least %d", s.name, len(seen), len(sdks), seen, want)
		}
	}
}

// knows reports whether an error is not of class unknown.
func (s *stage) knows(f failure) bool {
	unknown := *s.throttle
	unknown.RetryOn = []retry.Class{retry.ClassUnknown}
	return !unknown.Retries(f.err)
}

func connectError(code connect.Code, header http.Header) error {
	e := connect.NewError(code, errors.New("m"))
	for key, values := range header {
		e.Meta()[key] = values
	}
	return e
}
