package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/contrib/recovery"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/spelling"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
)

// showStep is the command step.
func showStep(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	s.valueFlags.flags(flags)
	return s.do(2, 2, "step takes the ids of a run and of a step", func(ctx context.Context, args []string) error {
		i, err := s.client.Describe(ctx, args[0], args[1])
		if err != nil {
			return s.suggest(ctx, args[0], args[1], err)
		}
		return s.printStep(ctx, i)
	})
}

// suggest returns the error of a command that concerns a step. If the error matches
// [durable.ErrNotFound], suggest adds which step or which run the user may mean.
func (s *session) suggest(ctx context.Context, run, step string, missing error) error {
	if !errors.Is(missing, durable.ErrNotFound) {
		return missing
	}
	if _, err := s.runInfo(ctx, run); err != nil {
		return err
	}
	const most = 1000 // steps of a run with more are not compared
	var names []string
	for other, err := range s.client.Steps(ctx, admin.Filter{Run: run}) {
		if err != nil {
			return err
		}
		if names = append(names, other.Step); len(names) > most {
			break
		}
		if strings.HasSuffix(other.Step, "."+step) { // only its package is missing
			return fmt.Errorf("%w; %s", missing, spelling.Question(other.Step))
		}
	}
	if nearest := spelling.Nearest(step, names); nearest != "" {
		return fmt.Errorf("%w; %s", missing, spelling.Question(nearest))
	}
	return fmt.Errorf("%w; see retryctl run %s", missing, quote(run))
}

// printStep prints a step with every attempt.
func (s *session) printStep(ctx context.Context, i admin.StepInfo) error {
	r, err := s.runInfo(ctx, i.Run)
	if err != nil {
		return err
	}
	changed := strings.Join(r.SettingsChanges(&i), ", ")
	if s.json {
		out := struct {
			stepJSON
			Settings map[string]string `json:"settings,omitempty"` // of the policy
			Changed  string            `json:"changed,omitempty"`  // in them, since the run knows the policy
			History  []attemptJSON     `json:"history"`
		}{newStep(i).withLimit(&r, &i), r.Settings(&i).All(), changed, []attemptJSON{}}
		if err := s.addResult(ctx, &out.stepJSON); err != nil {
			return err
		}
		for a, err := range s.client.Attempts(ctx, i.Run, i.Step) {
			if err != nil {
				return err
			}
			out.History = append(out.History, newAttempt(a))
		}
		return s.print(out)
	}
	values, err := s.client.Values(ctx, i.Run, i.Step)
	if err != nil {
		return err
	}
	d := s.details()
	d.text("run", i.Run)
	d.text("step", i.Step)
	d.add("status", status(i.Status))
	d.text("reason", string(i.Reason))
	d.text("class", string(i.Class))
	d.text("error", i.Error)
	d.text("result", s.value(values.Result))
	d.text("policy", joined(": ", i.Policy, r.Progress(&i)))
	d.text("changed", changed)
	d.text("unit of", i.Group)
	d.text("calls run", i.Child)
	if i.Pause == "" {
		d.text("attempts", strconv.Itoa(i.Attempts))
		d.text("counted", counted(i))
	}
	d.text("waited", duration(i.Waited))
	if text := s.moment(i.NextAt); i.Pause != "" && text != "" {
		d.text("next", waitsFor[i.Pause]+text)
	} else {
		d.text("next", text)
	}
	d.text("refused", s.refusal(i.Refusal))
	d.text("executing", s.moment(i.Started))
	d.text("first", s.moment(i.First))
	d.text("ended", s.moment(i.Ended))
	d.text("dead", s.moment(i.DeadLetter))
	d.text("advice", string(i.Eligibility))
	d.text("key", i.Key)
	d.text("correlation", i.Correlation)
	if err := d.end(s); err != nil {
		return err
	}
	return s.printAttempts(ctx, i)
}

// counted describes what the policy of a step counts, and the interruptions, which
// have an allowance of their own. It is "" if there is nothing.
func counted(i admin.StepInfo) string {
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{i.Failures, "failed"}, {i.Lost, "lost"}, {i.Refusals, "refused by a breaker"},
		{i.Interrupted, "interrupted in a row"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprint(part.n, " ", part.text))
		}
	}
	return strings.Join(parts, ", ")
}

// refusal describes why a breaker has refused a step, which may be nil.
func (s *session) refusal(r *retry.Refusal) string {
	if r == nil {
		return ""
	}
	text := "by the breaker"
	if r.Breaker != "" {
		text = "by breaker " + r.Breaker
	}
	if r.AdmitsAt.IsZero() {
		return text
	}
	return text + ", open until " + s.moment(r.AdmitsAt)
}

// joined joins the texts that are not empty.
func joined(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), by)
}

// printAttempts prints the history of a step, and what was captured of timeouts.
func (s *session) printAttempts(ctx context.Context, i admin.StepInfo) error {
	t := s.table("ATTEMPT", "OUTCOME", "STARTED", "TOOK", "WAIT", "OWNER", "ERROR")
	var captured strings.Builder
	for a, err := range s.client.Attempts(ctx, i.Run, i.Step) {
		if err != nil {
			return err
		}
		captured.WriteString(a.Timeouts)
		outcome := term.Cell{Text: strings.ReplaceAll(string(a.Outcome), "_", " "), Style: outcomes[a.Outcome]}
		text := a.Error
		if a.Class != "" {
			text = string(a.Class) + ": " + text
		}
		if a.Late {
			outcome, text = term.Cell{Text: "late " + outcome.Text, Style: term.Yellow}, "not accepted: "+text
		}
		if a.By != (events.Operator{}) {
			text = strings.TrimSpace(text + " by " + a.By.String())
		}
		err := t.Row(term.Text(strconv.Itoa(a.Attempt)), outcome, stamp(a.Started), term.Text(duration(a.Duration)),
			term.Text(duration(a.Wait)), term.Text(a.Owner), term.Text(text))
		if err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil || captured.Len() == 0 {
		return err
	}
	return s.printTimeouts(captured.String())
}

// outcomes are the colors of outcomes.
var outcomes = map[events.Outcome]term.Style{
	events.OutcomeSucceeded:   term.Green,
	events.OutcomeFailed:      term.Red,
	events.OutcomeTimedOut:    term.Red,
	events.OutcomeLost:        term.Yellow,
	events.OutcomeInterrupted: term.Yellow,
}

// printTimeouts prints the rows that package recovery has captured.
func (s *session) printTimeouts(text string) error {
	rows, err := recovery.ParseRows([]byte(text))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.stdout); err != nil {
		return err
	}
	t := s.table("TIMEOUT", "SCOPE", "LIMIT", "ELAPSED", "ACTION", "RECEIPT")
	for _, r := range rows {
		err := t.Row(term.Text(stamp(r.Timestamp.Time).Text), term.Text(r.Scope), milliseconds(r.TimeoutMS),
			milliseconds(r.ElapsedMS), term.Text(string(r.Action)), term.Text(cmp.Or(r.Path, "not written")))
		if err != nil {
			return err
		}
	}
	return t.Flush()
}
