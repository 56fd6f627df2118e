package policy

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// explainCrashes writes what is recorded of a durable call, and the result of a
// crash at each point.
func (p *Policy) explainCrashes(w io.Writer) {
	const again = "a lost attempt, too: the record is the same"
	recorded := [][2]string{
		{"before the call", "the start of the attempt"},
		{"after the call", "its result; or its error, the next wait, and what the retry takes from budgets"},
	}
	crashes := [][2]string{
		{"before the start is recorded", "the same attempt"},
		{"between the start and the call", "a lost attempt: " + p.lost()},
		{"during the call", again},
		{"after the call, before its end is recorded", again},
		{"after the end is recorded", "the recorded result or error, without a call; or the wait"},
	}
	if p.Durable.Record == genapi.RecordFailures {
		recorded[0][0] = "before a retry"
		recorded = slices.Insert(recorded, 0,
			[2]string{"a first success", "nothing: the call is made again whenever its run is"})
		crashes = slices.Insert(crashes, 0, [2]string{"before the first failure is recorded", "attempt 1 again"})
		crashes[1][0] = "before the start of a retry is recorded"
	}
	if calls, _, counted := p.most(); !counted || calls > 1 {
		crashes = append(crashes, [2]string{"during a wait", "the rest of the wait, then the next attempt"},
			[2]string{"during a wait, until after its end", "the next attempt, " + p.overdue()})
	}
	write := func(title string, rows [][2]string) {
		fmt.Fprintf(w, "\n%s:\n", title)
		lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range rows {
			fmt.Fprintf(lines, "  %s\t%s\n", row[0], row[1])
		}
		lines.Flush()
	}
	write("recorded", recorded)
	write("a crash leads to", crashes)
	fmt.Fprint(w, "\nThe end of the context is like a crash: an attempt that has been called is lost.\n")
	if park := p.Durable.ParkAfter; park > 0 {
		fmt.Fprintf(w, "A wait above %s parks the run: Run returns, and is to be called again when it is over.\n",
			duration.Format(park))
	}
	fmt.Fprintf(w, "\nexhausted: %s\n", p.exhausted())
}

// lost describes what follows a lost attempt.
func (p *Policy) lost() string {
	retried := "the next attempt, after a wait"
	if p.Durable.LostMax > 1 {
		retried += fmt.Sprintf(", until %d are lost", p.Durable.LostMax)
	} else {
		retried = "the step is exhausted"
	}
	switch p.Durable.OnLost {
	case genapi.OnLostFail:
		return "the step is exhausted"
	case genapi.OnLostPause:
		return "the run is paused until somebody resolves the step"
	case genapi.OnLostRetry:
		return retried
	}
	return retried + "; the run is paused if the binding is not idempotent"
}

// overdue describes when an attempt starts whose wait ended while no process was
// running.
func (p *Policy) overdue() string {
	switch spread := p.Durable.ResumeSpread; {
	case spread < 0:
		return "at once"
	case spread > 0:
		return "spread over " + duration.Format(spread)
	}
	return "spread over the length of the wait, at most 30s"
}

// exhausted describes the result of a step whose retries are exhausted.
func (p *Policy) exhausted() string {
	const again = "the call returns its error in every execution of the run, until the step is requeued"
	switch p.OnExhausted {
	case genapi.ExhaustedEscalate:
		return again + "; the error is retry.ErrEscalated"
	case genapi.ExhaustedDeadLetter:
		return again + "; the step is a dead letter"
	case genapi.ExhaustedPause:
		return "the run is paused until somebody resolves or requeues the step"
	}
	return again
}

// ExplainSteps describes the durable steps that are bound to p: their names, their ids,
// and what happens after a lost attempt. It writes PACKAGE in place of a symbol's
// package, which only the generator knows. If p is not durable, it writes nothing. Errors
// from w are ignored.
func (f *File) ExplainSteps(w io.Writer, p *Policy) {
	if p.Durable == nil {
		return
	}
	fmt.Fprint(w, "\nsteps:\n")
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	write := func(s Step, i rules.Idempotency) {
		id := "once in a run and scope"
		if len(s.ID) > 0 {
			id = "by " + strings.Join(texts(s.ID), ", ")
		}
		if len(s.Formerly) > 0 {
			id += "; formerly " + strings.Join(texts(s.Formerly), ", ")
		}
		name := s.Name.Name
		if s.Default {
			name = "PACKAGE." + name
		}
		fmt.Fprintf(lines, "  %s\t%s\ta lost attempt: %s\n", name, id, p.Durable.Lost(i))
	}
	for i := range f.Bindings {
		b := &f.Bindings[i]
		if b.Policy == p.Name {
			write(b.Step(""), b.Idempotent)
		}
		for _, m := range b.Methods {
			if m.Policy != p.Name {
				continue
			}
			if m.Idempotent == rules.Unknown {
				m.Idempotent = b.Idempotent
			}
			write(b.Step(m.Name), m.Idempotent)
		}
	}
	lines.Flush()
}

func texts(list []Symbol) []string {
	return slices.Collect(func(yield func(string) bool) {
		for _, s := range list {
			if !yield(s.Name) {
				return
			}
		}
	})
}
