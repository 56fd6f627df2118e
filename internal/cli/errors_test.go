package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestText(t *testing.T) {
	missing := &os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	reason, why := syscall.ENOENT.Error(), syscall.ECONNREFUSED.Error()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("open the door"), "open the door"},
		{missing, "x: " + reason},
		{fmt.Errorf("baseline: %w", missing), "baseline: x: " + reason},
		{fmt.Errorf("x: there is no database: %w", missing), "x: there is no database: " + reason},
		{errors.Join(missing, &os.PathError{Op: "stat", Path: "y", Err: syscall.ENOENT}), "x: " + reason + "\ny: " + reason},
		{&os.LinkError{Op: "rename", Old: "x", New: "y", Err: syscall.ENOENT}, "y: " + reason},
		{fmt.Errorf("the server is not reachable: %w", refused), "the server is not reachable: dial tcp: " + why},
		{fmt.Errorf("hidden: %w", &hiding{missing}), "hidden: no text of the file"},
	} {
		if got := Text(tt.err); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.err, got, tt.want)
		}
	}
}

// A hiding error does not print the error that it wraps.
type hiding struct{ error }

func (*hiding) Error() string   { return "no text of the file" }
func (h *hiding) Unwrap() error { return h.error }

func TestFail(t *testing.T) {
	var out bytes.Buffer
	if status := Fail(&out, "greet", errors.Join(errors.New("one"), errors.New("two"))); status != Failed {
		t.Errorf("status %d", status)
	}
	if got, want := out.String(), "greet: one\ngreet: two\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
