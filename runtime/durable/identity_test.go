package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/runtime/durable"
)

// errStop leaves a run open for another execution.
var errStop = errors.New("stop")

// of returns the policy of a step whose calls are those of a function.
func of(function, name string, formerly ...string) *durable.StepPolicy {
	s := careful(name, 1, 0)
	s.Function, s.Formerly = function, formerly
	return s
}

// A step is not answered with what another function has recorded under its name.
func TestStepOfAnotherFunction(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second *durable.StepPolicy
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
			s := durable.NewMemory()
			var j journal
			for _, order := range []*durable.StepPolicy{tt.first, tt.second} {
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
		p := startProcess(t, durable.NewMemory())
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
