package genapi

import (
	"errors"
	"io"
	"strings"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

func TestRewind(t *testing.T) {
	r := strings.NewReader("0123456789")
	r.Seek(4, io.SeekStart)
	start := PositionOf(r)
	io.Copy(io.Discard, r)
	p := &retry.Policy{Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: retry.None}}
	call := p.Begin()
	call.Spend(start.Rewind())
	call.Spend(Position{}.Rewind())
	call.Spend(PositionOf(nil).Rewind())
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
		policy := &retry.Policy{Name: "write", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: retry.None}}
		b := breaker.New(breaker.Policy{Failures: 1})
		call := policy.BeginWith(retry.Shared{Breaker: b})
		if err := call.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
		call.Spend(PositionOf(p).Rewind())
		err := call.Next(t.Context(), io.ErrUnexpectedEOF)
		e, ok := errors.AsType[*retry.Error](err)
		if !ok || e.Reason != retry.ErrSpent || e.Cause != errPipe || e.Attempts != 1 {
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

func TestPositionAllocatesNothing(t *testing.T) {
	var r io.ReadSeeker = strings.NewReader("0123456789")
	var start Position
	if n := testing.AllocsPerRun(100, func() { start = PositionOf(r) }); n != 0 || start.err != nil {
		t.Errorf("PositionOf allocates %v times", n)
	}
}

func TestSpentOfStep(t *testing.T) {
	r := strings.NewReader("0123456789")
	r.Seek(4, io.SeekStart)
	start := PositionOf(r)
	io.Copy(io.Discard, r)
	if err := Spent(io.EOF, start.Rewind()); err != io.EOF {
		t.Errorf("got %v, want the error of the attempt", err)
	}
	if text, _ := io.ReadAll(r); string(text) != "456789" {
		t.Errorf("the second attempt reads %q, want what the first has read", text)
	}
	err := Spent(io.EOF, PositionOf(pipe(3)).Rewind())
	for _, want := range []error{io.EOF, retry.ErrSpent, errPipe} {
		if !errors.Is(err, want) {
			t.Errorf("%v does not match %v", err, want)
		}
	}
	if (&retry.Policy{}).Retries(err) {
		t.Errorf("%v is retried", err)
	}
}
