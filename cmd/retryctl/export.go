package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// export is the command export.
func export(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.valueFlags.flags(flags)
	file := flags.String("o", "", "append to `file`, after the last complete run in it")
	after := flags.String("after", "", "start after this `run`")
	return s.do(0, 0, "export takes no arguments: use -o for the file", func(ctx context.Context, _ []string) error {
		if *file == "" {
			return s.export(ctx, s.stdout, *after)
		}
		if *after != "" {
			return usage("-after and -o contradict each other: a file knows where to continue")
		}
		return s.exportTo(ctx, *file)
	})
}

// exportTo appends to a file. The last run in it may be incomplete: an export that
// was killed ends anywhere. Its lines are removed, and the run is exported again.
func (s *session) exportTo(ctx context.Context, name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	end, before, err := lastRun(f)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err == nil {
		err = s.export(ctx, f, before)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// lastRun returns where the lines of the last run in an export begin, and the run
// before that, or "".
func lastRun(f io.Reader) (start int64, before string, err error) {
	in := bufio.NewReader(f)
	last, offset := "", int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return start, before, nil
		}
		if err != nil {
			return 0, "", err
		}
		var l exportLine[json.RawMessage]
		if err := json.Unmarshal(line, &l); err != nil || l.Type == "" {
			return 0, "", fmt.Errorf("line at byte %d is not that of an export: choose another file for -o", offset)
		}
		if l.Type == "run" {
			var r struct{ Run string }
			if err := json.Unmarshal(l.Value, &r); err != nil {
				return 0, "", err
			}
			start, before, last = offset, last, r.Run
		}
		offset += int64(len(line))
	}
}

// An exportLine is a line of an export: its type, and the value of that type.
type exportLine[T any] struct {
	Type  string `json:"type"` // run, audit, group, step or attempt
	Value T      `json:"value"`
}

// export writes the runs after one, each with what operators did, its groups, its
// steps and their attempts. It reads a page at a time.
func (s *session) export(ctx context.Context, w io.Writer, after string) error {
	out := &exporter{out: bufio.NewWriterSize(w, 1<<16)}
	progress := cli.NewProgress("retryctl", s.stderr)
	defer progress.End()
	q := storage.Query{}
	if after != "" {
		q.From = storage.After(after, "")
	}
	n := 0
	for r, err := range s.client.List(ctx, q) {
		if err != nil {
			return err
		}
		if err := s.exportRun(ctx, out, r); err != nil {
			return err
		}
		n++
		progress.Step(fmt.Sprintf("exporting: %s, %s", count(n, "run"), count(out.lines, "line")))
	}
	return out.out.Flush()
}

// An exporter writes lines.
type exporter struct {
	out   *bufio.Writer
	lines int
}

func write[T any](e *exporter, kind string, value T) error {
	line, err := encode(exportLine[T]{kind, value})
	if err != nil {
		return err
	}
	e.lines++
	_, err = e.out.Write(line)
	return err
}

// exportRun writes a run with everything that belongs to it.
func (s *session) exportRun(ctx context.Context, out *exporter, r admin.RunInfo) error {
	run := newRun(r)
	if s.values {
		if err := s.addValues(ctx, &run); err != nil {
			return err
		}
	}
	if err := write(out, "run", run); err != nil {
		return err
	}
	for a, err := range s.client.Audit(ctx, storage.KindRun, r.ID, "") {
		if err == nil {
			err = write(out, "audit", newAudit(a))
		}
		if err != nil {
			return err
		}
	}
	for g, err := range s.client.Groups(ctx, admin.Filter{Run: r.ID}) {
		if err == nil {
			err = write(out, "group", newGroup(g))
		}
		if err != nil {
			return err
		}
	}
	for i, err := range s.client.Steps(ctx, admin.Filter{Run: r.ID}) {
		if err == nil {
			err = s.exportStep(ctx, out, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exportStep writes a step with its attempts.
func (s *session) exportStep(ctx context.Context, out *exporter, i admin.StepInfo) error {
	step := newStep(i)
	if s.values {
		if err := s.addResult(ctx, &step); err != nil {
			return err
		}
	}
	if err := write(out, "step", step); err != nil {
		return err
	}
	for a, err := range s.client.Attempts(ctx, i.Run, i.Step) {
		if err == nil {
			err = write(out, "attempt", newAttempt(a))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
