package retry

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/retrygen/retrygen/runtime/breaker"
)

var errPipe = errors.New("illegal seek")

// TestSpentLast: a call that makes one attempt, or whose error is permanent,
// returns that error unchanged.
func TestSpentLast(t *testing.T) {
	permanent := Permanent(io.EOF)
	for _, test := range []struct {
		err  error
		want error
	}{{io.ErrUnexpectedEOF, io.ErrUnexpectedEOF}, {permanent, io.EOF}} {
		call := (&Policy{Schedule: Schedule{MaxAttempts: 1}}).Begin()
		call.Spend(errPipe)
		if err := call.Next(t.Context(), test.err); !errors.Is(err, test.want) || errors.Is(err, ErrSpent) {
			t.Errorf("got %v, want %v", err, test.want)
		}
	}
}

// TestSpentRefusal: before the first attempt nothing is used up, and a breaker
// that is waited for ends no call.
func TestSpentRefusal(t *testing.T) {
	b := breaker.New(breaker.Policy{Failures: 1, OpenFor: 1})
	pass, _ := b.Ready()
	b.Record(pass.Permit(), breaker.Failure)
	policy := &Policy{Schedule: Schedule{MaxAttempts: 9, InitialDelay: 2}, RetryOn: []Class{ClassAny, ClassBreakerOpen}}
	call := policy.BeginWith(Shared{Breaker: b})
	call.Spend(errPipe)
	if err := call.Admit(context.Background()); err != nil {
		t.Errorf("got %v, want the first attempt", err)
	}
}
