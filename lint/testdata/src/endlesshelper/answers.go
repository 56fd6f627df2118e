package endlesshelper

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/endlesshelper/helper"
)

// ---- operations that say by a bool how they went ----

func answersTrue(c client) {
	helper.UntilTrue(func() bool { return c.Ping() == nil }) // want `UntilTrue retries until it succeeds, without a limit: pass a limit \(RL201`
}

func dials(c client) bool {
	if err := c.Ping(); err != nil {
		log.Print(err)
		return false
	}
	return true
}

func named(c client) {
	helper.UntilTrue(func() bool { return dials(c) })
	helper.UntilTrue(func() bool { // want `RL201`
		v, err := c.Call(context.Background(), "k")
		if err != nil {
			return false
		}
		return v == "running"
	})
}

func answersAgain(c client) {
	helper.While(func(int) bool { return c.Ping() != nil }) // want `While retries until it succeeds, without a limit`
}

func polls(ctx context.Context, c client) error {
	return helper.PollForever(func() (bool, error) { // want `PollForever retries until it succeeds, without a limit`
		if _, err := c.Call(ctx, "k"); err != nil {
			return false, nil
		}
		return true, nil
	})
}

func pollsBackground(c client) error {
	return helper.Poll(context.Background(), func() (bool, error) { return c.Ping() == nil, nil }) // want `RL201`
}

func nopePollsWithContext(ctx context.Context, c client) error {
	return helper.Poll(ctx, func() (bool, error) { return c.Ping() == nil, nil })
}

func nopeUntilLate(c client) bool {
	return helper.UntilLate(func() bool { return c.Ping() == nil })
}

// What fails is told, and ends it.
func nopePollFails(c client) error {
	return helper.PollForever(func() (bool, error) {
		v, err := c.Call(context.Background(), "k")
		if err != nil {
			return false, err
		}
		return v == "done", nil
	})
}

func nopeOneErrorEnds(c client) error {
	return helper.PollForever(func() (bool, error) {
		err := c.Ping()
		if errors.Is(err, context.Canceled) {
			return false, err
		}
		if err != nil {
			return false, nil
		}
		return true, nil
	})
}

// It is gone: that is what is waited for.
func nopeUntilGone(c client) {
	helper.UntilTrue(func() bool { return c.Ping() != nil })
	helper.While(func(int) bool { return c.Ping() == nil })
}

func nopeErrorIsAnswer(c client, unknown error) {
	helper.UntilTrue(func() bool {
		if err := c.Ping(); err != nil {
			return errors.Is(err, unknown)
		}
		return true
	})
}

func nopeNothingFails(n func() int) {
	helper.UntilTrue(func() bool { return n() > 3 })
}

func nopeAttemptIsCounted(c client) {
	helper.While(func(attempt int) bool { return c.Ping() != nil && attempt < 5 })
}

// The count is asked only after a success.
func failsAgain(c client) {
	helper.While(func(attempt int) bool { // want `While retries until it succeeds, without a limit`
		if c.Ping() != nil {
			return true
		}
		return attempt > 3
	})
}

func nopeCountsItself(c client) {
	n := 0
	helper.UntilTrue(func() bool {
		if n++; n > 5 {
			return true
		}
		return c.Ping() == nil
	})
}

func (h *handler) nopeClosedMeanwhile() {
	helper.UntilTrue(func() bool {
		if h.closed {
			return true
		}
		return h.c.Ping() == nil
	})
}

// Others say that there is nothing to do.
func nopeNothingToDo(c client, needed *bool) {
	helper.UntilTrue(func() bool {
		if !*needed {
			return true
		}
		return c.Ping() == nil
	})
}

// It goes on for as long as there is more.
func nopeServes(c interface{ Receive() (string, error) }, handle func(string)) {
	helper.UntilTrue(func() bool {
		m, err := c.Receive()
		if err != nil {
			return false
		}
		handle(m)
		return m == "last"
	})
}

func nopeDaemon(c client) {
	helper.UntilTrue(func() bool {
		if err := c.Ping(); err != nil {
			log.Print(err)
			return false
		}
		return false
	})
}

func nopeDeadline(c client) {
	late := time.Now().Add(time.Minute)
	helper.UntilTrue(func() bool {
		if c.Ping() == nil {
			return true
		}
		return time.Now().After(late)
	})
}

func (h *handler) dial() bool { return h.c.Ping() == nil }

func (h *handler) ping() error { return h.c.Ping() }

func (h *handler) pingUntilClosed() error {
	if h.closed {
		return nil
	}
	return h.c.Ping()
}

func (h *handler) dialUntilClosed() bool { return h.closed || h.c.Ping() == nil }

func (h *handler) methods() {
	helper.UntilTrue(h.dial) // want `RL201`
	helper.Forever(h.ping)   // want `RL201`
}

func (h *handler) nopeMethods() {
	helper.UntilTrue(h.dialUntilClosed)
	helper.Forever(h.pingUntilClosed)
}

// ---- methods of another package ----

func ofRetrier(r *helper.Retrier, c client) {
	r.Forever(c.Ping)                    // want `Forever retries until it succeeds, without a limit: pass a limit \(RL201`
	(*helper.Retrier).Forever(r, c.Ping) // want `Forever retries until it succeeds`
}

// What a method value has for its receiver is not known.
func nopeMethodValues(ctx context.Context, r *helper.Retrier, c client) error {
	forever := r.Forever
	forever(c.Ping)
	untilDone := r.UntilDone
	return untilDone(ctx, c.Ping)
}

// ---- others were faster ----

var errConflict = errors.New("conflict")

func onConflict(counted func(string), op func() error) error {
	for {
		err := op()
		if errors.Is(err, errConflict) {
			counted("retry")
			continue
		}
		return err
	}
}

func nopeConflicts(c client, retried func(string)) error {
	return onConflict(retried, func() error { return c.Ping() })
}

var errBroken = errors.New("broken")

func onBroken(op func() error) error {
	for {
		err := op()
		if errors.Is(err, errBroken) {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

func breaks(c client) error {
	return onBroken(func() error { return c.Ping() }) // want `onBroken retries until it succeeds, without a limit`
}

// ---- the context is asked for by the last case of a select ----

func untilContextEnds(ctx context.Context, op func() error) error {
	for {
		if err := op(); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func neverEnds(c client) error {
	return untilContextEnds(context.Background(), func() error { return c.Ping() }) // want `untilContextEnds retries until it succeeds, without a limit`
}

func nopeEnds(ctx context.Context, c client) error {
	return untilContextEnds(ctx, func() error { return c.Ping() })
}

// Somebody else may end it, by a case before or behind.
func untilStopped(ctx context.Context, stop <-chan struct{}, op func() error) error {
	for {
		if err := op(); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			return errBroken
		}
	}
}

func untilStoppedFirst(ctx context.Context, stop <-chan struct{}, op func() error) error {
	for {
		if err := op(); err == nil {
			return nil
		}
		select {
		case <-stop:
			return errBroken
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func untilStoppedBetween(ctx context.Context, stop <-chan struct{}, op func() error) error {
	for {
		if err := op(); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-stop:
			return errBroken
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func nopeStopped(c client, stop <-chan struct{}) {
	ctx := context.Background()
	_ = untilStopped(ctx, stop, func() error { return c.Ping() })
	_ = untilStoppedFirst(ctx, stop, func() error { return c.Ping() })
	_ = untilStoppedBetween(ctx, stop, func() error { return c.Ping() })
}
