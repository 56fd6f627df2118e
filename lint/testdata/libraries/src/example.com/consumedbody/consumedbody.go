package consumedbody

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
)

func posted(order []byte) (resp *http.Response, err error) {
	body := bytes.NewReader(order)
	for range 3 {
		resp, err = http.Post("http://localhost", "application/json", body) // want `each attempt sends the same reader, .* \(RL205`
		if err == nil {
			return resp, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

func remade(order []byte) (err error) {
	var body io.Reader
	if order != nil {
		body = bytes.NewBuffer(order)
	}
	for range 3 { // want `RL109`
		req, err := http.NewRequestWithContext(context.Background(), "POST", "http://localhost", body) // want `RL205`
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil && resp.StatusCode < 500 {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func Given(c *http.Client, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequest("PUT", "http://localhost", body)
	if err != nil {
		return nil, err
	}
	for range 3 {
		req.Header.Set("X-Attempt", "again")
		resp, err := c.Do(req) // want `each attempt sends the same request, .* \(RL205`
		if err == nil && resp.StatusCode != http.StatusTooManyRequests {
			return resp, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

func file(ctx context.Context, c *http.Client, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	req, err := http.NewRequest("PUT", "http://localhost", f)
	if err != nil {
		return err
	}
	return backoff.Retry(func() error { // want `RL202`
		_, err := c.Do(req.WithContext(ctx)) // want `RL205`
		return err
	}, backoff.NewExponentialBackOff())
}

func captured(order string) error {
	body := strings.NewReader(order)
	return backoff.Retry(func() error {
		_, err := http.Post("http://localhost", "text/plain", body) // want `RL205`
		return err
	}, backoff.NewExponentialBackOff())
}

func nopeEach(order []byte) (resp *http.Response, err error) {
	for range 3 {
		if resp, err = http.Post("http://localhost", "application/json", bytes.NewReader(order)); err == nil {
			return resp, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

func nopeSeeks(body io.ReadSeeker) (resp *http.Response, err error) {
	for range 3 {
		body.Seek(0, io.SeekStart)
		if resp, err = http.Post("http://localhost", "application/json", body); err == nil {
			return resp, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

// The transport rewinds it.
func nopeRewindable(order []byte) (resp *http.Response, err error) {
	req, err := http.NewRequest("POST", "http://localhost", bytes.NewReader(order))
	if err != nil {
		return nil, err
	}
	for range 3 {
		if resp, err = http.DefaultClient.Do(req); err == nil {
			return resp, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

func nopeSetsBody(c *http.Client, f *os.File) (resp *http.Response, err error) {
	req, err := http.NewRequest("PUT", "http://localhost", f)
	if err != nil {
		return nil, err
	}
	for range 3 {
		again, err := os.Open(f.Name())
		if err != nil {
			return nil, err
		}
		req.Body = again
		if resp, err = c.Do(req); err == nil {
			return resp, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

func nopeFills(orders []string) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, order := range orders {
		if err := enc.Encode(order); err != nil {
			return err
		}
		if _, err := http.Post("http://localhost", "application/json", &buf); err != nil {
			return err
		}
	}
	return nil
}

func nopeNoBody(c *http.Client) (err error) {
	for range 3 {
		var req *http.Request
		if req, err = http.NewRequest("POST", "http://localhost", http.NoBody); err != nil {
			return err
		}
		if _, err = c.Do(req); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func get(c *http.Client) { nopeNil(c, nil) }

// Nobody has a body.
func nopeNil(c *http.Client, body io.Reader) (err error) {
	for range 3 {
		var req *http.Request
		if req, err = http.NewRequest("GET", "http://localhost", body); err != nil {
			return err
		}
		if _, err = c.Do(req); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeOnce(c *http.Client, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequest("PUT", "http://localhost", body)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

// The rest of a file, piece by piece.
func nopePieces(f io.Reader, pieces int) error {
	for range pieces {
		if _, err := http.Post("http://localhost", "text/plain", io.LimitReader(f, 1<<20)); err != nil {
			return err
		}
	}
	return nil
}
