package endlesshelper

import (
	"context"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/endlesshelper/helper"
)

type client interface {
	Call(ctx context.Context, key string) (string, error)
	Ping() error
}

func forever(ctx context.Context, c client) {
	helper.Forever(func() error { _, err := c.Call(ctx, "k"); return err }) // want `Forever retries until it succeeds, without a limit: pass ctx, or a limit \(RL201, RL202`
}

func without(c client) error {
	return helper.Without(func() error { return c.Ping() }) // want `RL201`
}

func background(c client) error {
	return helper.UntilDone(context.Background(), func() error { return c.Ping() }) // want `RL201`
}

func selects(c client) error {
	return helper.Select(context.Background(), c.Ping) // want `RL201`
}

func cancelsAtEnd(c client) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	return helper.Select(ctx, c.Ping) // want `RL201`
}

func nopeCancelled(c client, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-stop; cancel() }()
	return helper.Select(ctx, c.Ping)
}

func goesOn(ctx context.Context, c client) error {
	return helper.Attempts(context.Background(), 5, func(context.Context) error { // want `Attempts continues after ctx has ended: pass it that context \(RL202`
		_, err := c.Call(ctx, "k")
		return err
	})
}

func goesOnThrough(ctx context.Context, c client) error {
	return helper.Thrice(context.TODO(), func(ctx context.Context) error { // want `Thrice continues after ctx has ended: pass it that context \(RL202`
		_, err := c.Call(ctx, "k")
		return err
	})
}

func nopeGoesOn(ctx context.Context, c client) error {
	return helper.Thrice(ctx, func(ctx context.Context) error {
		_, err := c.Call(ctx, "k")
		return err
	})
}

// It is to be done though the caller is gone.
func nopeDetached(ctx context.Context, c client) error {
	return helper.Thrice(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := c.Call(ctx, "k")
		return err
	})
}

func nopeNoCaller(c client) error {
	return helper.Attempts(context.Background(), 5, func(context.Context) error { return c.Ping() })
}

// It asks the context itself.
func nopeAsks(ctx context.Context, c client) error {
	return helper.Attempts(context.Background(), 5, func(context.Context) error {
		if ctx.Err() != nil {
			return nil
		}
		return c.Ping()
	})
}

// The error of the context may be one that lasts: known after one more wait.
func waitsOn(ctx context.Context, c client) error {
	return helper.Permanent(context.Background(), 5, func() error { // want `Permanent continues after ctx has ended: pass it that context \(RL202`
		_, err := c.Call(ctx, "k")
		return err
	}, func(err error) bool { return err == context.Canceled })
}

func detached(ctx context.Context, c client) error {
	return helper.Detached(5, func() error { // want `Detached continues after ctx has ended: call Permanent instead \(RL202`
		_, err := c.Call(ctx, "k")
		return err
	})
}

func deaf(ctx context.Context, c client) error {
	return helper.Times(5, func() error { // want `Times continues after ctx has ended, as in another call in this package: add a context parameter that ends its waits \(RL202`
		_, err := c.Call(ctx, "k")
		return err
	})
}

// The first tells of it.
func deafAgain(ctx context.Context, c client) error {
	return helper.Times(5, func() error {
		_, err := c.Call(ctx, "k")
		return err
	})
}

func deafThrough(ctx context.Context, c client) error {
	return helper.FiveTimes(func() error { // want `FiveTimes continues after ctx has ended`
		_, err := c.Call(ctx, "k")
		return err
	})
}

// What it does without the context may be meant to go on.
func nopeDeafWithout(ctx context.Context, c client) error {
	return helper.Times(5, c.Ping)
}

func nopeDeafAsks(ctx context.Context, c client) error {
	return helper.Times(5, func() error {
		if ctx.Err() != nil {
			return nil
		}
		_, err := c.Call(ctx, "k")
		return err
	})
}

func nopeDeafAsked(ctx context.Context, c client) error {
	return helper.Until(func() error {
		_, err := c.Call(ctx, "k")
		return err
	}, func(error) bool { return ctx.Err() == nil })
}

func deafForSeconds(ctx context.Context, c client) error {
	return helper.Every(5*time.Second, func() error { // want `Every continues after ctx has ended`
		_, err := c.Call(ctx, "k")
		return err
	})
}

func nopeDeafForMoments(ctx context.Context, c client) error {
	return helper.Every(10*time.Millisecond, func() error {
		_, err := c.Call(ctx, "k")
		return err
	})
}

// How far a wait grows is not known.
func deafGrowing(ctx context.Context, c client) error {
	return helper.Growing(func() error { // want `Growing continues after ctx has ended: .* \(RL202; named\)`
		_, err := c.Call(ctx, "k")
		return err
	})
}

// What it does is to be done though the caller is gone.
func nopeDeafDetached(ctx context.Context, c client) error {
	return helper.FiveTimes(func() error {
		if _, err := c.Call(ctx, "id"); err != nil {
			return err
		}
		_, err := c.Call(context.WithoutCancel(ctx), "k")
		return err
	})
}

func nopeDeafBeside(ctx context.Context, c client) error {
	done := make(chan error, 1)
	go func() {
		done <- helper.Times(5, func() error {
			_, err := c.Call(ctx, "k")
			return err
		})
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func nopeDeafBriefly(ctx context.Context, c client) error {
	return helper.Briefly(func() error {
		_, err := c.Call(ctx, "k")
		return err
	})
}

func nopeDeafStopped(ctx context.Context, c client, stop chan struct{}) error {
	return helper.UntilStopped(stop, func() error {
		_, err := c.Call(ctx, "k")
		return err
	})
}

func nopeDetachedAlone(c client) error {
	return helper.Detached(5, c.Ping)
}

func nopeDetachedAsks(ctx context.Context, c client) error {
	return helper.Detached(5, func() error {
		if ctx.Err() != nil {
			return nil
		}
		return c.Ping()
	})
}

// The end of the context closes the server, which ends the retries.
func nopeClosedWithContext(ctx context.Context, s *http.Server) {
	go func() {
		<-ctx.Done()
		_ = s.Shutdown(context.Background())
	}()
	_ = helper.Detached(5, func() error {
		if err := s.ListenAndServe(); err != http.ErrServerClosed {
			return err
		}
		return nil
	})
}

// It is to be done though the caller is gone.
func nopeDetachedOnPurpose(ctx context.Context, c client) {
	defer func() {
		_ = helper.Detached(5, func() error {
			_, err := c.Call(context.WithoutCancel(ctx), "k")
			return err
		})
	}()
}

type handler struct {
	c      client
	closed bool
	up     bool
}

func (h *handler) close() { h.closed = true }

func (h *handler) nopeClosed() error {
	return helper.Select(context.Background(), func() error {
		if h.closed {
			return nil
		}
		return h.c.Ping()
	})
}

func (h *handler) start() error {
	if err := h.c.Ping(); err != nil {
		return err
	}
	h.up = true
	return nil
}

// What logs the first error captures it.
func (h *handler) startsOnce() {
	var once sync.Once
	helper.Forever(func() error { // want `without a limit: pass a limit \(RL201`
		if h.up {
			return nil
		}
		err := h.start()
		if err != nil {
			once.Do(func() { log.Print(err) })
		}
		return err
	})
}

// Nothing in it knows a context.
func beside(ctx context.Context, c client) {
	helper.Forever(c.Ping) // want `without a limit: pass a limit \(RL201`
}

func nopeContext(ctx context.Context, c client) error {
	return helper.UntilDone(ctx, func() error { return c.Ping() })
}

func nopeTimes(c client) error {
	return helper.Times(3, func() error { return c.Ping() })
}

func nopeCounts(c client) error {
	n := 3
	return helper.Without(func() error {
		err := c.Ping()
		if n--; n == 0 {
			return nil
		}
		return err
	})
}

func nopeAsksTheContext(ctx context.Context, c client) {
	helper.Forever(func() error {
		if ctx.Err() != nil {
			return nil
		}
		return c.Ping()
	})
}

func answer[T any](f func() (T, error)) T {
	for {
		v, err := f()
		if err == nil {
			return v
		}
		time.Sleep(time.Second)
	}
}

// What is retried by an instance is so by the function.
func instance(c client) int {
	return answer(func() (int, error) { return 1, c.Ping() }) // want `answer retries until it succeeds, without a limit`
}

func inBackground(c client) {
	go helper.Forever(c.Ping)    // want `Forever retries until it succeeds, without a limit`
	defer helper.Forever(c.Ping) // want `Forever retries until it succeeds, without a limit`
}

func nopeLast(read func() (string, error)) []string {
	return helper.Collect(func() (string, bool, error) {
		text, err := read()
		return text, text == "", err
	})
}
