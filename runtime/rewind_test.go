package retry

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/runtime/breaker"
)

func TestRewind(t *testing.T) {
	r := strings.NewReader("0123456789")
	r.Seek(4, io.SeekStart)
	start := PositionOf(r)
	io.Copy(io.Discard, r)
	p := &Policy{Schedule: Schedule{MaxAttempts: 2, InitialDelay: None}}
	call := p.Begin()
	call.Rewind(start)
	call.Rewind(Position{})
	call.Rewind(PositionOf(nil))
	if err := call.Next(t.Context(), io.ErrUnexpectedEOF); err != nil {
		t.Fatalf("got %v, want another attempt", err)
	}
	if text, _ := io.ReadAll(r); string(text) != "456789" {
		t.Errorf("the second attempt reads %q, want what the first has read", text)
	}
}

// pipe cannot be rewound. Its offset is known if at is not negative.
type pipe int64

var errPipe = errors.New("illegal seek")

func (p pipe) Seek(_ int64, whence int) (int64, error) {
	if whence == io.SeekCurrent && p >= 0 {
		return int64(p), nil
	}
	return 0, errPipe
}

func TestSpent(t *testing.T) {
	for _, p := range []pipe{-1, 3} {
		policy := &Policy{Name: "write", Schedule: Schedule{MaxAttempts: 3, InitialDelay: None}}
		b := breaker.New(breaker.Policy{Failures: 1})
		call := policy.BeginWith(Shared{Breaker: b})
		if err := call.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
		call.Rewind(PositionOf(p))
		err := call.Next(t.Context(), io.ErrUnexpectedEOF)
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ErrSpent || e.Cause != errPipe || e.Attempts != 1 {
			t.Errorf("pipe %d: got %v, want ErrSpent", p, err)
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, errPipe) {
			t.Errorf("pipe %d: %v hides an error", p, err)
		}
		if b.State() != breaker.Open {
			t.Errorf("pipe %d: the breaker has not counted the failure", p)
		}
	}
}

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

func TestPositionAllocatesNothing(t *testing.T) {
	var r io.ReadSeeker = strings.NewReader("0123456789")
	var start Position
	if n := testing.AllocsPerRun(100, func() { start = PositionOf(r) }); n != 0 || start.err != nil {
		t.Errorf("PositionOf allocates %v times", n)
	}
}

func TestPositionRewind(t *testing.T) {
	r := strings.NewReader("0123456789")
	r.Seek(4, io.SeekStart)
	start := PositionOf(r)
	io.Copy(io.Discard, r)
	if err := start.Rewind(io.EOF); err != io.EOF {
		t.Errorf("got %v, want the error of the attempt", err)
	}
	if text, _ := io.ReadAll(r); string(text) != "456789" {
		t.Errorf("the second attempt reads %q, want what the first has read", text)
	}
	err := PositionOf(pipe(3)).Rewind(io.EOF)
	for _, want := range []error{io.EOF, ErrSpent, errPipe} {
		if !errors.Is(err, want) {
			t.Errorf("%v does not match %v", err, want)
		}
	}
	if (&Policy{}).Retries(err) {
		t.Errorf("%v is retried", err)
	}
}
