package httpretry

import (
	"net/http"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// Facts returns what a response says about the failure of a request: its status,
// and the wait that [Hint] returns. Generated code calls it for errors that have
// the response. It returns no facts for nil.
//
// The wait counts with the statuses 403, 408, 425, 429 and 500 to 599: after
// another status, the same request would fail again.
func Facts(resp *http.Response) (f retry.Facts) {
	if resp == nil {
		return f
	}
	f.Status = resp.StatusCode
	switch {
	case f.Status == 403, f.Status == 408, f.Status == 425, f.Status == 429, f.Status >= 500:
		f.RetryAfter = Wait(resp.Header, f.Status)
	}
	return f
}

// Wait returns the wait that [Hint] returns for a response with that header and
// status, or 0 if it asks for none. Generated code calls it for errors that have
// the header.
func Wait(header http.Header, status int) time.Duration {
	wait, _ := hint(header, status, time.Now())
	return wait
}
