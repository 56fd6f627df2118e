package clients

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go/aws/awserr"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/cloudflare/cloudflare-go"
	docker "github.com/docker/docker/client"
	"github.com/elastic/go-elasticsearch/v8/typedapi/types"
	"github.com/googleapis/gax-go/v2/apierror"
	consul "github.com/hashicorp/consul/api"
	nomad "github.com/hashicorp/nomad/api"
	vault "github.com/hashicorp/vault/api"
	"github.com/meilisearch/meilisearch-go"
	"github.com/minio/minio-go/v7"
	"github.com/opensearch-project/opensearch-go/v4"
	"google.golang.org/api/googleapi"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	kubernetes "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cloudClients are clients of clouds and of what runs in them.
func cloudClients(t *testing.T) []client {
	pods := schema.GroupResource{Resource: "pods"}
	gax := func(err error) error {
		e, ok := apierror.FromError(err)
		if !ok {
			t.Fatalf("gax does not know %v", err)
		}
		return e
	}
	return []client{
		{"aws-sdk-go-v2", awsFailures(t)},
		{"aws-sdk-go v1", []failure{
			{"404", permanent, awserr.NewRequestFailure(awserr.New("NoSuchKey", "m", nil), 404, "id")},
			{"503", transient, awserr.NewRequestFailure(awserr.New("ServiceUnavailable", "m", nil), 503, "id")},
			{"400 throttled", throttled, awserr.NewRequestFailure(awserr.New("ThrottlingException", "Rate exceeded", nil),
				400, "id")},
		}},
		{"azcore", standard(func(code int) error { return runtime.NewResponseError(response(code)) })},
		{"googleapi", append(standard(func(code int) error { return googleapi.CheckResponse(response(code)) }),
			failure{"403 rateLimitExceeded", throttled,
				&googleapi.Error{Code: 403, Errors: []googleapi.ErrorItem{{Reason: "rateLimitExceeded"}}}})},
		{"gax apierror", []failure{
			{"NOT_FOUND", permanent, gax(status.Error(codes.NotFound, "m"))},
			{"UNAVAILABLE", transient, gax(unavailable(t))},
		}},
		{"grpc", []failure{
			{"NOT_FOUND", permanent, status.Error(codes.NotFound, "m")},
			{"UNAVAILABLE", transient, unavailable(t)},
			{"RESOURCE_EXHAUSTED", throttled, status.Error(codes.ResourceExhausted, "m")},
			{"UNAUTHENTICATED", permanent, status.Error(codes.Unauthenticated, "m")},
			{"ABORTED", conflict, status.Error(codes.Aborted, "m")},
			{"UNIMPLEMENTED", permanent, status.Error(codes.Unimplemented, "m")},
			{"ALREADY_EXISTS", permanent, status.Error(codes.AlreadyExists, "m")},
		}},
		{"kubernetes", []failure{
			{"404", permanent, kubernetes.NewNotFound(pods, "p")},
			{"401", permanent, kubernetes.NewUnauthorized("x")},
			{"503", transient, kubernetes.NewServiceUnavailable("m")},
			{"429", throttled, kubernetes.NewTooManyRequests("slow", 7)},
			{"409", conflict, kubernetes.NewConflict(pods, "p", errors.New("m"))},
			{"500 server timeout", transient, kubernetes.NewServerTimeout(pods, "get", 3)},
		}},
		{"minio", standard(func(code int) error { return minio.ErrorResponse{StatusCode: code, Code: "X", Message: "m"} })},
		{"docker", []failure{
			{"404", permanent, dockerInspect(t, 404)},
			{"401", permanent, dockerInspect(t, 401)},
			{"503", transient, dockerInspect(t, 503)},
			{"409", conflict, dockerInspect(t, 409)},
		}},
		{"vault", standard(func(code int) error {
			return &vault.ResponseError{StatusCode: code, HTTPMethod: "GET", URL: "u"}
		})},
		{"consul", standard(func(code int) error { return consul.StatusError{Code: code, Body: "b"} })},
		{"nomad", standard(func(code int) error {
			c, err := nomad.NewClient(&nomad.Config{Address: answer(t, code, "b")})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = c.Jobs().Info("j", nil)
			return err
		})},
		{"cloudflare v0", standard(func(code int) error {
			c, err := cloudflare.NewWithAPIToken("t", cloudflare.UsingRetryPolicy(0, 0, 0),
				cloudflare.BaseURL(answer(t, code, `{"success":false,"errors":[{"code":1,"message":"m"}]}`)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.UserDetails(t.Context())
			return err
		})},
		{"elasticsearch typed", standard(func(code int) error {
			return &types.ElasticsearchError{Status: code, ErrorCause: types.ErrorCause{Type: "t"}}
		})},
		{"opensearch", standard(func(code int) error {
			return &opensearch.StructError{Status: code, Err: opensearch.Err{Type: "t"}}
		})},
		{"meilisearch", standard(func(code int) error {
			c := meilisearch.New(answer(t, code, `{"message":"m","code":"c"}`), meilisearch.DisableRetries())
			_, err := c.GetIndex("i")
			return err
		})},
	}
}

// awsFailures returns failures of an operation of AWS. What should follow is what
// the retries of the SDK itself do.
func awsFailures(t *testing.T) []failure {
	operation := func(status int, code string) error {
		return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "GetItem", Err: &awshttp.ResponseError{
			RequestID: "id",
			ResponseError: &smithyhttp.ResponseError{
				Response: &smithyhttp.Response{Response: response(status)},
				Err:      &smithy.GenericAPIError{Code: code, Message: "m"},
			},
		}}
	}
	list := []failure{
		{"404", permanent, operation(404, "ResourceNotFoundException")},
		{"403", permanent, operation(403, "AccessDeniedException")},
		{"503", transient, operation(503, "ServiceUnavailable")},
		{"400 throttled", throttled, operation(400, "ProvisionedThroughputExceededException")},
		{"400 condition", permanent, operation(400, "ConditionalCheckFailedException")},
	}
	for _, f := range list {
		own := awsretry.IsErrorRetryables(awsretry.DefaultRetryables).IsErrorRetryable(f.err) == aws.TrueTernary
		if own != (f.want != permanent) {
			t.Errorf("aws: the SDK itself does not agree that %s is %s", f.name, f.want)
		}
	}
	return list
}

// unavailable returns an error of gRPC that asks for a wait of 3 seconds.
func unavailable(t *testing.T) error {
	t.Helper()
	info := &errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)}
	s, err := status.New(codes.Unavailable, "m").WithDetails(info)
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

// dockerInspect returns the error of a call to a server of Docker.
func dockerInspect(t *testing.T, code int) error {
	t.Helper()
	host := "tcp://" + strings.TrimPrefix(answer(t, code, `{"message":"m"}`), "http://")
	c, err := docker.NewClientWithOpts(docker.WithHost(host), docker.WithVersion("1.45"),
		docker.WithHTTPClient(http.DefaultClient))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ContainerInspect(t.Context(), "x")
	return err
}
