package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// errStop leaves a run open for another execution.
var errStop = errors.New("stop")

// of returns the policy of a step whose calls are those of a function.
func of(function, name string, formerly ...string) *genapi.StepPolicy {
	s := careful(name, 1, 0)
	s.Function, s.Formerly = function, formerly
	return s
}

// A step is not answered with what another function has recorded under its name.
func TestStepOfAnotherFunction(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second *genapi.StepPolicy
		changed       bool
	}{
		{"the same", of("a.Close", "close"), of("a.Close", "close"), false},
		{"another package", of("a.Close", "close"), of("b.Close", "close"), true},
		{"a step of Go code", of("a.Close", "close"), careful("close", 1, 0), true},
		{"recorded by Go code", careful("close", 1, 0), of("a.Close", "close"), false},
		{"another name", of("a.Close", "a.close"), of("b.Close", "b.close"), false},
		{"renamed", of("a.Close", "a.close"), of("b.Close", "b.close", "a.close"), false},
		{"moved under one name", of("a.Close", "close"), of("b.Close", "close", "a.Close"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			var j journal
			for _, order := range []*genapi.StepPolicy{tt.first, tt.second} {
				p := startProcess(t, s)
				err := p.run("one", func(ctx context.Context) error {
					if _, err := callID(ctx, order, "42", failing(&j, 0)); err != nil {
						return err
					}
					return errStop
				})
				if order == tt.first || !tt.changed {
					wantError(t, err, errStop)
					continue
				}
				wantError(t, err, durable.ErrChanged)
				changed := wantAs[*durable.ChangedError](t, err)
				if changed.Recorded != tt.first.Function || changed.Called != tt.second.Function {
					t.Errorf("%s: recorded by %q, called by %q", tt.name, changed.Recorded, changed.Called)
				}
			}
		})
	}
}

// Neither is a call in the same execution.
func TestStepOfAnotherFunctionInOneExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		err := p.run("one", func(ctx context.Context) error {
			if _, err := callID(ctx, of("billing.Client.Close", "Client.Close"), "42", failing(&j, 0)); err != nil {
				t.Error(err)
			}
			_, err := callID(ctx, of("crm.Client.Close", "Client.Close"), "42", failing(&j, 0))
			return err
		})
		wantError(t, err, durable.ErrChanged)
		j.want(t, "Client.Close/42", 1)
	})
}

// A second call in one execution is an error, before and after a restart, unless
// the policy allows it. A step that has failed returns its error again.
func TestRepeatedCall(t *testing.T) {
	for _, repeat := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			var j journal
			charge, broken := careful("charge", 1, 0), careful("broken", 1, 0)
			charge.Repeat, broken.Repeat = repeat, repeat
			for range 2 {
				p := startProcess(t, s)
				err := p.run("one", func(ctx context.Context) error {
					if got, err := callID(ctx, charge, 1, failing(&j, 0)); got != 101 || err != nil {
						t.Errorf("first call: got %d, %v", got, err)
					}
					switch got, err := callID(ctx, charge, 1, failing(&j, 0)); {
					case repeat && (got != 101 || err != nil), !repeat && !errors.Is(err, durable.ErrRepeated):
						t.Errorf("second call, repeat %v: got %d, %v", repeat, got, err)
					}
					for range 2 {
						_, err := callID(ctx, broken, 1, failing(&j, 9))
						wantAs[*durable.StepError](t, err)
					}
					return errStop
				})
				wantError(t, err, errStop)
			}
			j.want(t, "charge/1", 1)
		})
	}
}

// Whether a second call is an error does not depend on how long the first takes.
func TestRepeatedConcurrentCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		err := p.run("one", func(ctx context.Context) error {
			errs := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := call(ctx, careful("charge", 1, 0), func(context.Context) (int, error) {
						synctest.Wait()
						return 1, nil
					})
					errs <- err
				}()
			}
			first, second := <-errs, <-errs
			if (first == nil) == (second == nil) {
				t.Errorf("got %v and %v, want one error", first, second)
			}
			wantError(t, errors.Join(first, second), durable.ErrRepeated)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
