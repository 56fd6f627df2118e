package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
)

const (
	processes = 4
	units     = 200
	jobID     = "import-1" // the id of the run, in a namespace of its own
)

// A supervisor starts the workers, and does what an operator does.
type supervisor struct {
	place   place
	out     io.Writer
	servers *servers
	engine  *durable.Engine // which executes nothing
	shards  []string
	granted int // retries, as the budget has counted them until it was filled again

	mu      sync.Mutex
	workers map[string]*exec.Cmd // without the one that was killed
}

// supervise executes the job, from its start to the checks.
func supervise(ctx context.Context, store string, out io.Writer) (err error) {
	kind := "PostgreSQL"
	if store == "" {
		dir, err := os.MkdirTemp("", "import")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		kind, store = "SQLite", "sqlite:"+filepath.Join(dir, "import.db")
	}
	s := &supervisor{
		place: place{store: store, space: strings.ToLower(rand.Text())}, out: out,
		servers: newServers(units/5, units/2), workers: map[string]*exec.Cmd{},
	}
	defer s.servers.Close()
	s.place.url = s.servers.URL
	for i := range units {
		center := [...]string{"north", "east", "south", "west"}[i%4]
		s.shards = append(s.shards, fmt.Sprintf("%s-%d", center, i/4+1))
	}
	var closeAll func() error
	if s.engine, closeAll, err = s.place.engine(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	wait, err := s.start(ctx, cancel)
	defer wait()
	defer cancel(nil)
	if err != nil {
		return err
	}
	s.printf("%s: %d shards of 4 data centers, %d workers, %s", jobID, units, processes, kind)
	for _, act := range []func(context.Context) error{s.importAll, s.requeue, s.check} {
		if err := act(ctx); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
	}
	return nil
}

func (s *supervisor) printf(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// start starts the workers, which end when ctx ends. wait waits until they have. If
// one ends before, start calls fail.
func (s *supervisor) start(ctx context.Context, fail func(error)) (wait func(), err error) {
	var running sync.WaitGroup
	self, err := os.Executable()
	for i := range processes {
		if err != nil {
			break
		}
		name := strconv.Itoa(i + 1)
		cmd := exec.CommandContext(ctx, self,
			"-worker", name, "-store", s.place.store, "-space", s.place.space, "-url", s.place.url)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.out, s.out, 5*time.Second
		var stdin io.WriteCloser
		if stdin, err = cmd.StdinPipe(); err != nil {
			break
		}
		cmd.Cancel = stdin.Close // the worker ends when it reads the end
		if err = cmd.Start(); err != nil {
			break
		}
		s.workers[name] = cmd
		running.Go(func() {
			err := cmd.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.workers[name] != nil && ctx.Err() == nil {
				fail(fmt.Errorf("worker %s has ended: %w", name, err))
			}
		})
	}
	return running.Wait, err
}

// importAll starts the job, and waits for its result. Meanwhile it kills a worker.
func (s *supervisor) importAll(ctx context.Context) error {
	if err := durable.Start(ctx, s.engine, "import", jobID, s.shards); err != nil {
		return err
	}
	select {
	case victim := <-s.servers.victims:
		s.mu.Lock()
		worker := s.workers[victim]
		delete(s.workers, victim)
		s.mu.Unlock()
		if err := worker.Process.Kill(); err != nil {
			return err
		}
		s.printf("worker %s was killed, with kill -9, after %d shards", victim, units/5)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.servers.gone:
		s.printf("data center south disappeared after %d shards", units/2)
	case <-ctx.Done():
		return ctx.Err()
	}
	r, err := durable.Await[Report](ctx, s.engine, jobID)
	if err != nil {
		return err
	}
	s.printf("final result: %d of %d shards, %d rows (%s)", r.Imported, units, r.Rows, r.Decision)
	limit, granted, refused, err := s.budget(ctx)
	s.printf("the budget granted %d of %d retries, and refused %d: they would have been a storm", granted, limit, refused)
	s.granted = granted
	return err
}

// budget returns what the budget of the job has counted.
func (s *supervisor) budget(ctx context.Context) (limit, granted, refused int, err error) {
	for g, err := range s.engine.Admin().Groups(ctx, admin.Filter{Run: jobID}) {
		if err != nil {
			return 0, 0, 0, err
		}
		return g.Policy.Budget.Retries, g.Retries, g.Refused, nil
	}
	return 0, 0, 0, fmt.Errorf("run %s has no group", jobID)
}

// requeue lets the data center answer again, and requeues the dead letters.
func (s *supervisor) requeue(ctx context.Context) error {
	s.servers.repair()
	by := admin.By("ada", "data center south is back")
	if err := s.engine.Admin().ResetBudget(ctx, jobID, "import", by); err != nil {
		return err
	}
	advice := map[admin.Eligibility]int{}
	for letter, err := range s.engine.Admin().Steps(ctx, admin.Filter{Run: jobID, DeadLetter: true}) {
		if err != nil {
			return err
		}
		advice[letter.Eligibility]++
	}
	s.printf("dead letters: %d that may succeed now (reprocess), %d to look at",
		advice[admin.EligibleReprocess], advice[admin.EligibleReview]+advice[admin.EligibleUnknown])
	total := 0
	for again := true; again; {
		again = false
		options := []admin.RequeueOption{admin.RequeueRate(100), admin.RequeueBy(by)}
		for letter, err := range s.engine.Admin().RequeueDead(ctx, admin.Filter{Run: jobID}, options...) {
			switch {
			case err != nil:
				return err
			case letter.Err != nil: // a worker is executing the run
				again = true
			default:
				total++
			}
		}
	}
	s.printf("data center south is back, and ada has requeued %d dead letters", total)
	r, err := durable.Await[Report](ctx, s.engine, jobID)
	if err != nil {
		return err
	}
	s.printf("final result: %d of %d shards, %d rows (%s)", r.Imported, units, r.Rows, r.Decision)
	if r.Imported != units {
		return fmt.Errorf("%d shards were imported, want %d", r.Imported, units)
	}
	return nil
}

// check compares the records of the job with what the servers have seen.
func (s *supervisor) check(ctx context.Context) error {
	recorded := map[string]bool{}
	retries, lost := 0, 0
	for a, err := range s.engine.Admin().History(ctx, admin.Filter{}) {
		if err != nil {
			return err
		}
		recorded[attemptID(a.Run, a.Step, a.Attempt)] = true
		if a.Wait > 0 {
			retries++
		}
		if a.Outcome == events.OutcomeLost {
			lost++
		}
	}
	attempts, repeated, err := s.servers.verify(s.shards, recorded)
	if err != nil {
		return err
	}
	limit, granted, _, err := s.budget(ctx)
	if err != nil {
		return err
	}
	if granted > limit || s.granted > limit || retries != s.granted+granted {
		return fmt.Errorf("the history has %d retries, the budget of %d has granted %d and %d",
			retries, limit, s.granted, granted)
	}
	if lost == 0 {
		return errors.New("the killed worker has lost no attempt")
	}
	s.printf("checked: %d shards, each stored once; %d attempts, each recorded and executed once", units, attempts)
	s.printf("checked: %d attempts lost with the worker; %d repeated writes recognized by their key; "+
		"%d retries, each granted", lost, repeated, retries)
	return nil
}
