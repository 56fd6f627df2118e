package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// An unreadable store fails all reads while it is broken.
type unreadable struct {
	storage.Store
	broken atomic.Bool
}

func (u *unreadable) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	if u.broken.Load() {
		return nil, storage.ErrStore
	}
	return u.Store.Get(ctx, keys)
}

func (u *unreadable) History(
	ctx context.Context, step storage.Key, from storage.Cursor,
) ([]storage.Entry, storage.Cursor, error) {
	if u.broken.Load() {
		return nil, "", storage.ErrStore
	}
	return u.Store.History(ctx, step, from)
}

// A run is not completed after an error of the store, even if its function drops
// the error.
func TestStoreErrorSwallowed(t *testing.T) {
	large := strings.Repeat("x", 10_000)
	renamed := careful("new", 1, 0)
	renamed.Formerly = []string{"old"}
	for name, step := range map[string]func(context.Context) error{
		"large result": func(ctx context.Context) error {
			_, err := durable.Step(ctx, "large", nil, func(context.Context) (string, error) { return large, nil })
			return err
		},
		"former name": func(ctx context.Context) error {
			_, err := call(ctx, renamed, func(context.Context) (int, error) { return 1, nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &unreadable{Store: memory.New()}
				p := startProcess(t, s)
				_ = p.run("one", func(ctx context.Context) error {
					_, _ = call(ctx, careful("old", 1, 0), func(context.Context) (int, error) { return 1, nil })
					_, _ = durable.Step(ctx, "large", nil, func(context.Context) (string, error) { return large, nil })
					return errors.New("not yet")
				})
				err := p.run("one", func(ctx context.Context) error {
					s.broken.Store(true)
					defer s.broken.Store(false)
					wantError(t, step(ctx), storage.ErrStore)
					_, err := call(ctx, careful("next", 1, 0), func(context.Context) (int, error) { return 1, nil })
					wantError(t, err, storage.ErrStore)
					return nil
				})
				wantError(t, err, storage.ErrStore)
				wantRun(t, p.Engine, "one", storage.StatusOpen)
			})
		})
	}
}

// A run is not completed over a recorded step that it has called, even if the
// call did not get as far as an attempt.
func TestUnfinishedStepOfEarlierExecution(t *testing.T) {
	for name, recall := range map[string]func(context.Context, func(context.Context) (int, error)){
		"other arguments": func(ctx context.Context, fn func(context.Context) (int, error)) {
			_, err := genapi.Call(ctx, careful("charge", 3, time.Hour), genapi.ID(), genapi.Arguments("n", 2), fn)
			_ = errors.Is(err, durable.ErrChanged)
		},
		"canceled": func(ctx context.Context, fn func(context.Context) (int, error)) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, _ = genapi.Call(ctx, careful("charge", 3, time.Hour), genapi.ID(), genapi.Arguments("n", 1), fn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				var j journal
				a := startProcess(t, m)
				a.killAfter(time.Minute)
				_ = a.run("one", func(ctx context.Context) error {
					args := genapi.Arguments("n", 1)
					_, err := genapi.Call(ctx, careful("charge", 3, time.Hour), genapi.ID(), args, failing(&j, 9))
					return err
				})
				b := startProcess(t, m)
				err := b.run("one", func(ctx context.Context) error {
					recall(ctx, failing(&j, 9))
					return nil
				})
				unfinished := wantAs[*durable.UnfinishedError](t, err)
				if len(unfinished.Steps) != 1 {
					t.Errorf("got steps %q", unfinished.Steps)
				}
				wantRun(t, b.Engine, "one", storage.StatusOpen)
			})
		})
	}
}

// A run is parked until the first of its waits ends, also if that one was not too
// long for the process.
func TestParkedUntilFirstWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		long := idempotent("long", 3, time.Hour)
		long.ParkAfter = time.Minute
		err := p.run("one", func(ctx context.Context) error {
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() { _, _ = call(ctx, idempotent("short", 3, 10*time.Second), failing(&j, 9)) })
			time.Sleep(time.Second)
			_, err := call(ctx, long, failing(&j, 9))
			return err
		})
		parked := wantAs[*durable.ParkedError](t, err)
		wantAbout(t, "the parked run", parked.Until.Sub(epoch), 10*time.Second, 10*time.Second)
	})
}

// A retry that became due while nobody was there is spread over the time that
// its caller has: it must be made some time.
func TestSpreadDoesNotParkForEver(t *testing.T) {
	for name, park := range map[string]func(context.Context, *genapi.StepPolicy) (context.Context, context.CancelFunc){
		"park_after": func(ctx context.Context, s *genapi.StepPolicy) (context.Context, context.CancelFunc) {
			s.ParkAfter = 2 * time.Second
			return context.WithCancel(ctx)
		},
		"deadline": func(ctx context.Context, _ *genapi.StepPolicy) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2*time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				var j journal
				for range 4 {
					s := idempotent("charge", 3, 10*time.Minute)
					ctx, cancel := park(p.ctx, s)
					err := p.Run(ctx, "one", oneStep(s, failing(&j, 1)))
					cancel()
					if err == nil {
						break
					}
					time.Sleep(time.Until(wantAs[*durable.ParkedError](t, err).Until))
				}
				j.want(t, "charge", 1, 2)
			})
		})
	}
}

// A start that the breaker refuses is decided about once, also if the reply is
// lost: the refusal counts once.
func TestLostReplyOfRefusedStart(t *testing.T) {
	var waited [2]time.Duration
	for i := range waited {
		synctest.Test(t, func(t *testing.T) {
			s := &hooked{Store: memory.New()}
			again := false
			s.hook = func(
				ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
			) error {
				if isRenewal(sel) {
					return next(ctx, sel, decide)
				}
				waiting := false
				err := next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
					w, err := decide(tx)
					waiting = puts(w, storage.StatusWaiting)
					return w, err
				})
				if again = waiting && !again && i == 1; again && err == nil {
					return storage.ErrUnknown
				}
				return err
			}
			p := startProcess(t, s)
			charge := idempotent("charge", 9, time.Second)
			charge.Policy.RetryOn = []retry.Class{retry.ClassAny, retry.ClassBreakerOpen}
			charge.Shared.Breaker = breaker.New(breaker.Policy{Name: "b", Failures: 1, OpenFor: 10 * time.Second})
			var j journal
			if err := p.run("one", oneStep(charge, failing(&j, 1))); err != nil {
				t.Error(err)
			}
			waited[i] = wantStep(t, p.Engine, "one", "charge", storage.StatusSucceeded).Waited
			j.want(t, "charge", 1, 2)
		})
	}
	if waited[0] != waited[1] {
		t.Errorf("waited %v, and %v with lost replies", waited[0], waited[1])
	}
}

// A dead letter that is requeued as soon as its run has succeeded is executed: the
// end of the run abandons the steps that were unfinished before.
func TestRequeueAtTheEndOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		operator, requeued := newEngine(t, m), false
		p := startProcess(t, m, durable.OnEvent(func(ctx context.Context, ev events.Event) {
			if ev.Kind == events.EventCompleted && !requeued {
				requeued = true
				if err := operator.Admin().Requeue(ctx, "one", "letter"); err != nil {
					t.Error(err)
				}
			}
		}))
		letter := idempotent("letter", 1, 0)
		letter.OnExhausted = genapi.ExhaustedDeadLetter
		var j journal
		execution := 0
		run := func() error {
			return p.run("one", func(ctx context.Context) error {
				if execution++; execution == 1 {
					ctx, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					_, err := call(ctx, idempotent("old", 3, time.Minute), failing(&j, 1))
					return err
				}
				_, _ = call(ctx, letter, failing(&j, 1))
				return nil
			})
		}
		_, _ = run(), run()
		wantStep(t, p.Engine, "one", "letter", storage.StatusOpen)
		if err := run(); err != nil {
			t.Error(err)
		}
		wantStep(t, p.Engine, "one", "letter", storage.StatusSucceeded)
		wantStep(t, p.Engine, "one", "old", storage.StatusAbandoned)
		wantRun(t, p.Engine, "one", storage.StatusSucceeded)
		j.want(t, "letter", 1, 2)
	})
}

// What a codec returns is opaque: it is not changed, even if it looks like JSON.
func TestCodecIsOpaque(t *testing.T) {
	for _, text := range []string{`{"a": 1}`, "7 ", `"<b>"`, "", "null", " ", "\x00\xff"} {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New(), durable.WithCodec(textCodec{}))
			for n := range 2 {
				_ = p.run("one", func(ctx context.Context) error {
					got, err := durable.Step(ctx, "text", nil, func(context.Context) (string, error) { return text, nil })
					if got != text || err != nil {
						t.Errorf("execution %d: got %q, %v; want %q", n+1, got, err, text)
					}
					return errors.New("once more")
				})
			}
		})
	}
}

// A textCodec encodes strings as they are.
type textCodec struct{}

func (textCodec) Encode(value any) ([]byte, error) { return []byte(value.(string)), nil }

func (textCodec) Decode(data []byte, into any) error {
	*into.(*string) = string(data)
	return nil
}

// A codec that encrypts encodes no value twice in the same way: the same input is the
// same run nevertheless.
func TestStartWithSalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New(), durable.WithCodec(new(saltedCodec)))
		for range 2 {
			if err := durable.Start(t.Context(), p.Engine, "copy", "one", "a"); err != nil {
				t.Fatal(err)
			}
		}
		wantError(t, durable.Start(t.Context(), p.Engine, "copy", "one", "b"), durable.ErrConflict)
		wantError(t, durable.Start(t.Context(), p.Engine, "move", "one", "a"), durable.ErrConflict)
	})
}

// A saltedCodec encodes strings after a text that differs each time.
type saltedCodec struct{ n atomic.Int64 }

func (c *saltedCodec) Encode(value any) ([]byte, error) {
	return fmt.Appendf(nil, "%d:%s", c.n.Add(1), value), nil
}

func (c *saltedCodec) Decode(data []byte, into any) error {
	_, text, _ := strings.Cut(string(data), ":")
	*into.(*string) = text
	return nil
}

// A run succeeds and abandons the steps that it has left in one transaction: a crash
// never leaves a step unfinished in a run that has ended.
func TestAbandonAtOnce(t *testing.T) {
	for n, failed := 1, true; failed; n++ {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			first := startProcess(t, m)
			hangs := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
			_ = first.run("one", func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() { _, _ = callID(ctx, idempotent("old", 3, time.Minute), i, hangs) })
				}
				wg.Wait()
				return errors.New("not yet")
			})
			first.kill()
			store := durabletest.CrashAt(m, n)
			second := newEngine(t, store)
			ctx, cancel := store.Context(t.Context())
			defer cancel()
			_ = second.Run(ctx, "one", func(context.Context) error { return nil })
			failed = store.Failed()
			third := startProcess(t, m)
			wantClean(t, third.Engine)
			if err := third.run("one", func(context.Context) error { return nil }); err != nil {
				t.Errorf("crash %d: %v", n, err)
			}
			wantClean(t, third.Engine)
			for i := range 3 {
				wantStep(t, third.Engine, "one", fmt.Sprint("old/", i), storage.StatusAbandoned)
			}
		})
	}
}

// A step that was abandoned while its attempt was executing, or in doubt, is not
// executed again in silence when the run is opened and calls it.
func TestAbandonInDoubt(t *testing.T) {
	for _, deadly := range []events.Kind{0, events.EventInDoubt} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var j journal
			old, letter := careful("old", 3, time.Minute), letterPolicy("letter", 1)
			hangs := func(ctx context.Context) (int, error) { j.add(ctx); <-ctx.Done(); return 0, ctx.Err() }
			first := startProcess(t, m)
			first.killAfter(time.Second)
			_ = first.run("one", oneStep(old, hangs))
			if deadly != 0 {
				second := startProcess(t, m)
				second.deadly = deadly
				_ = second.run("one", oneStep(old, hangs))
				wantStep(t, newEngine(t, m), "one", "old", storage.StatusInDoubt)
			}
			p := startProcess(t, m)
			err := p.run("one", func(ctx context.Context) error {
				_, _ = call(ctx, letter, failing(&j, 1))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			wantListed(t, p.Engine, admin.Filter{Status: []storage.Status{storage.StatusAbandoned}}, "one:old")
			wantListed(t, p.Engine, admin.Filter{Attention: true}, "one:letter")
			wantClean(t, p.Engine)
			if err := p.Admin().Requeue(t.Context(), "one", "letter"); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				wantAs[*durable.PausedError](t, p.run("one", oneStep(old, failing(&j, 9))))
			}
			wantStep(t, p.Engine, "one", "old", storage.StatusInDoubt)
			wantClean(t, p.Engine)
			if err := p.Admin().Resolve(t.Context(), "one", "old", admin.Succeeded(7)); err != nil {
				t.Fatal(err)
			}
			if err := p.run("one", oneStep(old, failing(&j, 9))); err != nil {
				t.Fatal(err)
			}
			j.want(t, "old", 1)
			wantClean(t, p.Engine)
		})
	}
}

// The units of a group that was abandoned with its run are executed when the run is
// opened and calls the group.
func TestAbandonGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, job.GroupPolicy{}, "a slow b", "")
		s.p.killAfter(time.Second)
		_ = s.p.run("one", func(ctx context.Context) error {
			_, err := durable.Group(ctx, job.NewGroup(s.policy, "one"), s.units, s.op, nil)
			return err
		})
		m := s.p.store.Store
		s.p = startProcess(t, m)
		var j journal
		letter := letterPolicy("letter", 1)
		err := s.p.run("one", func(ctx context.Context) error {
			_, _ = call(ctx, letter, failing(&j, 1))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantStep(t, s.p.Engine, "one", "/import/slow", storage.StatusAbandoned)
		wantClean(t, s.p.Engine)
		if err := s.p.Admin().Requeue(t.Context(), "one", "letter"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(s.p.ctx, time.Hour)
		defer cancel()
		var out job.Outcome[string]
		err = s.p.Run(ctx, "one", func(ctx context.Context) (err error) {
			op := func(_ context.Context, unit string) (string, error) { return unit, nil }
			out, err = durable.Group(ctx, job.NewGroup(s.policy, "one"), s.units, op, nil)
			return err
		})
		if err != nil || len(out.Results) != 3 {
			t.Errorf("got %v, %v; want 3 results", out.Results, err)
		}
		wantClean(t, s.p.Engine)
	})
}
