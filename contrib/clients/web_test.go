package clients

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/bwmarrin/discordgo"
	"github.com/go-resty/resty/v2"
	"github.com/google/go-github/v72/github"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/openai/openai-go/v3"
	community "github.com/sashabaranov/go-openai"
	"github.com/slack-go/slack"
	"github.com/stripe/stripe-go/v82"
	twilio "github.com/twilio/twilio-go/client"
	"github.com/twitchtv/twirp"
	gitlab "gitlab.com/gitlab-org/api/client-go"
	"golang.org/x/oauth2"
	"google.golang.org/genai"

	"github.com/retrygen/retrygen/runtime/httpretry"
)

// webClients are clients of services in the web, and what is written by hand with
// net/http.
func webClients(t *testing.T) []client {
	token := func(code int) error { return &oauth2.RetrieveError{Response: response(code), Body: []byte("b")} }
	// As oauth2.Transport returns it.
	inURL := func(err error) error { return &url.Error{Op: "Get", URL: "http://x", Err: err} }
	return []client{
		{"net/http: fmt.Errorf", standard(func(code int) error {
			return fmt.Errorf("GET http://x: unexpected status %d", code)
		})},
		{"net/http: resp.Status", standard(func(code int) error { return errors.New(response(code).Status) })},
		{"net/http: StatusCode()", standard(func(code int) error { return &httpretry.StatusError{Code: code} })},
		{"connect", standard(func(code int) error { return connect.NewError(connectCodes[code], errors.New("m")) })},
		{"twirp", standard(func(code int) error { return twirp.NewError(twirpCodes[code], "m") })},
		{"openai-go", standard(func(code int) error {
			return &openai.Error{StatusCode: code, Request: response(code).Request, Response: response(code)}
		})},
		{"go-openai", append(standard(func(code int) error {
			return &community.APIError{HTTPStatusCode: code, Message: "m"}
		}),
			failure{"404 RequestError", permanent, &community.RequestError{HTTPStatusCode: 404, Err: errors.New("m")}})},
		{"anthropic", append(standard(claude), failure{"529 overloaded", transient, claude(529)})},
		{"genai", standard(func(code int) error { return genai.APIError{Code: code, Message: "m", Status: "X"} })},
		{"stripe", append(standard(func(code int) error {
			return &stripe.Error{HTTPStatusCode: code, Msg: "m", Type: stripe.ErrorTypeAPI}
		}), failure{"402 card", permanent, &stripe.Error{HTTPStatusCode: 402, Type: stripe.ErrorTypeCard}})},
		{"go-github", []failure{
			{"404", permanent, &github.ErrorResponse{Response: response(404), Message: "m"}},
			{"401", permanent, &github.ErrorResponse{Response: response(401), Message: "m"}},
			{"503", transient, &github.ErrorResponse{Response: response(503), Message: "m"}},
			{"403 rate limit", throttled, &github.RateLimitError{Response: response(403),
				Rate: github.Rate{Reset: github.Timestamp{Time: reset}}}},
			{"403 abuse", throttled, &github.AbuseRateLimitError{Response: response(403), RetryAfter: new(9 * time.Second)}},
			{"202 accepted", transient, &github.AcceptedError{}},
		}},
		{"gitlab", standard(func(code int) error {
			if code == 404 {
				return gitlab.ErrNotFound // as gitlab.CheckResponse returns it
			}
			return &gitlab.ErrorResponse{Response: response(code), Message: "m"}
		})},
		{"slack", []failure{
			{"503", transient, slackTest(t, 503)},
			{"429", throttled, slackTest(t, 429)},
			{"404", permanent, slackTest(t, 404)},
			{"ok:false channel_not_found", permanent, slack.SlackErrorResponse{Err: "channel_not_found"}},
			{"ok:false ratelimited", throttled, slack.SlackErrorResponse{Err: "ratelimited"}},
		}},
		{"twilio", standard(func(code int) error {
			return &twilio.TwilioRestError{Status: code, Code: 20404, Message: "m"}
		})},
		{"discordgo", []failure{
			{"404", permanent, &discordgo.RESTError{Response: response(404)}},
			{"401", permanent, &discordgo.RESTError{Response: response(401)}},
			{"503", transient, &discordgo.RESTError{Response: response(503)}},
			{"429", throttled, &discordgo.RateLimitError{RateLimit: &discordgo.RateLimit{
				TooManyRequests: &discordgo.TooManyRequests{RetryAfter: time.Second}}}},
		}},
		{"oauth2", append(standard(token),
			failure{"401 in url.Error", permanent, inURL(token(401))},
			failure{"503 in url.Error", transient, inURL(token(503))})},
		{"resty v2", standard(func(code int) error { // the status is in the result
			_, err := resty.New().R().Get(answer(t, code, ""))
			return err
		})},
		{"go-retryablehttp", []failure{
			{"404", permanent, retryableGet(t, 404)},
			{"503", transient, retryableGet(t, 503)},
			{"429", throttled, retryableGet(t, 429)},
		}},
	}
}

// The codes that correspond to statuses.
var (
	connectCodes = map[int]connect.Code{
		404: connect.CodeNotFound, 401: connect.CodeUnauthenticated, 503: connect.CodeUnavailable,
		429: connect.CodeResourceExhausted,
	}
	twirpCodes = map[int]twirp.ErrorCode{
		404: twirp.NotFound, 401: twirp.Unauthenticated, 503: twirp.Unavailable, 429: twirp.ResourceExhausted,
	}
)

// reset is a minute after the time at which a bubble of package synctest begins.
var reset = time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)

// standard returns the failures with the statuses 404, 401, 503 and 429 of a
// client.
func standard(errorOf func(code int) error) []failure {
	return []failure{
		{"404", permanent, errorOf(404)},
		{"401", permanent, errorOf(401)},
		{"503", transient, errorOf(503)},
		{"429", throttled, errorOf(429)},
	}
}

// response returns a response without a body. If its status is 429, it asks for a
// wait of 7 seconds.
func response(code int) *http.Response {
	header := http.Header{}
	if code == http.StatusTooManyRequests {
		header.Set("Retry-After", "7")
	}
	return &http.Response{
		StatusCode: code,
		Status:     fmt.Sprint(code, " ", http.StatusText(code)),
		Header:     header,
		Body:       http.NoBody,
		Request:    &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "x.test", Path: "/y"}},
	}
}

func claude(code int) error {
	return &anthropic.Error{StatusCode: code, Request: response(code).Request, Response: response(code)}
}

func slackTest(t *testing.T, code int) error {
	t.Helper()
	_, err := slack.New("t", slack.OptionAPIURL(answer(t, code, `{"ok":false,"error":"x"}`)+"/")).AuthTest()
	return err
}

func retryableGet(t *testing.T, code int) error {
	t.Helper()
	c := retryablehttp.NewClient()
	c.Logger, c.RetryMax, c.RetryWaitMax = nil, 0, time.Millisecond
	_, err := c.Get(answer(t, code, ""))
	return err
}
