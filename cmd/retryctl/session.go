package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/open"
	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
)

// A session is one run of a command on a store.
type session struct {
	store, space string // the flags
	json, yes    bool
	colors       *cli.Color
	valueFlags

	client         *admin.Client
	stdout, stderr io.Writer
	color          bool // of stdout
	now            time.Time
}

// newSession defines the flags that all commands have which open the store.
func newSession(flags *flag.FlagSet) *session {
	s := &session{colors: cli.ColorFlag(flags)}
	flags.StringVar(&s.store, "store", "", "the `store`: sqlite:FILE or postgres://…; by default $"+open.Variable)
	flags.StringVar(&s.space, "namespace", "", "the `namespace` of the engines, if they have one")
	return s
}

// jsonFlag defines the flag -json.
func (s *session) jsonFlag(flags *flag.FlagSet) {
	flags.BoolVar(&s.json, "json", false, "print JSON for scripts, one object per line")
}

// errProblems makes a command end with the status for problems that it has printed.
var errProblems = errors.New("problems were printed")

// A usageError is a mistake in the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// do returns the function that runs a command: it opens the store and calls f with
// the arguments, of which there are at least min and at most max. ctx ends with
// Ctrl-C and SIGTERM.
func (s *session) do(min, max int, what string, f func(ctx context.Context, args []string) error) cli.Run {
	return func(args []string, stdout, stderr io.Writer) int {
		s.stdout, s.stderr, s.color, s.now = stdout, stderr, s.colors.On(stdout), time.Now()
		if len(args) < min || len(args) > max {
			return s.fail(usage("%s", what))
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // the second signal ends the process at once
		err := s.open(ctx, func() error { return f(ctx, args) })
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return s.fail(err)
	}
}

// open opens the store, calls f and closes the store.
func (s *session) open(ctx context.Context, f func() error) error {
	progress := cli.NewProgress("retryctl", s.stderr)
	progress.Step("opening the store")
	store, err := open.Store(ctx, cmp.Or(s.store, os.Getenv(open.Variable)))
	progress.End()
	if err != nil {
		return err
	}
	if s.client, err = admin.New(store, admin.Namespace(s.space), s.redaction()); err == nil {
		err = f()
	}
	return errors.Join(err, store.Close())
}

// fail prints an error, and returns the exit status for it.
func (s *session) fail(err error) int {
	switch {
	case err == nil || errors.Is(err, syscall.EPIPE): // the reader, such as head, has enough
		return cli.OK
	case errors.Is(err, errProblems):
		return cli.Problems
	}
	for line := range strings.Lines(cli.Text(err)) {
		fmt.Fprintf(s.stderr, "retryctl: %s\n", term.Clean(strings.TrimSpace(line)))
	}
	for _, problem := range []error{durable.ErrNotFound, durable.ErrConflict, errInterrupted, errRefused} {
		if errors.Is(err, problem) {
			return cli.Problems
		}
	}
	return cli.Failed
}

// print prints a value as a line of JSON.
func (s *session) print(value any) error {
	text, err := encode(value)
	if err == nil {
		_, err = s.stdout.Write(text)
	}
	return err
}

// encode returns a value as a line of JSON that a terminal may show.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return term.JSON(b.Bytes()), err
}

// table returns a table on the standard output.
func (s *session) table(header ...string) *term.Table {
	return term.NewTable(s.stdout, s.color, header...)
}
