package bypassedretry

import (
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	gitlab "gitlab.com/gitlab-org/api/client-go"
)

type registry struct{ client *http.Client }

func newSDK(client *http.Client) any { return client }

func returned() *http.Client {
	c := retryablehttp.NewClient()
	c.RetryMax = 5
	return c.HTTPClient // want `only the HTTPClient of this retrying client is used, which sends each request once: use StandardClient\(\) \(RL204`
}

func given() any {
	c := retryablehttp.NewClient()
	c.HTTPClient.Timeout = time.Second
	c.Logger = nil
	return newSDK(c.HTTPClient) // want `RL204`
}

func kept() *registry {
	c := &retryablehttp.Client{HTTPClient: &http.Client{}, RetryMax: 3}
	return &registry{client: c.HTTPClient} // want `RL204`
}

var shared = retryablehttp.NewClient().HTTPClient // want `RL204`

func sent() (*http.Response, error) {
	return retryablehttp.NewClient().HTTPClient.Get("http://localhost") // want `RL204`
}

func afterSettings() *http.Client {
	c := retryablehttp.NewClient()
	inner := c.HTTPClient // want `RL204`
	inner.Transport = http.DefaultTransport
	return inner
}

type doer interface {
	Do(*http.Request) (*http.Response, error)
}

func asInterface() doer {
	return retryablehttp.NewClient().HTTPClient // want `RL204`
}

func nopeStandard() *http.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient.Timeout = time.Second
	configure(c.HTTPClient)
	return c.StandardClient()
}

func configure(c *http.Client) { c.Timeout = time.Minute }

// Both are at hand: one of them may be for what must not be repeated.
type both struct{ retrying *retryablehttp.Client }

func nopeBoth(b both) (*http.Response, error) {
	return b.retrying.HTTPClient.Get("http://localhost")
}

func nopeInto(given *http.Client) *retryablehttp.Client {
	inner := retryablehttp.NewClient().HTTPClient
	if given != nil {
		inner = given
	}
	c := retryablehttp.NewClient()
	c.HTTPClient = inner
	return c
}

func nopeSettings() (time.Duration, http.RoundTripper) {
	c := retryablehttp.NewClient().HTTPClient
	return c.Timeout, c.Transport
}

// It makes a retrying client of what it is given.
func nopeOwnRetries(token string) (*gitlab.Client, error) {
	c := retryablehttp.NewClient()
	c.HTTPClient.Timeout = time.Second
	return gitlab.NewClient(token, gitlab.WithHTTPClient(c.HTTPClient))
}
