package unboundedretry

import (
	"context"
	"io"
	"log"
	"net/http"
	"strings"
	"time"
)

// ---- failures that are told otherwise than by an error that is returned ----

func unavailable(url string) ([]byte, error) {
	for { // want `retry of Get .*RL101`
		resp, err := http.Get(url)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			resp.Body.Close()
			time.Sleep(time.Second)
			continue
		}
		return io.ReadAll(resp.Body)
	}
}

func untilItServes(url string) (*http.Response, error) {
	for { // want `retry of Get .*RL101`
		resp, err := http.Get(url)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < http.StatusInternalServerError {
			return resp, nil
		}
		resp.Body.Close()
		time.Sleep(time.Second)
	}
}

func nopeServesThreeTimes(url string) (*http.Response, error) {
	for tries := 0; ; tries++ {
		resp, err := http.Get(url)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < http.StatusInternalServerError || tries == 3 {
			return resp, nil
		}
		resp.Body.Close()
		time.Sleep(time.Second)
	}
}

// There is more for as long as it is found.
func nopeReadsOn(url string) error {
	for {
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		switch resp.StatusCode {
		case http.StatusOK:
			log.Print(resp.Header)
			time.Sleep(time.Second)
			continue
		case http.StatusTooManyRequests:
			time.Sleep(time.Minute)
			continue
		}
		return nil
	}
}

type keeper struct {
	c   client
	err error
}

func (k *keeper) connect() {
	for { // want `retry of Ping .*RL101`
		if k.err = k.c.Ping(); k.err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

type fault struct{ code int }

func (f *fault) Error() string { return "fault" }

func call(url string) *fault {
	if _, err := http.Get(url); err != nil {
		return &fault{1}
	}
	return nil
}

func untilNoFault(url string) {
	for { // want `retry of call .*RL101`
		if f := call(url); f == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// ---- waits that stand elsewhere ----

func pause(attempt int) {
	log.Print("again in ", attempt)
	time.Sleep(time.Duration(attempt) * time.Second)
}

func deafPause(ctx context.Context, c client) (err error) {
	for attempt := range 5 {
		if err = c.Ping(); err == nil {
			return nil
		}
		pause(attempt) // want `RL102`
	}
	return err
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func nopeRests(ctx context.Context, c client) (err error) {
	for attempt := range 5 {
		if err = c.Ping(); err == nil {
			return nil
		}
		rest(ctx, time.Duration(attempt)*time.Second)
	}
	return err
}

func fetch[T any](url string, to T) error {
	if _, err := http.Get(strings.TrimSpace(url)); err != nil {
		time.Sleep(time.Second)
		return fetch(url, to) // want `RL113`
	}
	return nil
}
