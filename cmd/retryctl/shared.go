package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// breakers is the command breakers.
func breakers(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	return s.do(0, 1, "breakers takes the name of one breaker, or none", func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			return s.printBreaker(ctx, args[0])
		}
		var t *term.Table
		if !s.json {
			t = s.table("BREAKER", "STATE", "FAILURES", "OPEN UNTIL", "PROBES", "WINDOW")
		}
		for b, err := range s.client.Breakers(ctx) {
			if err == nil && s.json {
				err = s.print(newBreaker(b))
			} else if err == nil {
				err = t.Row(term.Text(b.Name), breakerState(b.State), term.Text(strconv.Itoa(b.Failures)),
					term.Text(s.moment(b.OpenUntil)), term.Text(number(len(b.Probes))), term.Text(window(&b.Snapshot)))
			}
			if err != nil {
				return err
			}
		}
		if s.json {
			return nil
		}
		return t.Flush()
	})
}

// printBreaker prints a breaker and what operators did to it.
func (s *session) printBreaker(ctx context.Context, name string) error {
	for b, err := range s.client.Breakers(ctx) {
		if err != nil {
			return err
		}
		if b.Name != name {
			continue
		}
		if s.json {
			return s.print(newBreaker(b))
		}
		d := s.details()
		d.text("breaker", b.Name)
		d.add("state", breakerState(b.State))
		d.text("failures", strconv.Itoa(b.Failures)+" in a row")
		d.text("open until", s.moment(b.OpenUntil))
		d.text("changes", strconv.FormatUint(b.Generation, 10))
		d.text("window", window(&b.Snapshot))
		for _, p := range b.Probes {
			d.text("probe", "admitted "+s.moment(p.Started))
		}
		if err := s.audit(ctx, d, storage.KindBreaker, "", b.Name); err != nil {
			return err
		}
		return d.end(s)
	}
	return fmt.Errorf("breaker %q: %w", name, durable.ErrNotFound)
}

// breakerState returns the state of a breaker in its color.
func breakerState(state breaker.State) term.Cell {
	styles := map[breaker.State]term.Style{
		breaker.Closed: term.Green, breaker.Open: term.Red, breaker.HalfOpen: term.Yellow,
		breaker.Escalated: term.Red, breaker.ForcedOpen: term.Red,
	}
	return term.Cell{Text: state.String(), Style: styles[state]}
}

// window describes the attempts in the window of a breaker with a rate.
func window(s *breaker.Snapshot) string {
	all, failed, slow := s.WindowCounts()
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d attempts, %s failed, %s slow", all, percent(failed, all), percent(slow, all))
}

// percent returns a share, with "-" for one of nothing.
func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + "%"
}

// breakerJSON is a breaker as JSON.
type breakerJSON struct {
	Breaker    string        `json:"breaker"`
	State      breaker.State `json:"state"`
	Failures   int           `json:"failures"`
	OpenUntil  time.Time     `json:"open_until,omitzero"`
	Generation uint64        `json:"generation"`
	Probes     int           `json:"probes"`
	Window     [][3]int64    `json:"window,omitempty"`
	Calls      string        `json:"calls,omitempty"`
}

func newBreaker(b admin.BreakerInfo) breakerJSON {
	return breakerJSON{
		Breaker: b.Name, State: b.State, Failures: b.Failures, OpenUntil: b.OpenUntil, Generation: b.Generation,
		Probes: len(b.Probes), Window: b.Window, Calls: b.Calls,
	}
}

// breakersReset is the command breakers reset.
func breakersReset(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	return s.do(1, 1, "breakers reset takes the name of one breaker", func(ctx context.Context, args []string) error {
		return s.changeBreaker(ctx, args[0], "reset", &o, (*admin.Client).ResetBreaker)
	})
}

// breakersOpen is the command breakers open.
func breakersOpen(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	return s.do(1, 1, "breakers open takes the name of one breaker", func(ctx context.Context, args []string) error {
		known, err := s.hasBreaker(ctx, args[0])
		if err != nil {
			return err
		}
		if err := s.changeBreaker(ctx, args[0], "forced open", &o, (*admin.Client).ForceOpenBreaker); err != nil || known {
			return err
		}
		_, err = fmt.Fprintf(s.stderr, "retryctl: no process has recorded anything about breaker %s yet: check the name\n",
			term.Clean(args[0]))
		return err
	})
}

// hasBreaker reports whether the store has a breaker.
func (s *session) hasBreaker(ctx context.Context, name string) (bool, error) {
	for b, err := range s.client.Breakers(ctx) {
		if err != nil || b.Name == name {
			return err == nil, err
		}
	}
	return false, nil
}

// changeBreaker changes one breaker, and prints what it has done.
func (s *session) changeBreaker(
	ctx context.Context, name, done string, o *operator,
	change func(*admin.Client, context.Context, string, ...events.Operator) error,
) error {
	by, err := o.by()
	if err == nil {
		err = change(s.client, ctx, name, by)
	}
	if err == nil {
		_, err = fmt.Fprintln(s.stdout, done, term.Clean(name))
	}
	return err
}

// budgets is the command budgets.
func budgets(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	var p page
	p.flags(flags, "position")
	run := flags.String("run", "", "only budgets of this `run`")
	return s.do(0, 0, "budgets takes no arguments: use -run", func(ctx context.Context, _ []string) error {
		f := admin.Filter{Run: *run}
		if p.after != "" {
			after, err := storage.Cursor(p.after).Position()
			if err != nil {
				return usage("-after %.60q is not the position that the page before has printed", p.after)
			}
			f.AfterRun, f.AfterStep = after.Run, after.ID
		}
		t := s.table("RUN", "BUDGET", "GRANTED", "LIMIT", "PER UNIT", "REFUSED", "TOKENS")
		n, last := 0, admin.BudgetInfo{}
		for b, err := range s.client.Budgets(ctx, f) {
			if err == nil && p.limit > 0 && n == p.limit {
				s.more(string(storage.After(last.Run, last.Name)))
				break
			}
			n, last = n+1, b
			switch {
			case err != nil:
			case s.json:
				err = s.print(newBudget(b))
			default:
				err = t.Row(s.budgetRow(b)...)
			}
			if err != nil {
				return err
			}
		}
		if s.json {
			return nil
		}
		return t.Flush()
	})
}

// budgetRow returns the row of a budget: a count budget of a run, or a ratio budget.
func (s *session) budgetRow(b admin.BudgetInfo) []term.Cell {
	name, none := term.Text(b.Name), term.Cell{}
	if b.Run == "" {
		return []term.Cell{none, name, none, none, none, none, term.Text(s.tokens(b))}
	}
	return []term.Cell{
		term.Text(b.Run), name, term.Text(strconv.Itoa(b.Consumed)), term.Text(limit(b.Retries)), term.Text(limit(b.PerUnit)),
		term.Text(strconv.Itoa(b.Refused)), none,
	}
}

// limit returns a limit of a count budget.
func limit(n int) string {
	if n <= 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

// tokens describes a ratio budget.
func (s *session) tokens(b admin.BudgetInfo) string {
	text := "full"
	if !b.Refilled.IsZero() {
		text = fmt.Sprintf("%.1f, %s", b.Tokens, s.distance(b.Refilled))
	}
	if b.Leased > 0 {
		text += fmt.Sprintf("; %.1f leased", b.Leased)
	}
	return text
}

// budgetJSON is a budget as JSON.
type budgetJSON struct {
	Run      string    `json:"run,omitempty"`
	Budget   string    `json:"budget,omitempty"`
	Granted  int       `json:"granted"`
	Refused  int       `json:"refused"`
	Limit    int       `json:"limit,omitempty"`
	PerUnit  int       `json:"per_unit,omitempty"`
	Tokens   float64   `json:"tokens,omitempty"`
	Leased   float64   `json:"leased,omitempty"`
	Refilled time.Time `json:"refilled,omitzero"`
}

func newBudget(b admin.BudgetInfo) budgetJSON {
	return budgetJSON{
		Run: b.Run, Budget: b.Name, Granted: b.Consumed, Refused: b.Refused, Limit: b.Retries, PerUnit: b.PerUnit,
		Tokens: b.Tokens, Leased: b.Leased, Refilled: b.Refilled,
	}
}

// budgetsReset is the command budgets reset.
func budgetsReset(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	run := flags.String("run", "",
		"fill a budget of this `run`: the one named BUDGET, or without a name the budget of the run itself")
	const arguments = "budgets reset takes the name of one budget, or -run"
	return s.do(0, 1, arguments, func(ctx context.Context, args []string) error {
		name := ""
		if len(args) == 1 {
			name = args[0]
		} else if *run == "" {
			return usage("name the budget: one that processes share, or -run RUN for the budget of a run")
		}
		by, err := o.by()
		if err == nil {
			err = s.client.ResetBudget(ctx, *run, name, by)
		}
		if name == "" && errors.Is(err, durable.ErrNotFound) {
			err = fmt.Errorf("run %q has no budget of its own: name the budget of a group, as retryctl budgets prints it: %w",
				*run, durable.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if name == "" {
			name = "the budget of " + *run
		}
		_, err = fmt.Fprintln(s.stdout, "reset", term.Clean(name))
		return err
	})
}
