package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// verify is the command verify.
func verify(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	return s.do(0, 0, "verify takes no arguments", func(ctx context.Context, _ []string) error {
		progress := cli.NewProgress("retryctl", s.stderr)
		defer progress.End()
		checked := elapsed(progress, "checking the store") // which reports nothing until it is done
		defer checked()
		found := 0
		all := s.client.Verify(ctx, func(n int) {
			checked()
			progress.Step(fmt.Sprintf("verifying: %d steps", n))
		})
		for v, err := range all {
			switch {
			case err != nil:
				return err
			case s.json:
				err = s.print(newViolation(v))
			default:
				progress.Clear()
				_, err = fmt.Fprintln(s.stdout, term.Clean(v.String()))
			}
			if err != nil {
				return err
			}
			found++
		}
		progress.End()
		if found > 0 {
			fmt.Fprintf(s.stderr, "retryctl: %s: keep a copy of the store before anything is repaired\n",
				count(found, "problem"))
			return errProblems
		}
		if !s.json {
			fmt.Fprintln(s.stdout, "the store is sound")
		}
		return nil
	})
}

// elapsed shows a step of a run with the time that it has taken, until the function
// that it returns is called, which may be called again.
func elapsed(progress *cli.Progress, what string) (done func()) {
	progress.Step(what)
	begun, end, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				progress.Step(fmt.Sprintf("%s: %v", what, time.Since(begun).Round(time.Second)))
			case <-end:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(end)
		<-ended
	})
}

// violationJSON is a violation as JSON.
type violationJSON struct {
	Kind string `json:"kind"`
	Run  string `json:"run,omitempty"`
	ID   string `json:"id,omitempty"`
	Text string `json:"text"`
}

func newViolation(v admin.Violation) violationJSON {
	j := violationJSON{Kind: "store", Run: v.Run, ID: v.ID, Text: v.Text}
	if v.Kind > 0 {
		j.Kind = v.Kind.String()
	}
	return j
}

// vacuum is the command vacuum.
func vacuum(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	var o operator
	o.flags(flags)
	s.yesFlag(flags)
	before := flags.String("before", "",
		"also delete the results of runs that ended before this `time`: 720h (ago), 2006-01-02, or RFC 3339")
	return s.do(0, 0, "vacuum takes no arguments", func(ctx context.Context, _ []string) error {
		limit, err := when("before", *before, s.now)
		if err != nil {
			return err
		}
		if !limit.IsZero() {
			if o.required = true; limit.After(s.now) {
				return usage("-before %s is in the future", *before)
			}
		}
		by, err := o.by()
		if err == nil && !limit.IsZero() {
			err = s.confirm(ctx, "delete the results and the history of all runs that ended before "+
				limit.Local().Format(time.DateTime))
		}
		if err != nil {
			return err
		}
		progress := cli.NewProgress("retryctl", s.stderr)
		defer progress.End()
		n := 0
		for run, err := range s.client.Expire(ctx, limit, by) {
			if err != nil {
				return err
			}
			n++
			progress.Step(fmt.Sprintf("deleting: %s, %s", count(n, "run"), term.Clean(run)))
		}
		progress.End()
		_, err = fmt.Fprintf(s.stdout, "deleted the results of %s\n", count(n, "run"))
		return err
	})
}

// owners is the command owners.
func owners(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	return s.do(0, 0, "owners takes no arguments", func(ctx context.Context, _ []string) error {
		var t *term.Table
		if !s.json {
			t = s.table("OWNER", "HOST", "PID", "STARTED", "LEASE", "RUNS", "HANDLERS")
		}
		for o, err := range s.client.Owners(ctx) {
			if err != nil {
				return err
			}
			runs := 0
			for _, err := range s.client.List(ctx, storage.Query{Owner: o.Owner}) {
				if err != nil {
					return err
				}
				runs++
			}
			if s.json {
				err = s.print(ownerJSON{o.Owner, o.Host, o.PID, o.Started, o.Until, o.Dead, o.Handlers, runs})
			} else {
				err = t.Row(term.Text(o.Owner), term.Text(o.Host), term.Text(number(o.PID)), stamp(o.Started), s.lease(o),
					term.Text(fmt.Sprint(runs)), term.Text(strings.Join(o.Handlers, ", ")))
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

// lease describes whether an engine is alive.
func (s *session) lease(o admin.OwnerInfo) term.Cell {
	switch {
	case o.Dead:
		return term.Cell{Text: "dead", Style: term.Red}
	case o.Until.Before(s.now):
		return term.Cell{Text: "ended " + s.distance(o.Until), Style: term.Red}
	}
	return term.Cell{Text: "alive", Style: term.Green}
}

// ownerJSON is an engine as JSON.
type ownerJSON struct {
	Owner    string    `json:"owner"`
	Host     string    `json:"host,omitempty"`
	PID      int       `json:"pid,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Dead     bool      `json:"dead,omitempty"`
	Handlers []string  `json:"handlers,omitempty"` // of its worker
	Runs     int       `json:"runs"`
}
