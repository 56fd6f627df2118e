package nodelay

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"
)

// Only one error is waited for.
func oneWaits(ctx context.Context, c client) (err error) {
	for range 5 { // want `Call is retried without a wait`
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		if errors.Is(err, errConflict) {
			time.Sleep(time.Second) // want `RL102`
		}
	}
	return err
}

// A function of its own knows the error that is waited for.
func oneHelperWaits(ctx context.Context, c client) (err error) {
	for range 5 { // want `Call is retried without a wait`
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		if isThrottled(err) {
			time.Sleep(time.Second) // want `RL102`
		}
	}
	return err
}

func isThrottled(err error) bool { return errors.Is(err, errConflict) }

// What is asked whether to try again waits itself.
func nopeAskedWaits(ctx context.Context, c client, p *ticking) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil || !p.shouldRetry(err) {
			return err
		}
	}
	return err
}

type ticking struct{ tick <-chan time.Time }

func (p *ticking) shouldRetry(err error) bool {
	if !errors.Is(err, errConflict) {
		return false
	}
	<-p.tick
	return true
}

// The wait stands in what it calls.
func nopeAskedBacksOff(ctx context.Context, c client, b backer) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil || !canWaitFor(b, err) {
			return err
		}
	}
	return err
}

type backer interface{ Backoff(err error) bool }

func canWaitFor(b backer, err error) bool { return b.Backoff(err) }

// All errors are waited for, one of them longer.
func nopeThrottledWaitsLonger(ctx context.Context, c client) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		if isThrottled(err) {
			time.Sleep(time.Minute) // want `RL102`
		} else {
			time.Sleep(time.Second)
		}
	}
	return err
}

// No other error leads to the next attempt.
func nopeThrottledAlone(ctx context.Context, c client) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); !isThrottled(err) {
			return err
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return err
}

// Whether to wait is for the count to say.
func nopeLastDoesNotWait(ctx context.Context, c client) (err error) {
	for i := range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		if i < 4 {
			time.Sleep(time.Second) // want `RL102`
		}
	}
	return err
}

func nopeTimedOutHasWaited(ctx context.Context, c client) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return err
}

type service struct {
	http http.Client
	url  string
}

func (s *service) newRequest(path string) (*http.Request, error) {
	return http.NewRequest(http.MethodGet, s.url+path, nil)
}

// Each attempt makes its own request.
func (s *service) status() (resp *http.Response, err error) {
	for range 5 { // want `Do is retried without a wait`
		req, made := s.newRequest("/status")
		if made != nil {
			return nil, made
		}
		if resp, err = s.http.Do(req); err == nil {
			return resp, nil
		}
	}
	return nil, err
}

func resolve(host string) (addrs []string, err error) {
	for range 3 { // want `LookupHost is retried without a wait`
		if addrs, err = net.LookupHost(host); err == nil {
			break
		}
	}
	return addrs, err
}

func secure(addr string) (conn *tls.Conn, err error) {
	for range 3 { // want `Dial is retried without a wait`
		if conn, err = tls.Dial("tcp", addr, nil); err == nil {
			break
		}
	}
	return conn, err
}

type session struct{ state string }

func (s *session) State() string { return s.state }

func open(ctx context.Context, url string) (*session, error) { return &session{}, ctx.Err() }

// Another process writes the file yet.
func nopeTextBusy(ctx context.Context, run func(context.Context) error, c client) (err error) {
	for range 3 {
		if _, err = c.Call(ctx, "run"); err == nil {
			return nil
		}
		if !errors.Is(err, syscall.ETXTBSY) {
			return err
		}
	}
	return err
}

// A program of this machine takes its time, and is no server.
func nopeProgram(ctx context.Context) (err error) {
	for range 5 {
		if err = exec.CommandContext(ctx, "format").Run(); err == nil {
			break
		}
	}
	return err
}

// ---- the attempt waits itself ----

func once(url string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return err
	}
	if _, err = http.DefaultClient.Do(req); err != nil {
		<-ctx.Done() // not to ask too often
	}
	return err
}

func nopeWaitsForItsLimit(url string) (err error) {
	for range 6 {
		if err = once(url, time.Second); err == nil {
			return nil
		}
	}
	return err
}

// ---- what failed is put right ----

type options struct{ Low, High int }

func fix(err error, o *options) bool {
	if err.Error() == "high" {
		o.High = o.Low
		return true
	}
	return false
}

func tells(err error, o *options) bool { return err.Error() == "high" && o.High > 0 }

type validator interface {
	Validate(ctx context.Context, o *options) error
}

func nopeFixes(ctx context.Context, v validator, o *options) error {
	err := v.Validate(ctx, o)
	for i := 0; i < 5; i++ {
		if err == nil {
			return nil
		}
		if !fix(err, o) {
			return err
		}
		err = v.Validate(ctx, o)
	}
	return err
}

// Each answer leads to the next part, and an error ends it.
func nopeParts(network string) (n int, err error) {
	for {
		conn, err := net.Dial(network, "parts:80")
		if err != nil {
			return 0, err
		}
		if n++; conn.RemoteAddr() == nil {
			return n, nil
		}
	}
}
