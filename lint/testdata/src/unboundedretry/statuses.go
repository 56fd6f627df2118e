package unboundedretry

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// A status of 503 is a failure as an error is: the end of the context alone ends both.
func statusOrError(url string) (string, error) {
	for { // want `Post is retried without a wait: .*RL103`
		resp, err := http.Post(url, "text/plain", strings.NewReader("x"))
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return "", err
			}
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable {
			continue
		}
		return resp.Status, nil
	}
}

// It is left by the status alone.
func untilStatus(url string) {
	for { // want `retry of Get never stops.*RL101`
		resp, err := http.Get(url)
		if err == nil && resp.StatusCode < 500 {
			resp.Body.Close()
			return
		}
		time.Sleep(time.Second)
	}
}

// All errors end it, and it waits for a file to be gone.
func nopeUntilGone(url string) error {
	for {
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusNotFound {
			return nil
		}
		time.Sleep(time.Second)
	}
}
