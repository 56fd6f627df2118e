package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A selection is what the flags of commands for dead letters select.
type selection struct {
	run, name, class, advice, since, until string
}

func (f *selection) flags(flags *flag.FlagSet) {
	flags.StringVar(&f.run, "run", "", "only dead letters of this `run`")
	flags.StringVar(&f.name, "name", "", "only dead letters of steps with this `name`, as in the policy file")
	flags.StringVar(&f.class, "class", "",
		"only dead letters whose last error has one of these `classes`, separated by commas; none is an error without"+
			" a class")
	flags.StringVar(&f.advice, "advice", "", "only dead letters with this `advice`: reprocess, review or unknown")
	flags.StringVar(&f.since, "since", "",
		"only dead letters that ended since this `time`: 12h (ago), 2006-01-02, or RFC 3339")
	flags.StringVar(&f.until, "until", "", "only dead letters that ended before this `time`")
}

// empty reports whether no flag was given.
func (f *selection) empty() bool { return *f == selection{} }

// filter returns the filter of the selection.
func (f *selection) filter(now time.Time) (admin.Filter, error) {
	filter := admin.Filter{DeadLetter: true, Run: f.run, Name: f.name, Eligibility: admin.Eligibility(f.advice)}
	switch filter.Eligibility {
	case "", admin.EligibleReprocess, admin.EligibleReview, admin.EligibleUnknown:
	default:
		return filter, usage("-advice %.40q: write reprocess, review or unknown", f.advice)
	}
	if f.class != "" {
		for class := range strings.SplitSeq(f.class, ",") {
			if class = strings.TrimSpace(class); class == "none" { // as in logs and metrics
				class = ""
			}
			filter.Class = append(filter.Class, retry.Class(class))
		}
	}
	var err, last error
	filter.Since, err = when("since", f.since, now)
	filter.Until, last = when("until", f.until, now)
	return filter, errors.Join(err, last)
}

// when returns the time that a flag names: a duration ago, a day or a time.
func when(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 {
			return time.Time{}, usage("-%s %.40q is in the future: a duration is ago: write %s",
				name, text, strings.TrimPrefix(text, "-"))
		}
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", time.DateTime} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usage("-%s %.40q is no time: write 12h (ago), 2006-01-02, 2006-01-02T15:04 or RFC 3339", name, text)
	}
	return t, nil
}

// deadList is the command dead list.
func deadList(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	var p page
	p.flags(flags, "position")
	var selected selection
	selected.flags(flags)
	const arguments = "dead list takes no arguments: use -run and the other flags"
	return s.do(0, 0, arguments, func(ctx context.Context, _ []string) error {
		f, err := selected.filter(s.now)
		if err != nil {
			return err
		}
		if p.after != "" {
			after, err := storage.Cursor(p.after).Position()
			if err != nil {
				return usage("-after %.60q is not the position that the page before has printed", p.after)
			}
			f.AfterRun, f.AfterStep = after.Run, after.ID
		}
		if !s.json {
			return s.listSteps(ctx, f, p.limit, nil)
		}
		n := 0
		for i, err := range s.client.Steps(ctx, f) {
			if err != nil {
				return err
			}
			if n++; p.limit > 0 && n > p.limit {
				return nil
			}
			if err := s.print(newStep(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// deadShow is the command dead show.
func deadShow(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	return s.do(2, 2, "dead show takes the ids of a run and of a step", func(ctx context.Context, args []string) error {
		i, err := s.client.Describe(ctx, args[0], args[1])
		if err != nil {
			return s.suggest(ctx, args[0], args[1], err)
		}
		if i.DeadLetter.IsZero() {
			return fmt.Errorf("step %q of run %q is %v and no dead letter: use retryctl step: %w",
				i.Step, i.Run, i.Status, durable.ErrNotFound)
		}
		return s.printStep(ctx, i)
	})
}

// A deadCommand is a command that changes dead letters.
type deadCommand struct {
	*session
	verb, done string
	selected   selection
	all        bool
	operator   operator
}

func (c *deadCommand) flags(flags *flag.FlagSet) {
	c.selected.flags(flags)
	flags.BoolVar(&c.all, "all", false, "all dead letters of the namespace")
	c.operator.flags(flags)
	c.yesFlag(flags)
}

// one reports whether arguments name a dead letter. It returns an error unless either
// these or flags select something.
func (c *deadCommand) one(args []string) (bool, error) {
	switch selects := !c.selected.empty(); {
	case len(args) == 2 && !selects && !c.all:
		return true, nil
	case len(args) > 0:
		return false, usage("dead %s takes either the ids of a run and of a step, or flags that select dead letters", c.verb)
	case !selects && !c.all:
		return false, usage("say which dead letters: the ids of a run and of a step, flags such as -run, or -all")
	}
	return false, nil
}

// ask counts the dead letters that a filter selects, and asks.
func (c *deadCommand) ask(ctx context.Context, f admin.Filter) (n int, err error) {
	progress := cli.NewProgress("retryctl", c.stderr)
	defer progress.End()
	f.Status = []storage.Status{storage.StatusDead}
	for _, err := range c.client.Steps(ctx, f) {
		if err != nil {
			return 0, err
		}
		if n++; n%1000 == 0 {
			progress.Step(fmt.Sprintf("counting: %d dead letters", n))
		}
	}
	progress.End()
	if n == 0 {
		return 0, nil
	}
	return n, c.confirm(ctx, fmt.Sprintf("%s %s", c.verb, count(n, "dead letter")))
}

// errInterrupted ends a command that Ctrl-C has ended before it was done.
var errInterrupted = errors.New("interrupted: the others are dead letters as before; run it again for these")

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// summary prints how many of some dead letters were changed. err is why it stopped.
func (c *deadCommand) summary(ctx context.Context, n, all, skipped int, err error) error {
	fmt.Fprintf(c.stdout, "%s %d of %s\n", c.done, n, count(all, "dead letter"))
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	case skipped > 0:
		return errProblems
	}
	return nil
}

// A deadChange is what a command does to one dead letter, and to all that a filter
// selects. For each of them, all returns why it was skipped, or nil, and in the second
// value why no other is changed.
type deadChange struct {
	one func() error
	all func(f admin.Filter) iter.Seq2[error, error]
}

// change makes a change to the dead letters that the arguments or the flags name.
func (c *deadCommand) change(ctx context.Context, args []string, change deadChange) error {
	one, err := c.one(args)
	if err != nil {
		return err
	}
	if one {
		if err := change.one(); err != nil {
			return c.suggest(ctx, args[0], args[1], err)
		}
		fmt.Fprintln(c.stdout, c.done, term.Clean(args[1]))
		return nil
	}
	f, err := c.selected.filter(c.now)
	if err != nil {
		return err
	}
	all, err := c.ask(ctx, f)
	if err != nil {
		return err
	}
	return c.changeAll(ctx, all, change.all(f))
}

// changeAll makes changes and reports them. Each is a transaction of its own: what is
// interrupted can be repeated.
func (c *deadCommand) changeAll(ctx context.Context, all int, changes iter.Seq2[error, error]) (stopped error) {
	progress := cli.NewProgress("retryctl", c.stderr)
	defer progress.End()
	n, skipped := 0, 0
	for reason, err := range changes {
		if err != nil {
			stopped = err
			break
		}
		if reason == nil {
			n++
		} else {
			skipped++
			progress.Clear()
			fmt.Fprintf(c.stderr, "retryctl: %s\n", term.Clean(reason.Error()))
		}
		progress.Step(fmt.Sprintf("%s: %d of %d", c.done, n, all))
	}
	progress.End()
	return c.summary(ctx, n, max(all, n+skipped), skipped, stopped)
}

// deadRequeue is the command dead requeue.
func deadRequeue(flags *flag.FlagSet) cli.Run {
	c := &deadCommand{session: newSession(flags), verb: "requeue", done: "requeued"}
	c.flags(flags)
	newKey := flags.Bool("new-key", false,
		"use a new idempotency key, for a server that remembers the failure of the old one")
	repeat := flags.Bool("repeat", false, "also execute a step again that has succeeded; its effect then happens twice")
	rate := flags.Float64("rate", 10, "requeue at most `n` per second, run by run; 0 is as fast as possible")
	const arguments = "dead requeue takes the ids of a run and of a step, or flags"
	return c.do(0, 2, arguments, func(ctx context.Context, args []string) error {
		by, err := c.operator.by()
		if err != nil {
			return err
		}
		options := []admin.RequeueOption{admin.RequeueRate(*rate), admin.RequeueBy(by)}
		if *newKey {
			options = append(options, admin.NewKey())
		}
		if *repeat {
			if len(args) == 0 {
				return usage("-repeat is for one step: name its run and its id")
			}
			options = append(options, admin.Repeat())
		}
		return c.change(ctx, args, deadChange{
			one: func() error { return c.client.Requeue(ctx, args[0], args[1], options...) },
			all: func(f admin.Filter) iter.Seq2[error, error] { return c.requeued(ctx, f, options) },
		})
	})
}

// requeued requeues the dead letters that a filter selects.
func (c *deadCommand) requeued(ctx context.Context, f admin.Filter,
	options []admin.RequeueOption) iter.Seq2[error, error] {
	return func(yield func(skipped, stopped error) bool) {
		for r, err := range c.client.RequeueDead(ctx, f, options...) {
			if !yield(r.Err, err) {
				return
			}
		}
	}
}

// deadDiscard is the command dead discard.
func deadDiscard(flags *flag.FlagSet) cli.Run {
	c := &deadCommand{session: newSession(flags), verb: "discard", done: "discarded"}
	c.operator.required = true
	c.flags(flags)
	const arguments = "dead discard takes the ids of a run and of a step, or flags"
	return c.do(0, 2, arguments, func(ctx context.Context, args []string) error {
		by, err := c.operator.by()
		if err != nil {
			return err
		}
		return c.change(ctx, args, deadChange{
			one: func() error {
				if err := c.confirm(ctx, fmt.Sprintf("discard the dead letter %s of run %s", args[1], args[0])); err != nil {
					return err
				}
				return c.client.Discard(ctx, args[0], args[1], by)
			},
			all: func(f admin.Filter) iter.Seq2[error, error] { return c.discarded(ctx, f, by) },
		})
	})
}

// discarded discards the dead letters that a filter selects.
func (c *deadCommand) discarded(ctx context.Context, f admin.Filter, by events.Operator) iter.Seq2[error, error] {
	f.Status = []storage.Status{storage.StatusDead}
	return func(yield func(skipped, stopped error) bool) {
		for i, err := range c.client.Steps(ctx, f) {
			var skipped error
			if err == nil {
				err = c.client.Discard(ctx, i.Run, i.Step, by)
			}
			if errors.Is(err, durable.ErrConflict) || errors.Is(err, durable.ErrNotFound) {
				skipped, err = err, nil
			}
			if !yield(skipped, err) {
				return
			}
		}
	}
}
