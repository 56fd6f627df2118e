package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A runChange is a command that changes runs: those that are named, or all that its
// flags select.
type runChange struct {
	*session
	verb, done string
	from       []storage.Status // of the runs that flags select
	operator   operator
	asks       bool // also about runs that are named
	change     func(*admin.Client, context.Context, string, ...events.Operator) error

	prefix, handler string
	all             bool
}

// pause is the command pause.
func pause(flags *flag.FlagSet) cli.Run {
	return (&runChange{
		verb: "pause", done: "paused", from: []storage.Status{storage.StatusOpen, storage.StatusParked},
		change: (*admin.Client).Pause,
	}).setUp(flags)
}

// resume is the command resume.
func resume(flags *flag.FlagSet) cli.Run {
	return (&runChange{
		verb: "resume", done: "resumed", from: []storage.Status{storage.StatusPaused}, change: (*admin.Client).Resume,
	}).setUp(flags)
}

// cancel is the command cancel.
func cancel(flags *flag.FlagSet) cli.Run {
	return (&runChange{
		verb: "cancel", done: "canceled", asks: true, operator: operator{required: true},
		from: []storage.Status{
			storage.StatusOpen, storage.StatusParked, storage.StatusPaused, storage.StatusFailed,
		},
		change: (*admin.Client).Cancel,
	}).setUp(flags)
}

func (c *runChange) setUp(flags *flag.FlagSet) cli.Run {
	c.session = newSession(flags)
	c.operator.flags(flags)
	c.yesFlag(flags)
	states := make([]string, len(c.from))
	for i, s := range c.from {
		states[i] = s.String()
	}
	which := "runs that are " + strings.Join(states[:len(states)-1], ", ") + " or " + states[len(states)-1]
	if len(states) == 1 {
		which = "runs that are " + states[0]
	}
	flags.StringVar(&c.prefix, "prefix", "", which+", with an id that begins with this `text`")
	flags.StringVar(&c.handler, "handler", "", which+", of this `handler`")
	flags.BoolVar(&c.all, "all", false, "all "+which)
	const many = 1 << 20
	return c.do(0, many, "", c.run)
}

// run changes runs, each on its own: one that cannot be changed does not prevent the
// others.
func (c *runChange) run(ctx context.Context, runs []string) error {
	selects := c.all || c.prefix != "" || c.handler != ""
	switch {
	case len(runs) == 0 && !selects:
		return usage("name the runs (see retryctl runs), or select them with -prefix, -handler or -all")
	case len(runs) > 0 && selects:
		return usage("%s takes either the ids of runs, or flags that select runs", c.verb)
	}
	by, err := c.operator.by()
	if err != nil {
		return err
	}
	if selects {
		if runs, err = c.selected(ctx); err != nil {
			return err
		}
		if len(runs) == 0 {
			fmt.Fprintln(c.stderr, "retryctl: no run is selected")
			return nil
		}
	}
	if c.asks || selects {
		question := c.verb + " " + some(runs)
		if c.asks {
			question += " for ever"
		}
		if err := c.confirm(ctx, question); err != nil {
			return err
		}
	}
	var failed []error
	for _, run := range runs {
		err := c.change(c.client, ctx, run, by)
		switch {
		case errors.Is(err, durable.ErrNotFound) || errors.Is(err, durable.ErrConflict):
			failed = append(failed, err)
		case err != nil:
			return errors.Join(append(failed, err)...)
		default:
			fmt.Fprintln(c.stdout, c.done, term.Clean(run))
		}
	}
	return errors.Join(failed...)
}

// selected returns the ids of the runs that the flags select.
func (c *runChange) selected(ctx context.Context) (ids []string, err error) {
	q := storage.Query{Status: c.from, Order: storage.OrderOldest}
	if c.handler != "" {
		q.Handlers = []string{c.handler}
	}
	for r, err := range c.client.List(ctx, q.Prefix(c.prefix)) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// some returns the first of some ids.
func some(ids []string) string {
	const most = 3
	text := strings.Join(ids[:min(most, len(ids))], ", ")
	if more := len(ids) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}
