package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// flaky fails its first two requests by closing their connections.
func flaky() *httptest.Server {
	calls := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if calls++; calls < 3 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "%s %d %q", r.Method, r.ContentLength, body)
	}))
}

// send reads the whole response.
func send(req *http.Request) (string, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// Both has its own context.
func Both(ctx context.Context, req *http.Request) (string, error) { return send(req.WithContext(ctx)) }

func Guarded(req *http.Request) (string, error) {
	text, err := send(req)
	return text + " " + retry.IdempotencyKey(req.Context())[:0], err
}

func post(url string, body io.Reader) *http.Request {
	req, _ := http.NewRequest("POST", url, body)
	return req
}

func main() {
	// A context that ends early ends the waits.
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	start := time.Now()
	_, err := RetryClientDo(http.DefaultClient, post("http://127.0.0.1:1", nil).WithContext(ctx))
	fmt.Println(err != nil, time.Since(start) < 5*time.Second)

	text := "hello"
	for _, call := range []func(url string) (string, error){
		func(url string) (string, error) {
			resp, err := NewRetryRoundTripper(http.DefaultTransport).RoundTrip(post(url, bytes.NewBufferString(text)))
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			return string(b), err
		},
		func(url string) (string, error) { return retrySend(post(url, bytes.NewBufferString(text))) },
		func(url string) (string, error) {
			return RetryBoth(context.Background(), post(url, bytes.NewBufferString(text)))
		},
		func(url string) (string, error) { return RetryGuarded(post(url, bytes.NewBufferString(text))) },
		func(url string) (string, error) { return RetryBoth(context.Background(), post(url, nil)) },
	} {
		s := flaky()
		fmt.Println(call(s.URL))
		s.Close()
	}

	// A body that can be read once is sent once.
	s := flaky()
	_, err = RetryBoth(context.Background(), post(s.URL, io.MultiReader(bytes.NewBufferString(text))))
	e, _ := errors.AsType[*retry.Error](err)
	fmt.Println(e.Attempts, errors.Is(err, retry.ErrSpent), e.Cause)
	s.Close()

	// The time limit of an attempt is put on the request.
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	_, err = retrySend(post(slow.URL, nil))
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	slow.Close()
}
