package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An operator is who makes a change and why, as the flags say.
type operator struct {
	name, why string
	required  bool // a reason
}

// flags defines the flags -by and -why.
func (o *operator) flags(flags *flag.FlagSet) {
	flags.StringVar(&o.name, "by", "", "the `name` of who makes the change, which is recorded; by default user@host")
	text := "the `reason` for the change, which is recorded"
	if o.required {
		text += "; required"
	}
	flags.StringVar(&o.why, "why", "", text)
}

// by returns who makes the change and why.
func (o *operator) by() (events.Operator, error) {
	if o.required && strings.TrimSpace(o.why) == "" {
		return events.Operator{}, usage("a reason is required: add -why with the reason, which is recorded")
	}
	return admin.By(cmp.Or(o.name, self()), o.why), nil
}

// self returns user@host.
func self() string {
	name := cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"))
	if u, err := user.Current(); err == nil && name == "" {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

// yesFlag defines the flag -yes.
func (s *session) yesFlag(flags *flag.FlagSet) {
	flags.BoolVar(&s.yes, "yes", false, "do not ask for confirmation")
}

// errRefused means that the user has answered no.
var errRefused = errors.New("nothing was changed")

// confirm asks whether to do something that cannot be undone, or that concerns many
// steps. Without a terminal it is refused.
func (s *session) confirm(ctx context.Context, question string) error {
	if s.yes {
		return nil
	}
	out, ok := s.stderr.(*os.File)
	if !ok || !term.IsTerminal(out) || !term.IsTerminal(os.Stdin) {
		return usage("%s: nobody can be asked here: add -yes", question)
	}
	fmt.Fprintf(out, "%s? [y/N] ", term.Clean(question))
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		answers <- answer
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
	case answer := <-answers:
		if !strings.HasSuffix(answer, "\n") { // the end of the input
			fmt.Fprintln(out)
		}
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
			return nil
		}
	}
	return errRefused
}

// resolve is the command resolve.
func resolve(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	result := flags.String("succeeded", "",
		"the step took effect, or is skipped: its result as `JSON`, null if it has none")
	failure := flags.String("failed", "", "the step did not take effect and is not attempted again: the `error`")
	again := flags.Bool("retry", false, "the step did not take effect, or may be repeated: make the next attempt now")
	return s.do(2, 2, "resolve takes the ids of a run and of a step", func(ctx context.Context, args []string) error {
		r, text, err := resolution(*result, *failure, *again)
		if err != nil {
			return err
		}
		by, err := o.by()
		if err != nil {
			return err
		}
		if err := s.client.Resolve(ctx, args[0], args[1], r, by); err != nil {
			return s.suggest(ctx, args[0], args[1], err)
		}
		fmt.Fprintf(s.stdout, "resolved %s: %s\n", term.Clean(args[1]), text)
		return nil
	})
}

// sendSignal is the command signal.
func sendSignal(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	const arguments = "signal takes the ids of a run and of a step, and a value"
	return s.do(2, 3, arguments, func(ctx context.Context, args []string) error {
		value := "null"
		if len(args) > 2 {
			value = args[2]
		}
		if !json.Valid([]byte(value)) {
			return usage("%.40q is not JSON: write the value of the signal, as true, 7 or \"text\"", value)
		}
		by, err := o.by()
		if err != nil {
			return err
		}
		_, unknown := s.client.Describe(ctx, args[0], args[1])
		if err := s.client.Signal(ctx, args[0], args[1], json.RawMessage(value), by); err != nil {
			return err
		}
		fmt.Fprintln(s.stdout, "signaled", term.Clean(args[1]))
		if !errors.Is(unknown, admin.ErrNotFound) {
			return nil
		}
		return s.early(ctx, args[0], args[1])
	})
}

// early prints that a signal came before its wait, and for which signals the run waits:
// the id may be a mistake.
func (s *session) early(ctx context.Context, run, step string) error {
	var waits []string
	for i, err := range s.client.Steps(ctx, admin.Filter{Run: run, Status: []storage.Status{storage.StatusWaiting}}) {
		if err != nil {
			return err
		}
		if i.Pause == admin.PauseSignal {
			waits = append(waits, term.Clean(i.Step))
		}
	}
	text := ""
	if len(waits) > 0 {
		text = "; it waits for " + strings.Join(waits, ", ")
	}
	fmt.Fprintf(s.stderr, "retryctl: run %s has not called the wait %s yet, and keeps the value for it%s\n",
		term.Clean(run), term.Clean(step), text)
	return nil
}

// resolution returns the resolution that exactly one of three flags names.
func resolution(result, failure string, again bool) (r admin.Resolution, text string, err error) {
	set := 0
	for _, is := range []bool{result != "", failure != "", again} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return r, "", usage("say what is known: one of -succeeded JSON, -failed TEXT and -retry")
	case again:
		return admin.Retry(), "it is executed again", nil
	case failure != "":
		return admin.Failed(errors.New(failure)), "it has failed", nil
	case !json.Valid([]byte(result)):
		return r, "", usage("-succeeded %.40q is not JSON: write the result of the step, as 7, \"text\" or null", result)
	}
	return admin.Succeeded(json.RawMessage(result)), "it has succeeded", nil
}

// accept is the command accept.
func accept(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	o := operator{required: true}
	o.flags(flags)
	s.yesFlag(flags)
	return s.do(0, 0, "accept takes no arguments", func(ctx context.Context, _ []string) error {
		by, err := o.by()
		if err == nil {
			err = s.confirm(ctx, "let engines claim runs although the store may have lost updates")
		}
		if err == nil {
			err = s.client.Accept(ctx, by)
		}
		if err == nil {
			_, err = fmt.Fprintln(s.stdout, "accepted the store as it is")
		}
		return err
	})
}
