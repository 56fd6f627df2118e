package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// stats is the command stats.
func stats(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	run := flags.String("run", "", "only this `run`")
	name := flags.String("name", "", "only steps with this `name`")
	since := flags.String("since", "",
		"only attempts and steps that ended at this `time` or later: 12h (ago), 2006-01-02, or RFC 3339")
	until := flags.String("until", "", "only attempts and steps that ended before this `time`")
	patterns := 20
	flags.Var((*mostValue)(&patterns), "patterns", "print at most `n` groups of failures; 0 prints all")
	return s.do(0, 0, "stats takes no arguments: use -run", func(ctx context.Context, _ []string) error {
		f := admin.Filter{Run: *run, Name: *name}
		var first, last error
		f.Since, first = when("since", *since, s.now)
		f.Until, last = when("until", *until, s.now)
		if err := errors.Join(first, last); err != nil {
			return err
		}
		progress := cli.NewProgress("retryctl", s.stderr)
		defer progress.End()
		progress.Step("reading the runs")
		got, err := s.client.Stats(ctx, f, func(steps int) { progress.Step(fmt.Sprintf("reading: %d steps", steps)) })
		progress.End()
		switch {
		case err != nil:
			return err
		case s.json:
			return s.print(newStats(&got, patterns))
		}
		return s.printStats(&got, patterns)
	})
}

// printStats prints statistics for people.
func (s *session) printStats(got *admin.Stats, patterns int) error {
	d := s.details()
	d.text("runs", counts(got.Runs))
	d.text("steps", counts(got.Steps))
	d.text("units", counts(got.Units))
	attempts := int64(got.Attempts)
	d.text("attempts", fmt.Sprintf("%d: %d retries (%s), %d failed (%s), %d lost, %d interrupted, %d late",
		got.Attempts, got.Retries,
		percent(int64(got.Retries), attempts), got.Failures, percent(int64(got.Failures), attempts), got.Lost,
		got.Interrupted, got.Late))
	d.text("recoveries", strconv.Itoa(got.Recoveries))
	d.text("waited", duration(got.Waited))
	if n := got.Success.Count; n > 0 {
		d.text("success", fmt.Sprintf("%s on average, %s at most", short(got.Success.Total/time.Duration(n)),
			short(got.Success.Max)))
	}
	if err := d.end(s); err != nil {
		return err
	}
	t := s.table("ATTEMPTS", "STEPS", "CLASS", "FIRST", "LAST", "FAILURE")
	for i, p := range got.Patterns {
		if patterns > 0 && i == patterns {
			fmt.Fprintf(s.stderr, "retryctl: there are %d more patterns: add -patterns 0\n", len(got.Patterns)-i)
			break
		}
		err := t.Row(term.Text(strconv.Itoa(p.Attempts)), term.Text(strconv.Itoa(p.Steps)), term.Text(string(p.Class)),
			stamp(p.First), stamp(p.Last), term.Text(p.Text))
		if err != nil {
			return err
		}
	}
	return t.Flush()
}

// counts describes how many things have which status.
func counts(by map[storage.Status]int) (text string) {
	all := 0
	for _, status := range slices.Sorted(maps.Keys(by)) {
		all += by[status]
		text += fmt.Sprintf(", %d %v", by[status], status)
	}
	if all == 0 {
		return "0"
	}
	return strconv.Itoa(all) + ": " + text[len(", "):]
}

// statsJSON is what [admin.Stats] has, as JSON.
type statsJSON struct {
	Runs        map[storage.Status]int `json:"runs"`
	Steps       map[storage.Status]int `json:"steps"`
	Units       map[storage.Status]int `json:"units"`
	Attempts    int                    `json:"attempts"`
	Retries     int                    `json:"retries"`
	Failures    int                    `json:"failures"`
	Lost        int                    `json:"lost"`
	Interrupted int                    `json:"interrupted"`
	Late        int                    `json:"late"`
	Recoveries  int                    `json:"recoveries"`
	Waited      seconds                `json:"waited"`
	Success     struct {
		Count int     `json:"count"`
		Total seconds `json:"total"`
		Max   seconds `json:"max"`
	} `json:"success"`
	Patterns []patternJSON `json:"patterns"`
}

type patternJSON struct {
	Class    retry.Class `json:"class"`
	Text     string      `json:"text"`
	Attempts int         `json:"attempts"`
	Steps    int         `json:"steps"`
	First    time.Time   `json:"first"`
	Last     time.Time   `json:"last"`
}

func newStats(got *admin.Stats, patterns int) statsJSON {
	j := statsJSON{
		Runs: got.Runs, Steps: got.Steps, Units: got.Units, Attempts: got.Attempts, Retries: got.Retries,
		Failures: got.Failures, Lost: got.Lost, Interrupted: got.Interrupted, Late: got.Late, Recoveries: got.Recoveries,
		Waited:   seconds(got.Waited),
		Patterns: []patternJSON{},
	}
	j.Success.Count = got.Success.Count
	j.Success.Total, j.Success.Max = seconds(got.Success.Total), seconds(got.Success.Max)
	for i, p := range got.Patterns {
		if patterns > 0 && i == patterns {
			break
		}
		j.Patterns = append(j.Patterns, patternJSON(p))
	}
	return j
}
