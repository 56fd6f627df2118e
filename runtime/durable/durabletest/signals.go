package durabletest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// testSignals: a process dies before and after each commit of a run that sleeps and
// waits for a signal, and of the signal. Another one completes the run: a signal that
// was acknowledged is the value of the wait, and without one its timeout ends it.
func testSignals(t *testing.T, p *place) {
	s := p.store()
	ctx := s.limited()
	waves(func(n int) bool { return s.surviveSignal(ctx, n, true) })
	waves(func(n int) bool { return s.surviveSignal(ctx, n, false) })
}

// surviveSignal lets a process die at a point, and another one complete its run. It
// reports whether the first one has died.
func (s *tester) surviveSignal(ctx context.Context, point int, send bool) bool {
	what := fmt.Sprintf("signals-%v-crash-%d", send, point)
	timeout := time.Hour
	if !send {
		timeout = 20 * time.Millisecond
	}
	v := s.victim(crash{point: point})
	engine := func(s storage.Store) *durable.Engine {
		e, err := durable.New(s, durable.Namespace(what), durable.Lease(time.Second))
		if err != nil {
			v.t.Error(err)
		}
		return e
	}
	run := func(ctx context.Context, e *durable.Engine) (string, error) {
		return durable.Run(ctx, e, "refund", func(ctx context.Context) (string, error) {
			if err := durable.Sleep(ctx, "sleep", time.Millisecond); err != nil {
				return "", err
			}
			got, err := durable.Wait[string](ctx, "approve", timeout)
			if errors.Is(err, durable.ErrNoSignal) {
				return "nobody", nil
			}
			return got, err
		})
	}
	dying, cancel := v.f.Context(ctx)
	defer cancel()
	first := engine(v.f)
	_, _ = run(dying, first)
	sent := send && first.Admin().Signal(dying, "refund", "approve", "yes") == nil
	died := v.f.Failed()
	cancel()
	_ = first.Close(dying) // fails after a crash

	second := engine(s.Store)
	got, err := run(ctx, second)
	for range 5 {
		if _, parked := errors.AsType[*durable.ParkedError](err); !parked || sent {
			break
		}
		if !send {
			time.Sleep(timeout)
		} else if err := second.Admin().Signal(ctx, "refund", "approve", "yes"); err != nil {
			v.t.Errorf("%s: %v", what, err)
		}
		got, err = run(ctx, second)
	}
	want := "nobody"
	if send {
		want = "yes"
	}
	if got != want || err != nil {
		v.t.Errorf("%s: the run returned %q, error %v, want %q", what, got, err, want)
	}
	for violation, err := range second.Admin().Verify(ctx) {
		v.t.Errorf("%s: %v, error %v", what, violation, err)
	}
	if err := second.Close(ctx); err != nil {
		v.t.Errorf("%s: closing the engine: %v", what, err)
	}
	return died
}
