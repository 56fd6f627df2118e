package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable"
)

// A page is what the flags of a list say about its length.
type page struct {
	limit int
	after string
}

// flags defines the flags of a list of things that are identified as key is.
func (p *page) flags(flags *flag.FlagSet, key string) {
	p.limit = 100
	flags.Var((*mostValue)(&p.limit), "limit", "print at most `n` rows; 0: all")
	flags.StringVar(&p.after, "after", "", "continue after this `"+key+"`, the last one of a page")
}

// A mostValue is the value of a flag for how much is printed at most. 0 means all.
type mostValue int

func (v *mostValue) String() string { return strconv.Itoa(int(*v)) }

func (v *mostValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("write a number, or 0 for all")
	}
	*v = mostValue(n)
	return nil
}

// statusFlag is a list of statuses, separated by commas.
type statusFlag []durable.Status

// runStatuses and stepStatuses are the statuses of runs and steps.
var (
	runStatuses = []durable.Status{
		durable.StatusOpen, durable.StatusParked, durable.StatusPaused, durable.StatusSucceeded, durable.StatusFailed,
		durable.StatusCanceled, durable.StatusTimedOut, durable.StatusExpired,
	}
	stepStatuses = []durable.Status{
		durable.StatusOpen, durable.StatusWaiting, durable.StatusExecuting, durable.StatusInDoubt, durable.StatusPaused,
		durable.StatusSucceeded, durable.StatusFailed, durable.StatusDead, durable.StatusCanceled,
		durable.StatusAbandoned, durable.StatusDiscarded,
	}
)

// status defines the flag -status.
func (f *statusFlag) flag(flags *flag.FlagSet, allowed []durable.Status) {
	names := make([]string, len(allowed))
	for i, s := range allowed {
		names[i] = statusName(s)
	}
	usage := "only those with one of these `statuses`, separated by commas: " + strings.Join(names, ", ")
	flags.Var(&statusValue{f, allowed, names}, "status", usage)
}

// A statusValue is the value of the flag -status.
type statusValue struct {
	list    *statusFlag
	allowed []durable.Status
	names   []string
}

// statusName returns the name of a status as one word.
func statusName(s durable.Status) string { return strings.ReplaceAll(s.String(), " ", "-") }

// String returns the value of the flag.
func (v *statusValue) String() string { return "" }

// Choices returns the words of the flag, for completion.
func (v *statusValue) Choices() []string { return v.names }

// Set sets the list from words that are separated by commas.
func (v *statusValue) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		i := slices.Index(v.names, strings.TrimSpace(word))
		if i < 0 {
			return fmt.Errorf("%q is none of %s", word, strings.Join(v.names, ", "))
		}
		*v.list = append(*v.list, v.allowed[i])
	}
	return nil
}

// listRuns is the command runs.
func listRuns(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	var p page
	p.flags(flags, "run")
	var statuses statusFlag
	statuses.flag(flags, runStatuses)
	handler := flags.String("handler", "", "only the runs of this `handler`")
	prefix := flags.String("prefix", "", "only runs whose id begins with this `text`")
	attention := flags.Bool("attention", false, "only runs that wait for a person")
	var f runFilter
	f.flags(flags)
	const arguments = "runs takes no arguments: use retryctl run ID for one run"
	return s.do(0, 0, arguments, func(ctx context.Context, _ []string) error {
		if err := f.times(s.now); err != nil {
			return err
		}
		q := durable.Query{Status: statuses, Attention: *attention}
		if *handler != "" {
			q.Handlers = []string{*handler}
		}
		if p.after != "" {
			q.From = durable.After(p.after, "")
		}
		return s.printRuns(ctx, q.Prefix(*prefix), f, p.limit)
	})
}

// A runFilter selects runs by what no query does.
type runFilter struct {
	since, until string // as the flags say
	error        string // part of the text

	from, to time.Time // of the creation; zero: no bound
}

func (f *runFilter) flags(flags *flag.FlagSet) {
	flags.StringVar(&f.since, "since", "",
		"only runs that were created since this `time`: 12h (ago), 2006-01-02, or RFC 3339")
	flags.StringVar(&f.until, "until", "", "only runs that were created before this `time`")
	flags.StringVar(&f.error, "error", "", "only runs whose error contains this `text`")
}

// times reads the times of the flags.
func (f *runFilter) times(now time.Time) error {
	var err, last error
	f.from, err = when("since", f.since, now)
	f.to, last = when("until", f.until, now)
	return errors.Join(err, last)
}

// all reports whether f selects all runs.
func (f *runFilter) all() bool { return f.from.IsZero() && f.to.IsZero() && f.error == "" }

// selects reports whether f selects a run.
func (f *runFilter) selects(r durable.RunInfo) bool {
	return !r.Created.Before(f.from) && (f.to.IsZero() || r.Created.Before(f.to)) && strings.Contains(r.Error, f.error)
}

// printRuns prints the runs that a query and a filter select.
func (s *session) printRuns(ctx context.Context, q durable.Query, f runFilter, limit int) error {
	if limit > 0 && limit < durable.MaxPage && f.all() {
		q.Limit = limit + 1 // one more, to know whether there is a next page
	}
	var t *term.Table
	if !s.json {
		t = s.table("RUN", "STATUS", "CREATED", "ENDED", "NEXT", "HANDLER", "ERROR")
	}
	alive := map[string]bool{}
	for o, err := range s.engine.Owners(ctx) {
		if err != nil {
			return err
		}
		alive[o.Owner] = !o.Dead && o.Until.After(s.now)
	}
	n, last := 0, ""
	for r, err := range s.engine.List(ctx, q) {
		if err != nil {
			return err
		}
		if !f.selects(r) {
			continue
		}
		if limit > 0 && n == limit {
			s.more(last)
			break
		}
		n, last = n+1, r.ID
		if s.json {
			err = s.print(newRun(r))
		} else {
			err = t.Row(term.Text(r.ID), status(r.Status), stamp(r.Created), stamp(r.Ended), s.next(r, alive),
				term.Text(r.Handler), term.Text(r.Error))
		}
		if err != nil {
			return err
		}
	}
	if s.json {
		return nil
	}
	return t.Flush()
}

// next describes what happens next to a run. alive are the engines that are.
func (s *session) next(r durable.RunInfo, alive map[string]bool) term.Cell {
	switch {
	case alive[r.Owner]:
		return term.Cell{Text: "executing", Style: term.Blue}
	case r.Owner != "":
		return term.Cell{Text: "its process is dead", Style: term.Yellow}
	case r.Due.IsZero():
		return term.Cell{}
	case !r.Ended.IsZero() && r.Status != durable.StatusPaused:
		return term.Cell{Text: "deleted " + s.distance(r.Due), Style: term.Faint}
	}
	if r.Due.Before(s.now) { // nobody has claimed it
		return term.Cell{Text: "due " + s.distance(r.Due), Style: term.Yellow}
	}
	return term.Text(s.distance(r.Due))
}

// more prints that there are more rows.
func (s *session) more(last string) {
	fmt.Fprintf(s.stderr, "retryctl: there are more: add -after %s\n", quote(last))
}

// quote returns an argument for a shell: bash, zsh, or fish unless it has control
// characters.
func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_./:@%+=,", r)
	}
	switch {
	case arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0:
		return arg
	case term.Clean(arg) != arg:
		return "$'" + term.Clean(strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(arg)) + "'"
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
