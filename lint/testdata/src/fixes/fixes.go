package fixes

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/endlesshelper/helper"
)

type client interface {
	Call(ctx context.Context, key string) (string, error)
	Ping() error
}

func clamped(c client, stop func() bool) {
	for attempt := 0; ; attempt++ {
		if c.Ping() == nil || stop() {
			return
		}
		time.Sleep(min(time.Second<<attempt, time.Minute)) // want `RL107`
	}
}

func product(c client, stop func() bool) {
	for attempt := 0; ; attempt++ {
		if c.Ping() == nil || stop() {
			return
		}
		d := time.Duration(1<<(2*uint64(attempt))) * 50 * time.Millisecond // want `RL107`
		time.Sleep(min(d, time.Minute))
	}
}

// What it is multiplied with is not known.
func factor(c client, first time.Duration, stop func() bool) {
	for attempt := 0; ; attempt++ {
		if c.Ping() == nil || stop() {
			return
		}
		time.Sleep(min(first*(1<<attempt), time.Minute)) // want `RL107`
	}
}

func shadowed(c client, stop func() bool) {
	min := time.Minute
	for attempt := 0; ; attempt++ {
		if c.Ping() == nil || stop() {
			return
		}
		d := time.Second << attempt // want `RL107`
		if d > min {
			d = min
		}
		time.Sleep(d)
	}
}

func background(ctx context.Context, c client) error {
	return helper.UntilDone(context.Background(), func() error { return c.Ping() }) // want `RL202`
}

// Another context has the name here.
func hidden(ctx context.Context, c client) error {
	{
		ctx := "ctx"
		_ = ctx
		return helper.UntilDone(context.Background(), func() error { return c.Ping() }) // want `RL202`
	}
}

func stepsOver(c client) (err error) {
	for attempts := 5; attempts != 0; attempts -= 2 { // want `retry of Ping .*RL101, RL105`
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func stepsAway(c client) error {
	for attempt := 1; ; attempt++ { // want `retry of Ping .*RL101, RL105`
		err := c.Ping()
		if err == nil || attempt == 0 {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func nopeReached(c client) (err error) {
	for attempts := 6; attempts != 0; attempts -= 2 {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

// What it is multiplied with later counts as well.
func multipliedLater(c client) {
	for attempt := 0; c.Ping() != nil; attempt++ { // want `RL101`
		n := 1 << attempt // want `RL107`
		d := time.Duration(n) * time.Second
		if d > time.Minute {
			d = time.Minute
		}
		time.Sleep(d)
	}
}
