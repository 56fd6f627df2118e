package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// showRun is the command run.
func showRun(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	s.valueFlags.flags(flags)
	var p page
	p.flags(flags, "step")
	var statuses statusFlag
	statuses.flag(flags, stepStatuses)
	return s.do(1, 1, "run takes the id of one run", func(ctx context.Context, args []string) error {
		r, err := s.runInfo(ctx, args[0])
		if err != nil {
			return err
		}
		f := admin.Filter{Run: r.ID, Status: statuses, AfterStep: p.after}
		if s.json {
			return s.runInJSON(ctx, r, f, p.limit)
		}
		why, err := s.client.Why(ctx, r.ID)
		if err != nil {
			return err
		}
		if err := s.printRun(ctx, r, why); err != nil {
			return err
		}
		return s.listSteps(ctx, f, p.limit, func(i admin.StepInfo) term.Cell { return s.nextAttempt(i, r, why.Cause) })
	})
}

// runInfo returns a run. The error for one that does not exist matches
// [durable.ErrNotFound].
func (s *session) runInfo(ctx context.Context, id string) (admin.RunInfo, error) {
	if id == "" {
		return admin.RunInfo{}, usage("the id of the run is empty")
	}
	for r, err := range s.client.List(ctx, storage.Query{Run: id, Limit: 1}) {
		return r, err
	}
	for _, err := range s.client.List(ctx, storage.Query{Limit: 1}.Prefix(id)) {
		if err == nil {
			err = fmt.Errorf("run %q: %w; others begin so: retryctl runs -prefix %s", id, durable.ErrNotFound, quote(id))
		}
		return admin.RunInfo{}, err
	}
	return admin.RunInfo{}, fmt.Errorf("run %q: %w", id, durable.ErrNotFound)
}

// details writes names and values below each other, without those that are empty.
type details struct {
	t   *term.Table
	err error
}

func (s *session) details() *details { return &details{t: s.table().Whole()} }

func (d *details) add(name string, value term.Cell) {
	if value.Text != "" && d.err == nil {
		d.err = d.t.Row(term.Cell{Text: name + ":", Style: term.Faint}, value)
	}
}

func (d *details) text(name, value string) { d.add(name, term.Text(value)) }

// end writes the details and an empty line.
func (d *details) end(s *session) error {
	if d.err == nil {
		d.err = d.t.Flush()
	}
	if d.err == nil {
		_, d.err = fmt.Fprintln(s.stdout)
	}
	return d.err
}

// number returns a number as a text, "" for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// moment returns a time with its distance from now.
func (s *session) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t).Text + " (" + s.distance(t) + ")"
}

// printRun prints a run without its steps. why is why it does not continue.
func (s *session) printRun(ctx context.Context, r admin.RunInfo, why admin.Standing) error {
	d := s.details()
	d.text("run", r.ID)
	d.add("status", status(r.Status))
	d.text("now", s.standing(&r, why))
	d.text("error", r.Error)
	d.text("panic", r.Panic)
	values, err := s.client.Values(ctx, r.ID, "")
	if err != nil {
		return err
	}
	d.text("input", s.value(values.Input))
	d.text("result", s.value(values.Result))
	d.text("handler", r.Handler)
	d.text("priority", number(r.Priority))
	for _, change := range r.PolicyChanges() {
		d.text("changed", change)
	}
	d.text("version", number(r.Version))
	d.text("parent", r.Parent)
	d.text("owner", r.Owner)
	d.text("created", s.moment(r.Created))
	d.text("claimed", s.moment(r.Claimed))
	d.text("claims", strconv.FormatUint(r.Fence, 10))
	d.text("recoveries", number(r.Recoveries))
	d.text("ended", s.moment(r.Ended))
	d.text("deadline", s.moment(r.Deadline))
	if err := s.due(ctx, d, r, why.Cause == admin.CauseEnded); err != nil {
		return err
	}
	if err := s.audit(ctx, d, storage.KindRun, r.ID, ""); err != nil {
		return err
	}
	for g, err := range s.client.Groups(ctx, admin.Filter{Run: r.ID}) {
		if err != nil {
			return err
		}
		d.text("group", groupText(g))
	}
	return d.end(s)
}

// due adds when a run goes on, or when it is deleted if it has ended.
func (s *session) due(ctx context.Context, d *details, r admin.RunInfo, ended bool) error {
	if !ended || r.Due.IsZero() {
		d.text("next", s.moment(r.Due))
		return nil
	}
	o, err := s.client.Outlook(ctx, []admin.RunInfo{r})
	if err != nil {
		return err
	}
	text := s.moment(r.Due)
	if o.Kept(r) {
		text += ", unless a dead letter or a step in doubt is left"
	}
	d.text("deleted", text)
	return nil
}

// standing describes why a run does not go on, or returns "" if its status does.
func (s *session) standing(r *admin.RunInfo, why admin.Standing) string {
	switch {
	case why.Cause == admin.CauseEnded && why.Root == "":
		return ""
	case why.Cause == admin.CauseBreaker:
		return joined("; ", why.Wait()+" until "+s.moment(why.Until), why.Lack())
	case !why.Until.IsZero() && why.Until != r.Due: // which is below
		return joined("; ", why.Wait()+", "+s.moment(why.Until), why.Lack())
	}
	return why.String()
}

// audit adds what operators did.
func (s *session) audit(ctx context.Context, d *details, kind storage.Kind, run, name string) error {
	for a, err := range s.client.Audit(ctx, kind, run, name) {
		if err != nil {
			return err
		}
		what := s.moment(a.At)
		if a.Detail != "" {
			what += " " + a.Detail
		}
		d.text(string(a.Action), what+" by "+a.By.String())
	}
	return nil
}

// groupText describes the progress of a group.
func groupText(g admin.GroupInfo) string {
	p := g.Progress
	text := fmt.Sprintf("%s: %d of %d units succeeded, %d failed", g.Group, p.Succeeded, p.Units(), p.Failed)
	if g.Retries+g.Refused > 0 {
		text += fmt.Sprintf("; budget: %d retries granted, %d refused", g.Retries, g.Refused)
	}
	if g.Ended {
		text += "; ended: " + fmt.Sprint(g.Decision)
	}
	return text
}

// listSteps prints the steps that a filter selects, each with what comes next. If next is
// nil, they are dead letters of several runs.
func (s *session) listSteps(ctx context.Context, f admin.Filter, limit int, next func(admin.StepInfo) term.Cell) error {
	runs := next == nil
	header := []string{"STEP", "STATUS", "ATTEMPTS", "NEXT", "ERROR"}
	if runs {
		header = []string{"RUN", "STEP", "STATUS", "ATTEMPTS", "SINCE", "DO", "ERROR"}
	}
	t := s.table(header...)
	n, last := 0, admin.StepInfo{}
	for i, err := range s.client.Steps(ctx, f) {
		if err != nil {
			return err
		}
		if limit > 0 && n == limit {
			if runs {
				s.more(string(storage.After(last.Run, last.Step)))
			} else {
				s.more(last.Step)
			}
			break
		}
		n, last = n+1, i
		row := []term.Cell{term.Text(i.Step), status(i.Status), term.Text(strconv.Itoa(i.Attempts))}
		if runs {
			row = append([]term.Cell{term.Text(i.Run)}, row...)
			row = append(row, stamp(i.DeadLetter), term.Text(string(i.Eligibility)), failure(i))
		} else {
			row = append(row, next(i), failure(i))
		}
		if err := t.Row(row...); err != nil {
			return err
		}
	}
	return t.Flush()
}

// nextAttempt describes when the next attempt of a step starts. cause is why the run of
// the step does not continue.
func (s *session) nextAttempt(i admin.StepInfo, r admin.RunInfo, cause admin.Cause) term.Cell {
	switch i.Status {
	case storage.StatusWaiting:
		if r.Status.IsOver() {
			return term.Cell{}
		}
		return term.Text(waitsFor[i.Pause] + s.distance(i.NextAt))
	case storage.StatusExecuting:
		switch {
		case r.Owner == "": // the run was released without the end of the attempt, as after a panic
			return term.Cell{Text: "no engine executes it", Style: term.Yellow}
		case cause == admin.CauseOrphaned || cause == admin.CauseWorker:
			return term.Cell{Text: "its engine is dead", Style: term.Yellow}
		}
		return term.Cell{Text: "for " + short(max(s.now.Sub(i.Started), 0)), Style: term.Blue}
	case storage.StatusInDoubt, storage.StatusPaused:
		return term.Cell{Text: "resolve it", Style: term.Yellow}
	}
	return term.Cell{}
}

// waitsFor are the words before the end of a wait.
var waitsFor = map[admin.Pause]string{
	admin.PauseSleep: "sleeping, ends ", admin.PauseSignal: "waits for a signal, ends ",
}

// failure describes why a step has stopped, and its last error, which has no text if the
// last attempt is lost.
func failure(i admin.StepInfo) term.Cell {
	parts := []string{string(i.Reason), string(i.Class), i.Error}
	return term.Text(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": "))
}

// runInJSON prints a run, its groups and its steps as one object.
func (s *session) runInJSON(ctx context.Context, r admin.RunInfo, f admin.Filter, limit int) error {
	outlook, err := s.client.Outlook(ctx, []admin.RunInfo{r})
	if err != nil {
		return err
	}
	out := struct {
		runJSON
		Now      *whyJSON                       `json:"now,omitempty"`      // unless the status says it all
		Policies map[string][]map[string]string `json:"policies,omitempty"` // the latest settings last
		Changed  []string                       `json:"changed,omitempty"`
		Audit    []auditJSON                    `json:"audit,omitempty"`
		Groups   []groupJSON                    `json:"groups,omitempty"`
		Steps    []stepJSON                     `json:"steps"`
		After    string                         `json:"after,omitempty"` // there are more
	}{
		runJSON: newRun(r).withOutlook(r, outlook), Policies: newPolicies(&r), Changed: r.PolicyChanges(),
		Steps: []stepJSON{},
	}
	if err := s.addValues(ctx, &out.runJSON); err != nil {
		return err
	}
	why, err := s.client.Why(ctx, r.ID)
	if err != nil {
		return err
	}
	out.Now = newWhy(why)
	for a, err := range s.client.Audit(ctx, storage.KindRun, r.ID, "") {
		if err != nil {
			return err
		}
		out.Audit = append(out.Audit, newAudit(a))
	}
	for g, err := range s.client.Groups(ctx, admin.Filter{Run: r.ID}) {
		if err != nil {
			return err
		}
		out.Groups = append(out.Groups, newGroup(g))
	}
	for i, err := range s.client.Steps(ctx, f) {
		if err != nil {
			return err
		}
		if limit > 0 && len(out.Steps) == limit {
			out.After = out.Steps[limit-1].Step
			break
		}
		step := newStep(i).withLimit(&r, &i)
		if s.values {
			if err := s.addResult(ctx, &step); err != nil {
				return err
			}
		}
		out.Steps = append(out.Steps, step)
	}
	return s.print(out)
}
