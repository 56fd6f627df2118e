package nodelay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Users are at another place, as the name of the type says.
type UserClient interface {
	User(id string) (string, error)
	ParseUser(text string) (string, error)
}

// What it does by itself fails again, and asks nobody.
func nopeByItself(c UserClient, text string) (name string, err error) {
	for range 5 {
		if name, err = c.ParseUser(text); err == nil {
			return name, nil
		}
	}
	return "", err
}

type said struct {
	text string
	err  error
}

func (a *said) Result() (string, error) { return a.text, a.err }

type cache interface {
	Get(ctx context.Context, key string) *said
}

// The end of the context is asked for, and nothing put right.
func asks(ctx context.Context, c client) (err error) {
	for range 5 { // want `Call is retried without a wait`
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

func isRetryable(err error) bool { return errors.Is(err, errConflict) }

// It asks for what the failure has changed.
func nopeCaptured(c UserClient, id string) (name string, err error) {
	ask := func() error {
		if err != nil {
			id += "-old"
		}
		name, err = c.User(id)
		return err
	}
	for range 5 {
		if err = ask(); err == nil {
			break
		}
	}
	return name, err
}

type invoice struct{ id string }

func (c *books) fetch(ctx context.Context, id string) (i *invoice, code int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(id).String(), nil)
	if err != nil {
		return nil, 0, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	return &invoice{id}, resp.StatusCode, nil
}

type books struct {
	http *http.Client
	base *url.URL
}

// Only the status leads back.
func (c *books) onlyAStatus(ctx context.Context, text []byte) error {
	for range 3 { // want `Do is retried without a wait`
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, c.base.String(), bytes.NewReader(text))
		if err != nil {
			return err
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode >= 200 && resp.StatusCode <= 204 {
			return nil
		}
	}
	return errConflict
}

// The answer is read, and that may fail as well.
func (c *books) twoSteps(path string) (text []byte, err error) {
	for range 5 { // want `Get is retried without a wait`
		var resp *http.Response
		resp, err = c.http.Get(c.base.JoinPath(path).String())
		if err != nil {
			continue
		}
		text, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			continue
		}
		return text, nil
	}
	return nil, err
}

type retrying struct{ next http.RoundTripper }

// Only a request that has waited for its answer is made again.
func nopeHasWaited(ctx context.Context, c client) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil || !errors.Is(err, errTimeout) {
			return err
		}
	}
	return err
}

var errTimeout = errors.New("timeout")

type pacer interface {
	For(ctx context.Context, d time.Duration) bool
}

// Whatever it is called, it is given for how long.
func nopePaced(ctx context.Context, c client, p pacer) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		p.For(ctx, time.Second)
	}
	return err
}

type orderService interface{ Place(id string) error }

// A service of its own may be a part of the program.
func nopeOwnService(s orderService, id string) (err error) {
	for range 5 {
		if err = s.Place(id); err == nil {
			return nil
		}
	}
	return err
}

type codes interface {
	GenerateCode(ctx context.Context) (code, signature string, err error)
	Create(ctx context.Context, signature string) error
}

var errTaken = errors.New("taken")

// Each attempt is made with another code.
func nopeInvents(ctx context.Context, c codes) (code string, err error) {
	for range 3 {
		var signature string
		if code, signature, err = c.GenerateCode(ctx); err != nil {
			return "", err
		}
		if err = c.Create(ctx, signature); err == nil || !errors.Is(err, errTaken) {
			break
		}
	}
	return code, err
}

// ---- what is told the number of the attempt may wait, or end the program ----

type retryHandler interface {
	Handle(name string, attempt int)
	Log(name string, attempt int)
}

func nopeIsHandled(ctx context.Context, c client, h retryHandler) string {
	attempts := 0
	for { // want `retry of Call .*RL101, RL104, RL105; named`
		v, err := c.Call(ctx, "k")
		if err != nil {
			attempts++
			h.Handle("Call", attempts)
			continue
		}
		return v
	}
}

func isOnlyLogged(ctx context.Context, c client, h retryHandler) string {
	attempts := 0
	for { // want `retry of Call .*RL101, RL103, RL104, RL105`
		v, err := c.Call(ctx, "k")
		if err != nil {
			attempts++
			h.Log("Call", attempts)
			continue
		}
		return v
	}
}
