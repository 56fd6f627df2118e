// Package gitlab declares what the test uses of the real one.
package gitlab

import (
	"net/http"

	"github.com/hashicorp/go-retryablehttp"
)

type (
	Client           struct{ client *retryablehttp.Client }
	ClientOptionFunc func(*Client) error
)

func NewClient(token string, options ...ClientOptionFunc) (*Client, error) { return nil, nil }

func WithHTTPClient(c *http.Client) ClientOptionFunc { return nil }
