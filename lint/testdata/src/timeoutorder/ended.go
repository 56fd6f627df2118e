package timeoutorder

import (
	"context"
	"errors"
	"time"
)

// ---- the outer context has ended ----

type server interface {
	Shutdown(context.Context) error
}

func shutsDown(ctx context.Context, s server) error {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // want `ctx has ended here, so this context ends at once: derive it from the parent of ctx, or from context.WithoutCancel \(RL301\)`
	defer cancel()
	return s.Shutdown(ctx)
}

func inSelect(ctx context.Context, s server, failed <-chan error, grace time.Duration) error {
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		last, cancel := context.WithTimeout(ctx, grace) // want `ends at once`
		defer cancel()
		return s.Shutdown(last)
	}
}

func byError(ctx context.Context, s server) error {
	if ctx.Err() != nil {
		last, cancel := context.WithDeadline(context.WithValue(ctx, key{}, 1), time.Now().Add(time.Second)) // want `ends at once`
		defer cancel()
		return s.Shutdown(last)
	}
	return nil
}

func inGoroutine(ctx context.Context, s server) {
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(ctx, time.Second) // want `the parent of the context`
		defer cancel()
		s.Shutdown(last)
	}()
}

// ---- the outer context may have little time left ----

func deferred(ctx context.Context, s server) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	defer func() {
		last, cancel := context.WithTimeout(ctx, 10*time.Second) // want `inner timeout 10s exceeds the outer 5s from line 54, which may have ended in this deferred call: derive it from the parent`
		defer cancel()
		s.Shutdown(last)
	}()
	call(ctx)
	return nil
}

// ---- what must stay silent ----

func nopeWithoutCancel(ctx context.Context, s server) error {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return s.Shutdown(ctx)
}

func nopeParent(ctx context.Context, s server) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	<-inner.Done()
	last, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	return s.Shutdown(last)
}

func nopeReplaced(ctx context.Context, s server) error {
	<-ctx.Done()
	ctx = context.Background()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.Shutdown(ctx)
}

func nopeOtherCase(ctx context.Context, s server, failed <-chan error) error {
	select {
	case <-failed:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.Shutdown(ctx)
}

func nopeStillLive(ctx context.Context, s server) error {
	if err := ctx.Err(); err == nil {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return s.Shutdown(ctx)
	}
	return errors.New("too late")
}

func nopeAssignedTwice(ctx context.Context, s server) {
	go func() {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		s.Shutdown(ctx)
	}()
	ctx = context.Background()
	call(ctx)
}
