package httpretry

import (
	"net/http"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// Facts returns what a response says about the failure of a request: its status,
// and the wait that [Hint] returns. Generated code calls it for errors that have
// the response. It returns no facts for nil.
func Facts(resp *http.Response) retry.Facts {
	if resp == nil {
		return retry.Facts{}
	}
	return retry.Facts{Status: resp.StatusCode, RetryAfter: Wait(resp.Header, resp.StatusCode)}
}

// Wait returns the wait of [Facts] for a response with that header and status, or 0
// if it asks for none. Generated code calls it for errors that have the header. A
// status of 0 means that it is not known.
func Wait(header http.Header, status int) (wait time.Duration) {
	switch {
	case status == 0, status == 403, status == 408, status == 425, status == 429, status >= 500:
		wait, _ = hint(header, status, time.Now())
	}
	return wait
}
