package httpretry

import (
	"net/http"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// Facts returns what a response reveals about a failed request: its status and the wait
// that [Hint] returns. Generated code calls it for errors that contain the response. For
// nil, it returns no facts.
func Facts(resp *http.Response) retry.Facts {
	if resp == nil {
		return retry.Facts{}
	}
	return retry.Facts{Status: resp.StatusCode, RetryAfter: Wait(resp.Header, resp.StatusCode)}
}

// Wait returns the wait in the [Facts] of a response with the given header and status, or
// 0 if the response does not ask for a wait. Generated code calls it for errors that
// contain the header. A status of 0 means that the status is unknown.
func Wait(header http.Header, status int) (wait time.Duration) {
	switch {
	case status == 0, status == 403, status == 408, status == 425, status == 429, status >= 500:
		wait, _ = hint(header, status, time.Now())
	}
	return wait
}
