package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// tail is the command tail.
func tail(flags *flag.FlagSet) cli.Run {
	s := newSession(flags)
	s.jsonFlag(flags)
	every := flags.Duration("every", time.Second,
		"how often to read the store; less often if reading takes more than a tenth of this")
	return s.do(0, 1, "tail takes the id of one run, or none", func(ctx context.Context, args []string) error {
		if *every <= 0 {
			return usage("-every must be positive")
		}
		f := &follower{s: s, seen: map[[2]string]state{}}
		if len(args) == 1 {
			if _, err := s.runInfo(ctx, args[0]); err != nil {
				return err
			}
			f.run = args[0]
		}
		if !s.json {
			f.table = s.table("TIME", "STATUS", "ATTEMPTS", "RUN", "STEP", "ERROR")
			if err := f.table.Stream(8, 11, 8, 24, 24); err != nil {
				return err
			}
		}
		return f.follow(ctx, *every)
	})
}

// A follower prints what changes in a store.
type follower struct {
	s     *session
	run   string // or "" for all
	table *term.Table
	seen  map[[2]string]state // by run and step
	first bool                // the first look prints nothing: it is what was there
	look  int
}

// A state is what a change differs in.
type state struct {
	status   storage.Status
	attempts int
	look     int // the last one with it
}

// follow looks until ctx ends.
func (f *follower) follow(ctx context.Context, every time.Duration) error {
	f.first = true
	for {
		begun := time.Now()
		err := f.once(ctx)
		switch {
		case ctx.Err() != nil: // Ctrl-C is how it ends
			return nil
		case err != nil:
			return err
		}
		f.first = false
		const share = 10 // of the time that a look takes: a large store is not kept busy
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(every, share*time.Since(begun))):
		}
	}
}

// once looks at the runs, and at the steps that are unfinished or, in one run, at
// all. What has vanished from the unfinished ones has ended: it is read on its own.
func (f *follower) once(ctx context.Context) error {
	f.look++
	for r, err := range f.s.client.List(ctx, storage.Query{Run: f.run}) {
		if err != nil {
			return err
		}
		if err := f.changed(admin.StepInfo{Run: r.ID, Status: r.Status, Error: r.Error}); err != nil {
			return err
		}
	}
	for i, err := range f.s.client.Steps(ctx, admin.Filter{Run: f.run, Attention: f.run == ""}) {
		if err != nil {
			return err
		}
		if err := f.changed(i); err != nil {
			return err
		}
	}
	for id, known := range f.seen {
		if known.look == f.look {
			continue
		}
		delete(f.seen, id)
		if id[1] == "" {
			continue
		}
		i, err := f.s.client.Describe(ctx, id[0], id[1])
		if err == nil {
			err = f.print(i)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// changed prints a run or a step unless it is as it was.
func (f *follower) changed(i admin.StepInfo) error {
	id, now := [2]string{i.Run, i.Step}, state{i.Status, i.Attempts, f.look}
	before, known := f.seen[id]
	f.seen[id] = now
	if before.look = f.look; f.first || known && before == now {
		return nil
	}
	return f.print(i)
}

// print prints the state of a run or a step.
func (f *follower) print(i admin.StepInfo) error {
	if f.s.json {
		if i.Step == "" {
			return f.s.print(struct {
				Run    string         `json:"run"`
				Status storage.Status `json:"status"`
				Error  string         `json:"error,omitempty"`
			}{i.Run, i.Status, i.Error})
		}
		return f.s.print(newStep(i))
	}
	attempts := ""
	if i.Step != "" {
		attempts = strconv.Itoa(i.Attempts)
	}
	text := failure(i)
	if i.Status == storage.StatusWaiting {
		f.s.now = time.Now()
		text.Text = fmt.Sprintf("next %s; %s", f.s.distance(i.NextAt), text.Text)
	}
	return f.table.Row(term.Text(time.Now().Format(time.TimeOnly)), status(i.Status), term.Text(attempts),
		term.Text(i.Run), term.Text(i.Step), text)
}
