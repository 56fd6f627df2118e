package rebuiltbudget

import (
	"context"
	"errors"
	"time"
)

type client interface {
	Call(ctx context.Context, key string) (string, error)
}

type budget struct{ left time.Duration }

func newBudget(left time.Duration) *budget { return &budget{left} }

func (b *budget) Backoff(err error) error {
	if b.left -= time.Second; b.left < 0 {
		return err
	}
	time.Sleep(time.Second)
	return nil
}

type judge struct{ patient bool }

func (j *judge) Allows(err error) error {
	if j.patient {
		return nil
	}
	return err
}

func rebuilt(ctx context.Context, c client) error {
	for { // want `the limit .* is reset on each iteration.*RL101, RL104, RL106`
		b := &budget{left: time.Minute}
		if _, err := c.Call(ctx, "k"); err != nil {
			if err = b.Backoff(err); err != nil {
				return err
			}
			continue
		}
		return nil
	}
}

func constructed(ctx context.Context, c client) error {
	for { // want `the limit .* is reset on each iteration.*RL101, RL104, RL106`
		b := newBudget(time.Minute)
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if err := b.Backoff(err); err != nil {
			return err
		}
	}
}

func nopeBefore(ctx context.Context, c client) error {
	b := &budget{left: time.Minute}
	for {
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if err := b.Backoff(err); err != nil {
			return err
		}
	}
}

func nopeParameter(ctx context.Context, c client, b *budget) error {
	for {
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if err := b.Backoff(err); err != nil {
			return err
		}
	}
}

// It does not count: it judges the error.
func nopeJudge(ctx context.Context, c client) error {
	for {
		j := &judge{patient: true}
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if err := j.Allows(err); err != nil {
			return err
		}
	}
}

// One budget for each thing.
func nopeEach(ctx context.Context, c client, keys []string) error {
	for _, key := range keys {
		b := &budget{left: time.Minute}
		for {
			_, err := c.Call(ctx, key)
			if err == nil {
				break
			}
			if err := b.Backoff(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// ---- loops that something else ends ----

func nopeCounted(ctx context.Context, c client) error {
	for range 5 {
		b := newBudget(time.Minute)
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if err := b.Backoff(err); err != nil {
			return err
		}
	}
	return errors.New("spent")
}

func nopeTimerNextToDefault(c client, limit time.Duration) error {
	for i := 0; i < 100; i++ {
		select {
		case <-time.After(limit):
			return context.DeadlineExceeded
		default:
		}
		if _, err := c.Call(context.Background(), "k"); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errors.New("spent")
}

// Inside of each attempt there is another retry, with a budget of its own.
func nopeOfInner(ctx context.Context, c client) error {
	for range 5 {
		b := newBudget(time.Minute)
		for {
			_, err := c.Call(ctx, "k")
			if err == nil {
				return nil
			}
			if err := b.Backoff(err); err != nil {
				break
			}
		}
	}
	return nil
}

func nopeTimerBeforeLoop(c client, limit time.Duration) error {
	timeout := time.After(limit)
	for i := 0; i < 100; i++ {
		select {
		case <-timeout:
			return context.DeadlineExceeded
		default:
		}
		if _, err := c.Call(context.Background(), "k"); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errors.New("spent")
}

// It gives up if no answer comes, and stops after the attempt that was too slow.
func nopeSilence(ctx context.Context, c client, news <-chan struct{}) error {
	for i := 0; i < 100; i++ {
		begun := time.Now()
		_, err := c.Call(ctx, "k")
		if err == nil || time.Since(begun) > time.Minute {
			return err
		}
		select {
		case <-news:
		case <-time.After(time.Minute):
			return err
		}
	}
	return errors.New("spent")
}

func counterInside(c client, limit int) error {
	for { // want `retry of Call .*RL101, RL106; named`
		failures := 0
		_, err := c.Call(context.Background(), "k")
		if err == nil {
			return nil
		}
		failures++
		if failures > limit {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeCountsWithin(c client, limit int) error {
	for {
		failures := 0
		for range 3 {
			if _, err := c.Call(context.Background(), "k"); err != nil {
				failures++
			}
		}
		if failures > limit {
			return errors.New("too many")
		}
		time.Sleep(time.Second)
	}
}

// The limit is the sum of two constants.
func nopeConstantLimit(c client, counts map[int64]int) {
	ttl := int64(10)
	for i := ttl; i < ttl+20; i++ {
		if counts[i] > 3 {
			return
		}
	}
}

func addedAnew(c client) error {
	for { // want `retry of Call .*RL101, RL106`
		tries := 0
		_, err := c.Call(context.Background(), "k")
		if err == nil {
			return nil
		}
		tries += 1
		if tries > 3 {
			return err
		}
	}
}

// It walks along what each round brings.
func nopeOffset(next func() []byte) error {
	for {
		text := next()
		at := 8
		if len(text) < at+2 {
			return errors.New("too short")
		}
		at += 2
		if len(text) < at {
			return errors.New("too short")
		}
	}
}

// Something else than the counter ends it.
func nopeCounterNextToAnother(c client, stop func() bool) error {
	for !stop() {
		tries := 0
		_, err := c.Call(context.Background(), "k")
		if err == nil {
			return nil
		}
		tries++
		if tries > 3 {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}
