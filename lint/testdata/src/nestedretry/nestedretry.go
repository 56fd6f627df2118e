package nestedretry

import (
	"context"
	"errors"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/nestedretry/wrapped"
)

type client interface{ Ping() error }

func sync(c client) (err error) {
	for range 5 { // want `5 attempts of fetch, which makes 4 at nestedretry.go:\d+, are 20 calls: retry in one place \(RL401`
		if err = fetch(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func fetch(c client) (err error) {
	for range 4 {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// The levels need not be neighbours.
func far(c client) (err error) {
	for i := 0; i < 4; i++ { // want `4 attempts of between, which makes 4 at .*RL401`
		if err = between(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func between(c client) error { return fetch(c) }

func aroundWrapper(ctx context.Context, c *wrapped.Client) (err error) {
	for range 4 { // want `4 attempts of RetryFetch, which makes 4 at wrapped.go:17, are 16 calls.*RL401`
		if err = c.RetryFetch(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func twice(ctx context.Context, c *wrapped.Client) (err error) {
	for range 2 { // want `RetryFetch already retries by its policy: remove this loop, and set max_attempts in the policy \(RL402`
		if err = c.RetryFetch(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func nopeFew(ctx context.Context, c *wrapped.Client) (err error) {
	for range 4 { // 4 × 3 is not more than 12
		if err = wrapped.Slowly(nil, c, ctx); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func nopeUnknown(c client, n int) (err error) {
	for range n {
		if err = fetch(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeEachOnce(cs []client) (err error) {
	for _, c := range cs {
		if err = fetch(c); err == nil {
			return nil
		}
	}
	return err
}

var errSpent = errors.New("attempts are spent")

func spends(c client) error {
	for range 4 {
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errSpent
}

// What the inner gives up on, the outer does as well: which error that is, is not seen.
func leaves(c client) (err error) {
	for range 5 { // want `RL401; named`
		if err = spends(c); err == nil || errors.Is(err, errSpent) {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}

// No level is so far out that the attempts could not be counted any more.

func level0(c client) (err error) {
	for range 1000 {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func level1(c client) (err error) {
	for range 1000 { // want `1000 attempts of level\d, .* are 10+ calls.*RL401`
		if err = level0(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func level2(c client) (err error) {
	for range 1000 { // want `1000 attempts of level\d, .* are 10+ calls.*RL401`
		if err = level1(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func level3(c client) (err error) {
	for range 1000 { // want `1000 attempts of level\d, .* are 10+ calls.*RL401`
		if err = level2(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func level4(c client) (err error) {
	for range 1000 { // want `1000 attempts of level\d, .* are 10+ calls.*RL401`
		if err = level3(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func level5(c client) (err error) {
	for range 1000 { // want `1000 attempts of level\d, .* are 10+ calls.*RL401`
		if err = level4(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func level6(c client) (err error) {
	for range 1000 { // want `1000 attempts of level\d, .* are 10+ calls.*RL401`
		if err = level5(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func switched(c client, again bool) (err error) {
	for range 5 {
		if err = c.Ping(); err == nil || !again {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeSwitchedOff(c client) (err error) {
	for range 5 {
		if err = switched(c, false); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func switchedLater(c client, again bool) (err error) {
	for range 5 { // want `5 attempts of switched, which makes 5 .* are 25 calls`
		if err = switched(c, again); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}
