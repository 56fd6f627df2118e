package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/contrib/prodigy"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// importProdigy is the command import prodigy.
func importProdigy(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	var o operator
	o.flags(flags)
	run := flags.String("run", "", "the id of the `run` that continues the workflow; by default the id of the workflow")
	const many = 1 << 20
	return s.do(1, many, "import prodigy takes the files of checkpoints", func(ctx context.Context, files []string) error {
		by, err := o.by()
		if err != nil {
			return err
		}
		var all []*prodigy.Checkpoint
		progress := cli.NewProgress("retryctl", s.stderr)
		defer progress.End()
		for _, name := range files {
			progress.Step("reading " + term.Clean(name))
			c, err := readCheckpoint(name)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		merged, err := prodigy.Merge(all...)
		if err != nil {
			return err
		}
		if *run == "" {
			*run = merged.Workflow
		}
		if *run == "" {
			return usage("the checkpoints have no id of a workflow: add -run with the id of the run")
		}
		progress.Step("importing " + count(len(merged.Commands), "command"))
		report, err := prodigy.Import(ctx, s.client, *run, merged, by)
		progress.End()
		if err != nil {
			return err
		}
		return s.printReport(report)
	})
}

func readCheckpoint(name string) (*prodigy.Checkpoint, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return prodigy.Read(f, name)
}

// printReport prints what was imported.
func (s *session) printReport(r prodigy.Report) error {
	if s.json {
		return s.print(newReport(r))
	}
	t := s.table("COMMAND", "STATUS", "ATTEMPTS", "NEXT", "STEP")
	for _, i := range r.Steps {
		err := t.Row(term.Text(i.Command), status(i.Status), term.Text(strconv.Itoa(i.Attempts)),
			term.Text(s.distance(i.NextAt)), term.Text(i.Step))
		if err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range append(r.Notes, r.Conflicts...) {
		fmt.Fprintf(s.stderr, "retryctl: %s\n", term.Clean(n.String()))
	}
	_, err := fmt.Fprintf(s.stdout, "run %s: %d added, %d changed, %d unchanged\n", term.Clean(r.Run), r.Added, r.Changed,
		r.Unchanged)
	return err
}

// reportJSON is the report of an import as JSON.
type reportJSON struct {
	Run       string         `json:"run"`
	Added     int            `json:"added"`
	Changed   int            `json:"changed"`
	Unchanged int            `json:"unchanged"`
	Steps     []importedJSON `json:"steps"`
	Notes     []string       `json:"notes,omitempty"`
	Conflicts []string       `json:"conflicts,omitempty"`
}

type importedJSON struct {
	Command  string         `json:"command"`
	Step     string         `json:"step"`
	Status   storage.Status `json:"status"`
	Attempts int            `json:"attempts"`
	NextAt   time.Time      `json:"next,omitzero"`
}

func newReport(r prodigy.Report) reportJSON {
	j := reportJSON{
		Run: r.Run, Added: r.Added, Changed: r.Changed, Unchanged: r.Unchanged, Steps: []importedJSON{},
	}
	for _, i := range r.Steps {
		j.Steps = append(j.Steps, importedJSON(i))
	}
	for _, n := range r.Notes {
		j.Notes = append(j.Notes, n.String())
	}
	for _, n := range r.Conflicts {
		j.Conflicts = append(j.Conflicts, n.String())
	}
	return j
}
