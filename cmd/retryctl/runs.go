package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A page is what the flags of a list say about its length.
type page struct {
	limit int
	after string
}

// flags defines the flags of a list of things that are identified as key is.
func (p *page) flags(flags *flag.FlagSet, key string) {
	p.limit = 100
	flags.Var((*mostValue)(&p.limit), "limit", "print at most `n` rows; 0 prints all")
	flags.StringVar(&p.after, "after", "", "start after this `"+key+"`, which the page before has printed last")
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
type statusFlag []storage.Status

// runStatuses and stepStatuses are the statuses of runs and steps.
var (
	runStatuses = []storage.Status{
		storage.StatusOpen, storage.StatusParked, storage.StatusPaused, storage.StatusSucceeded, storage.StatusFailed,
		storage.StatusCanceled, storage.StatusTimedOut, storage.StatusExpired,
	}
	stepStatuses = []storage.Status{
		storage.StatusOpen, storage.StatusWaiting, storage.StatusExecuting, storage.StatusInDoubt, storage.StatusPaused,
		storage.StatusSucceeded, storage.StatusFailed, storage.StatusDead, storage.StatusCanceled,
		storage.StatusAbandoned, storage.StatusDiscarded,
	}
)

// status defines the flag -status.
func (f *statusFlag) flag(flags *flag.FlagSet, allowed []storage.Status) {
	names := make([]string, len(allowed))
	for i, s := range allowed {
		names[i] = statusName(s)
	}
	usage := "only these `statuses`, separated by commas: " + strings.Join(names, ", ")
	flags.Var(&statusValue{f, allowed, names}, "status", usage)
}

// A statusValue is the value of the flag -status.
type statusValue struct {
	list    *statusFlag
	allowed []storage.Status
	names   []string
}

// statusName returns the name of a status as one word.
func statusName(s storage.Status) string { return strings.ReplaceAll(s.String(), " ", "-") }

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

// An orderValue is the value of the flag -order.
type orderValue storage.Order

// orders are the orders of runs, by their words.
var orders = map[string]storage.Order{"newest": storage.OrderNewest, "oldest": storage.OrderOldest}

// String returns the word of the order.
func (v *orderValue) String() string {
	for word, order := range orders {
		if order == storage.Order(*v) {
			return word
		}
	}
	return ""
}

// Choices returns the words of the flag, for completion.
func (v *orderValue) Choices() []string { return slices.Sorted(maps.Keys(orders)) }

// Set sets the order from its word.
func (v *orderValue) Set(text string) error {
	order, found := orders[text]
	if !found {
		return fmt.Errorf("%q is none of %s", text, strings.Join(v.Choices(), ", "))
	}
	*v = orderValue(order)
	return nil
}

// listRuns is the command runs.
func listRuns(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	var p page
	p.flags(flags, "run")
	order := orderValue(storage.OrderNewest)
	flags.Var(&order, "order", "`which` runs to print first: newest or oldest, by the time of creation")
	var f runFilter
	f.flags(flags)
	const arguments = "runs takes no arguments: use retryctl run ID for one run"
	return s.do(0, 0, arguments, func(ctx context.Context, _ []string) error {
		q, err := f.query(s.now)
		if err != nil {
			return err
		}
		q.Order = storage.Order(order)
		if p.after != "" {
			if q.From, err = s.afterRun(ctx, p.after); err != nil {
				return err
			}
		}
		return s.printRuns(ctx, q, f.error, p.limit)
	})
}

// A runFilter selects runs.
type runFilter struct {
	statuses     statusFlag
	handler      string
	prefix       string // of the id
	attention    bool
	since, until string // the creation, as the flags say
	error        string // part of the text: no query selects it
}

func (f *runFilter) flags(flags *flag.FlagSet) {
	f.statuses.flag(flags, runStatuses)
	flags.StringVar(&f.handler, "handler", "", "only the runs of this `handler`")
	flags.StringVar(&f.prefix, "prefix", "", "only runs whose id begins with this `text`")
	flags.BoolVar(&f.attention, "attention", false, "only runs that wait for a person")
	flags.StringVar(&f.since, "since", "",
		"only runs that were created since this `time`: 12h (ago), 2006-01-02, or RFC 3339")
	flags.StringVar(&f.until, "until", "", "only runs that were created before this `time`")
	flags.StringVar(&f.error, "error", "", "only runs whose error or panic contains this `text`")
}

// query returns the query for the runs that f selects.
func (f *runFilter) query(now time.Time) (storage.Query, error) {
	q := storage.Query{Status: f.statuses, Attention: f.attention}
	if f.handler != "" {
		q.Handlers = []string{f.handler}
	}
	var err, last error
	q.CreatedFrom, err = when("since", f.since, now)
	q.CreatedBefore, last = when("until", f.until, now)
	return q.Prefix(f.prefix), errors.Join(err, last)
}

// afterRun returns the position after a run in the order of creation.
func (s *session) afterRun(ctx context.Context, id string) (storage.Cursor, error) {
	for r, err := range s.client.List(ctx, storage.Query{Run: id, Limit: 1}) {
		return storage.AfterCreated(r.Created, r.ID), err
	}
	return "", usage("-after %.60q is not the id of a run: write the last one of a page", id)
}

// printRuns prints the runs that a query selects and whose error contains a text.
func (s *session) printRuns(ctx context.Context, q storage.Query, text string, limit int) error {
	if limit > 0 && limit < storage.MaxPage && text == "" {
		q.Limit = limit + 1 // one more, to know whether there is a next page
	}
	var t *term.Table
	if !s.json {
		t = s.table("RUN", "STATUS", "CREATED", "ENDED", "NEXT", "HANDLER", "ERROR")
	}
	n := 0
	var page []admin.RunInfo
	for r, err := range s.client.List(ctx, q) {
		if err != nil {
			return err
		}
		if !strings.Contains(r.Failure(), text) {
			continue
		}
		if limit > 0 && n == limit {
			s.more(page[len(page)-1].ID)
			break
		}
		if len(page) == term.Page {
			if err := s.printPage(ctx, t, page); err != nil {
				return err
			}
			page = page[:0]
		}
		n, page = n+1, append(page, r)
	}
	if err := s.printPage(ctx, t, page); err != nil || s.json {
		return err
	}
	return t.Flush()
}

// printPage prints some runs, as rows of a table unless that is nil.
func (s *session) printPage(ctx context.Context, t *term.Table, runs []admin.RunInfo) error {
	o, err := s.client.Outlook(ctx, runs)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if t == nil {
			err = s.print(newRun(r).withOutlook(r, o))
		} else {
			err = t.Row(term.Text(r.ID), status(r.Status), stamp(r.Created), stamp(r.Ended), s.next(r, o),
				term.Text(r.Handler), term.Text(r.Failure()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next describes what happens next to a run.
func (s *session) next(r admin.RunInfo, o admin.Outlook) term.Cell {
	c := term.Text(s.distance(r.Due))
	switch {
	case o.Executes(r):
		return term.Cell{Text: "executing", Style: term.Blue}
	case o.Orphaned(r):
		c = term.Cell{Text: "its process is dead", Style: term.Yellow}
	case o.Kept(r):
		return term.Cell{Text: "kept until resolved", Style: term.Faint}
	case r.Status.EndsRun() && !r.Due.IsZero():
		return term.Cell{Text: "deleted " + c.Text, Style: term.Faint}
	case !r.Due.IsZero() && r.Due.Before(s.now): // nobody has claimed it
		c = term.Cell{Text: "due " + c.Text, Style: term.Yellow}
	}
	if o.NoWorker(r) {
		c = term.Cell{Text: joined(", ", c.Text, "no worker"), Style: term.Yellow}
	}
	return c
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
