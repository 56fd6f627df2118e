package unboundedretry

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// ---- failures that are told otherwise than by an error that is returned ----

func unavailable(url string) ([]byte, error) {
	for { // want `retry of Get never stops.*RL101; library`
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
	for { // want `retry of Get never stops.*RL101; library`
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
	c   caller
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
	for { // missed
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

func deafPause(ctx context.Context, c caller) (err error) {
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

func nopeRests(ctx context.Context, c caller) (err error) {
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

func flagOfRound(addr string) {
	for done := false; !done; { // want `retry of Dial never stops`
		_, err := net.Dial("tcp", addr)
		done = err == nil
	}
}

func flagOfFailure(addr string) (conn net.Conn) {
	for again := true; again; { // want `retry of Dial never stops`
		var err error
		conn, err = net.Dial("tcp", addr)
		again = err != nil
		if err != nil {
			time.Sleep(time.Second)
		}
	}
	return conn
}

func flagBefore(c *distant) {
	up := c.dial()
	for !up { // want `retry of dial never stops`
		time.Sleep(time.Second)
		up = c.dial()
	}
}

type distant struct{ addr string }

func (p *distant) dial() bool {
	_, err := net.Dial("tcp", p.addr)
	return err == nil
}

// Something else may set it as well.
func nopeFlagOfTwo(addr string, given func() bool) {
	for done := false; !done; {
		_, err := net.Dial("tcp", addr)
		done = err == nil
		if given() {
			done = true
		}
		time.Sleep(time.Second)
	}
}

// Both sides lead to the wait, and what the round has set leaves.
func flagOfOneSide(addr string) (conn net.Conn) {
	var connected bool
	for !connected { // want `retry of Dial never stops`
		var err error
		if conn, err = net.Dial("tcp", addr); err != nil {
			log.Print(err)
		} else {
			connected = true
		}
		time.Sleep(time.Second)
	}
	return conn
}

type places interface {
	Reserve(name string) (bool, error)
	Fill(ctx context.Context, name string, into *entry) error
}

type entry struct{ state string }

// The error is told of, and the answer leaves.
func toldBeside(d places, name string) {
	for { // want `retry of Reserve never stops`
		ok, err := d.Reserve(name)
		if err != nil {
			log.Print(err)
		}
		if ok {
			return
		}
		time.Sleep(time.Second)
	}
}

// It leaves with the error, as again is false then.
func nopeAgain(d places, name string) error {
	for {
		again, err := d.Reserve(name)
		if !again {
			return err
		}
		time.Sleep(time.Second)
	}
}

// It polls: some errors end it, and those that it tolerates are no answer yet (RL110).
func nopeTolerates(d places, name string) error {
	for {
		ok, err := d.Reserve(name)
		if _, waits := err.(*limited); err != nil && !waits {
			return err
		}
		if ok {
			return nil
		}
		time.Sleep(time.Second)
	}
}

// The answer is filled.
func filled(d places, name string) *entry {
	for { // want `retry of Fill never stops`
		var e entry
		if err := d.Fill(context.Background(), name, &e); err != nil {
			time.Sleep(time.Second)
			continue
		}
		if e.state == "done" {
			return &e
		}
		time.Sleep(time.Second)
	}
}

type limited struct{ after time.Duration }

func (*limited) Error() string { return "too many requests" }

// The type of an error says that it is worth another attempt.
func typed(d places, name string) (bool, error) {
	for { // want `retry of Reserve never stops`
		ok, err := d.Reserve(name)
		if _, waits := err.(*limited); waits {
			time.Sleep(time.Minute)
			continue
		}
		return ok, err
	}
}

// What came is closed, if anything did.
func closed(url string) {
	for { // want `retry of Get never stops`
		resp, err := http.Get(url)
		if err == nil && resp.StatusCode == http.StatusOK {
			resp.Body.Close()
			break
		}
		if resp != nil {
			resp.Body.Close()
		}
		time.Sleep(time.Second)
	}
}
