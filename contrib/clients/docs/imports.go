//go:build docs

package docs

// The packages that the code on the pages imports.
import (
	_ "github.com/avast/retry-go/v5"
	_ "github.com/aws/aws-sdk-go-v2/aws"
	_ "github.com/aws/aws-sdk-go-v2/service/s3"
	_ "github.com/cenkalti/backoff/v7"
	_ "github.com/failsafe-go/failsafe-go"
	_ "github.com/hashicorp/go-retryablehttp"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/retrygen/retrygen/contrib/sqlite"
	_ "github.com/sethvargo/go-retry"
	_ "github.com/sony/gobreaker/v2"
	_ "google.golang.org/grpc"
)
