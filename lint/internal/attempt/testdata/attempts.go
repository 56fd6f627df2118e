// Package p has loops whose attempts are in attempts.golden.
package p

import (
	"context"
	"errors"
	"log"
	"time"
)

type server interface {
	Send(key string) error
}

type client struct {
	closed bool
	server server
	ctx    context.Context
}

var errBusy = errors.New("busy")

func (c *client) ping(ctx context.Context, key string) error { return c.send(key) }

func (c *client) send(key string) error { return c.server.Send(key) }

func (c *client) state() (string, error) { return "", c.send("state") }

func newClient(s server) *client { return &client{server: s} }

func (c *client) close() { c.closed = true }

func untilSuccess(c *client) {
	for c.send("k") != nil {
		time.Sleep(time.Second)
	}
}

func untilPermanent(c *client) error {
	for {
		err := c.send("k")
		if err == nil || !errors.Is(err, errBusy) {
			return err
		}
		time.Sleep(time.Second)
	}
}

func counted(c *client) (err error) {
	for i := 0; i < 3; i++ {
		if err = c.send("k"); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func byClock(c *client, late time.Time) error {
	for time.Now().Before(late) {
		if c.send("k") == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errBusy
}

func withContext(ctx context.Context, c *client) error {
	for {
		if err := c.ping(ctx, "k"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func untilClosed(c *client) {
	for !c.closed {
		if c.send("k") == nil {
			return
		}
	}
}

// The key differs.
func each(c *client, keys []string) {
	for _, key := range keys {
		if err := c.send(key); err != nil {
			log.Print(err)
		}
	}
}

// An answer ends it.
func poll(c *client) error {
	for {
		s, err := c.state()
		if err != nil {
			return err
		}
		if s == "ready" {
			return nil
		}
		time.Sleep(time.Second)
	}
}

// Nothing ends it.
func daemon(c *client) {
	for {
		if err := c.send("k"); err != nil {
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Second)
	}
}

func both(c *client) {
	for {
		if c.send("a") != nil {
			continue
		}
		if c.send("b") != nil {
			continue
		}
		return
	}
}

func remade(c *client) error {
	for {
		again := newClient(c.server)
		if err := again.send("k"); err == nil {
			return nil
		}
	}
}

func conflict(c *client) error {
	for {
		err := c.send("k")
		if errors.Is(err, errBusy) {
			continue
		}
		return err
	}
}

func flagged(c *client) error {
	retried := false
	for {
		err := c.send("k")
		if err == nil || retried {
			return err
		}
		retried = true
	}
}

func setting(c *client, forever bool) error {
	for {
		err := c.send("k")
		if err == nil || !forever {
			return err
		}
	}
}

func again(ctx context.Context, c *client) error {
	if err := c.ping(ctx, "k"); err == nil {
		return nil
	}
	time.Sleep(time.Second)
	return again(ctx, c)
}

func ofField(c *client) {
	for c.ping(c.ctx, "k") != nil {
		time.Sleep(time.Second)
	}
}

// ---- functions that retry a parameter ----

func forever(f func() error) {
	for f() != nil {
		pause(time.Second)
	}
}

func pause(d time.Duration) { time.Sleep(d) }

func untilDone(ctx context.Context, f func() error) error {
	for ctx.Err() == nil {
		if f() == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return ctx.Err()
}

func times(n int, delay time.Duration, f func() error) (err error) {
	for range n {
		if err = f(); err == nil {
			return nil
		}
		time.Sleep(delay)
	}
	return err
}

func untilTrue(f func() bool) {
	for !f() {
		time.Sleep(time.Second)
	}
}

func pollUntil(f func() (done bool, err error)) error {
	for {
		done, err := f()
		if done || err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
}

func unlessZero(n int, f func() error) (err error) {
	for i := 1; ; i++ {
		if err = f(); err == nil || n != 0 && i >= n {
			return err
		}
	}
}

type budget struct{ left int }

func (b *budget) take() bool {
	b.left--
	return b.left >= 0
}

func limitMadeAgain(c *client) error {
	for {
		b := &budget{left: 3}
		err := c.send("k")
		if err == nil {
			return nil
		}
		if !b.take() {
			return err
		}
	}
}

func limitMadeOnce(c *client) error {
	b := &budget{left: 3}
	for {
		err := c.send("k")
		if err == nil {
			return nil
		}
		if !b.take() {
			return err
		}
	}
}

func deadlineTakenAgain(c *client) error {
	for {
		start := time.Now()
		err := c.send("k")
		if err == nil || time.Since(start) > time.Minute {
			return err
		}
	}
}

func (c *client) opens() bool {
	for c.closed = true; c.closed; {
		if err := c.server.Send("open"); err == nil {
			return true
		}
		c.reopen()
	}
	return false
}

func (c *client) reopen() {
	if !c.opens() {
		c.closed = false
	}
}
