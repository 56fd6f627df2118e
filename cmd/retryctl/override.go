package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/override"
)

// overrideFlags are the flags that say what an override does.
type overrideFlags struct {
	retries, breaker, pkg string
	maxAttempts           int
	length                time.Duration
}

func (f *overrideFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.retries, "retries", "", "`off` turns off the retries of the policies")
	flags.IntVar(&f.maxAttempts, "max-attempts", 0, "make at most `n` attempts per call under the policies")
	flags.StringVar(&f.breaker, "breaker", "", "hold the breakers `open` or closed")
	flags.StringVar(&f.pkg, "package", "", "only policies and breakers of the generated package with this import `path`")
	flags.DurationVar(&f.length, "for", 0, "how long the override lasts: a `time` of at most 168h; required")
}

// override returns the override for a target. The store sets its end.
func (f *overrideFlags) override(target string, now time.Time) (override.Override, error) {
	o := override.Override{
		Package: f.pkg, Target: target, MaxAttempts: f.maxAttempts, Breaker: override.Hold(f.breaker),
		Until: now.Add(f.length), // to validate it
	}
	switch {
	case f.retries != "" && f.retries != "off":
		return o, usage("-retries is off, not %q: an override never adds retries", f.retries)
	case f.retries == "off" && f.maxAttempts != 0:
		return o, usage("-retries off is -max-attempts 1: write one of them")
	case f.retries == "off":
		o.MaxAttempts = 1
	case f.maxAttempts == 0 && f.breaker == "":
		return o, usage("say what to override: -retries off, -max-attempts N, or -breaker open")
	}
	if f.length <= 0 {
		return o, usage("an override needs an end: add -for 30m")
	}
	if err := o.Validate(now); err != nil {
		return o, usage("%v", err)
	}
	return o, nil
}

// overrideCommand is the command override.
func overrideCommand(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	var f overrideFlags
	f.define(flags)
	what := "override takes the name of a policy or a breaker, or a pattern such as '*'"
	return s.do(1, 1, what, func(ctx context.Context, args []string) error {
		one, err := f.override(args[0], s.now)
		if err != nil {
			return err
		}
		by, err := o.by()
		if err == nil {
			one, err = s.client.Override(ctx, one, f.length, by)
		}
		if err == nil {
			_, err = fmt.Fprintf(s.stdout, "%s: %s\n", one.ID, term.Clean(one.Summary()))
		}
		return err
	})
}

// overrides is the command overrides.
func overrides(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	return s.do(0, 0, "overrides takes no arguments", func(ctx context.Context, _ []string) error {
		list, err := s.client.Overrides(ctx)
		if err != nil {
			return err
		}
		if s.json {
			for _, o := range list {
				if err := s.print(o); err != nil {
					return err
				}
			}
			return nil
		}
		t := s.table("OVERRIDE", "WHAT", "TARGET", "PACKAGE", "UNTIL", "BY", "WHY")
		for _, o := range list {
			err := t.Row(term.Text(o.ID), term.Cell{Text: o.Action(), Style: term.Yellow}, term.Text(o.Target),
				term.Text(o.Package), term.Text(s.moment(o.Until)), term.Text(o.By), term.Text(o.Reason))
			if err != nil {
				return err
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		d := s.details()
		if err := s.audit(ctx, d, storage.KindOverrides, "", ""); err != nil {
			return err
		}
		return d.end(s)
	})
}

// overridesEnd is the command overrides end.
func overridesEnd(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	what := "overrides end takes the id that retryctl overrides prints"
	return s.do(1, 1, what, func(ctx context.Context, args []string) error {
		by, err := o.by()
		if err == nil {
			err = s.client.EndOverride(ctx, args[0], by)
		}
		if err == nil {
			_, err = fmt.Fprintln(s.stdout, "ended", term.Clean(args[0]))
		}
		return err
	})
}
