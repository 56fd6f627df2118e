package clients

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/bwmarrin/discordgo"
	"github.com/google/go-github/v72/github"
	consul "github.com/hashicorp/consul/api"
	vault "github.com/hashicorp/vault/api"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stripe/stripe-go/v82"
	gitlab "gitlab.com/gitlab-org/api/client-go"
	"google.golang.org/genai"
)

// served are calls of clients to a server at url, which make one attempt: with what
// their presets name for it.
var served = []struct {
	preset string
	call   func(ctx context.Context, url string) error
}{
	{"anthropic", func(ctx context.Context, url string) error {
		c := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("k"),
			anthropicoption.WithMaxRetries(0))
		_, err := c.Models.Get(ctx, "m", anthropic.ModelGetParams{})
		return err
	}},
	{"consul", func(_ context.Context, url string) error {
		c, err := consul.NewClient(&consul.Config{Address: url})
		if err != nil {
			return err
		}
		_, err = c.Catalog().Datacenters()
		return err
	}},
	{"discord", func(ctx context.Context, url string) error {
		s, err := discordgo.New("Bot t")
		if err != nil {
			return err
		}
		s.MaxRestRetries, s.ShouldRetryOnRateLimit = 0, false
		_, err = s.RequestWithBucketID(http.MethodGet, url, nil, url, discordgo.WithContext(ctx))
		return err
	}},
	{"genai", func(ctx context.Context, url string) error {
		c, err := genai.NewClient(ctx, &genai.ClientConfig{
			APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
		})
		if err != nil {
			return err
		}
		_, err = c.Models.Get(ctx, "m", nil)
		return err
	}},
	{"github", func(ctx context.Context, url string) error {
		c, err := github.NewClient(nil).WithEnterpriseURLs(url, url)
		if err != nil {
			return err
		}
		_, _, err = c.Repositories.Get(ctx, "o", "r")
		return err
	}},
	{"gitlab", func(ctx context.Context, url string) error {
		c, err := gitlab.NewClient("t", gitlab.WithBaseURL(url), gitlab.WithoutRetries())
		if err != nil {
			return err
		}
		_, _, err = c.Version.GetVersion(gitlab.WithContext(ctx))
		return err
	}},
	{"minio", func(ctx context.Context, url string) error {
		c, err := minio.New(strings.TrimPrefix(url, "http://"), &minio.Options{
			Creds: credentials.NewStaticV4("a", "b", ""), Region: "r", MaxRetries: 1,
		})
		if err != nil {
			return err
		}
		_, err = c.StatObject(ctx, "bucket", "key", minio.StatObjectOptions{})
		return err
	}},
	{"openai", func(ctx context.Context, url string) error {
		c := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithMaxRetries(0))
		_, err := c.Models.Get(ctx, "m")
		return err
	}},
	{"stripe", func(_ context.Context, url string) error {
		backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
			URL: stripe.String(url), MaxNetworkRetries: stripe.Int64(0), LeveledLogger: &stripe.LeveledLogger{},
		})
		return backend.Call(http.MethodGet, "/v1/balance", "k", nil, new(stripe.Balance))
	}},
	{"vault", func(ctx context.Context, url string) error {
		config := vault.DefaultConfig()
		config.Address, config.MaxRetries = url, 0
		c, err := vault.NewClient(config)
		if err != nil {
			return err
		}
		_, err = c.Logical().WriteWithContext(ctx, "secret/a", nil) // a read of what does not exist returns no error
		return err
	}},
}

// TestServed: a 404 is not retried and a 503 is, with the errors that the clients
// return for the answers of a server, which gets one request.
func TestServed(t *testing.T) {
	withPresets := &stages[len(stages)-1]
	for _, c := range served {
		for status, want := range map[int]wanted{404: permanent, 503: transient} {
			var requests atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = fmt.Fprintf(w, `{"error": {"code": %d, "message": "m"}, "message": "m"}`, status)
			}))
			err := c.call(t.Context(), s.URL)
			s.Close()
			if !withPresets.right(failure{want: want, err: err}) {
				t.Errorf("%s: %d is not %s: %T %v", c.preset, status, want, err, err)
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("%s: %d: %d requests, want 1", c.preset, status, n)
			}
		}
	}
}
