//go:build unix

package kills

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Trial repeatedly kills workers and checks what they leave in the store.
type Trial struct {
	// Store is the store in which the trial starts runs and which it checks. Disturbances
	// of the workers' connections do not affect Store.
	Store storage.Store
	// Worker returns a command that calls [Work] with its standard output and the same
	// store.
	Worker func() *exec.Cmd
	// Kills is how often a worker is killed with SIGKILL.
	Kills int
	// Disturb lists other disturbances of the store or of the workers' connections. Every
	// fourth iteration calls the next function in the list.
	Disturb []func() error
}

const (
	workers      = 4
	runsOfRound  = 6  // that are started before each kill
	linesOfRound = 16 // fewer than those that the runs of a round print
	patience     = time.Minute
)

// Run executes runs, six for each kill, and reports what it has found. It returns an
// error if the trial cannot continue, for example if there is no progress for a minute.
func (t *Trial) Run(ctx context.Context) (*Report, error) {
	e, err := durable.New(t.Store)
	if err != nil {
		return nil, err
	}
	p := newPlace(t, e)
	err = p.work(ctx)
	p.close()
	if err == nil {
		err = p.check(ctx)
	}
	return p.report, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
}

// A place is where workers work.
type place struct {
	*Trial
	engine  *durable.Engine
	ledger  *ledger
	workers [workers]*exec.Cmd
	report  *Report
	stopped sync.WaitGroup // workers that will continue
	runs    int

	canceled map[string]bool // runs whose cancellation was acknowledged
}

func newPlace(t *Trial, e *durable.Engine) *place {
	return &place{
		Trial: t, engine: e, ledger: newLedger(), canceled: map[string]bool{},
		report: &Report{Outcomes: map[events.Outcome]int{}},
	}
}

func (p *place) work(ctx context.Context) error {
	for i := range p.workers {
		if err := p.launch(i); err != nil {
			return err
		}
	}
	for round := range p.Kills {
		before := p.ledger.size()
		for range runsOfRound {
			if err := p.start(ctx); err != nil {
				return err
			}
		}
		if err := p.progress(ctx, before+1+rand.IntN(linesOfRound)); err != nil {
			return err
		}
		if err := p.operate(ctx, rand.IntN(3)); err != nil {
			return err
		}
		if err := p.disturb(round); err != nil {
			return err
		}
		if err := p.kill(rand.IntN(workers)); err != nil {
			return err
		}
		p.report.Kills++
	}
	return p.drain(ctx)
}

// launch starts a worker.
func (p *place) launch(i int) error {
	cmd := p.Worker()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.ledger.read(out)
	p.workers[i] = cmd
	return nil
}

// kill kills a worker and starts another one.
func (p *place) kill(i int) error {
	if err := p.end(i); err != nil {
		return err
	}
	return p.launch(i)
}

// end kills a worker. It is an error if it has ended by itself.
func (p *place) end(i int) error {
	cmd := p.workers[i]
	p.workers[i] = nil
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		return fmt.Errorf("a worker has ended by itself: %v", cmd.ProcessState)
	}
	return nil
}

// disturb stops a worker, in some rounds, or does what else may happen.
func (p *place) disturb(round int) error {
	if round%16 == 3 {
		cmd := p.workers[rand.IntN(workers)]
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		p.report.Stops++
		p.stopped.Go(func() {
			<-time.After(Lease * 3 / 2)
			_ = cmd.Process.Signal(syscall.SIGCONT)
		})
	}
	if n := len(p.Disturb); n > 0 && round%4 == 1 {
		p.report.Disturbances++
		return p.Disturb[round/4%n]()
	}
	return nil
}

// start starts a run, until that is acknowledged.
func (p *place) start(ctx context.Context) error {
	n := p.runs
	handler := handlers[n%len(handlers)]
	for end := time.Now().Add(patience); ; {
		err := durable.Start(ctx, p.engine, handler, runID(handler, n), n)
		if err == nil {
			p.runs++
			return nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

// operate does something with the run of the latest call, which is executing or has just
// ended: it cancels the run, or pauses and resumes it, or leaves it alone.
func (p *place) operate(ctx context.Context, what int) error {
	run := p.ledger.latest()
	if run == "" || what == 0 {
		return nil
	}
	if what == 1 {
		done, err := p.until(ctx, run, p.engine.Admin().Cancel)
		if done {
			p.canceled[run] = true
		}
		return err
	}
	done, err := p.until(ctx, run, p.engine.Admin().Pause)
	if done {
		p.report.Paused++
		_, err = p.until(ctx, run, p.engine.Admin().Resume)
	}
	return err
}

// until does something with a run until that is acknowledged. It reports false if the state
// of the run does not allow it.
func (p *place) until(
	ctx context.Context, run string, do func(context.Context, string, ...events.Operator) error,
) (bool, error) {
	for end := time.Now().Add(patience); ; {
		switch err := do(ctx, run); {
		case err == nil:
			return true, nil
		case errors.Is(err, durable.ErrConflict):
			return false, nil
		case time.Now().After(end) || ctx.Err() != nil:
			return false, err
		}
	}
}

func runID(handler string, n int) string { return fmt.Sprintf("%s-%06d", handler, n) }

// progress waits until the workers have printed a number of lines.
func (p *place) progress(ctx context.Context, lines int) error {
	for end := time.Now().Add(patience); p.ledger.size() < lines; <-time.After(time.Millisecond) {
		if time.Now().After(end) || ctx.Err() != nil {
			left, err := p.left(ctx)
			return errors.Join(err, fmt.Errorf("the workers do not go on after %d kills: %d runs are open",
				p.report.Kills, left))
		}
	}
	return nil
}

// drain waits until all runs have ended. It resumes those that were paused since too
// many processes have died while they executed them.
func (p *place) drain(ctx context.Context) error {
	for end := time.Now().Add(patience); ; <-time.After(100 * time.Millisecond) {
		left, err := p.left(ctx)
		switch {
		case err == nil && left == 0:
			return nil
		case time.Now().After(end) || ctx.Err() != nil:
			return errors.Join(err, fmt.Errorf("%d runs have not ended", left))
		}
	}
}

// left returns how many runs have not ended, of those whose end can be expected.
func (p *place) left(ctx context.Context) (n int, err error) {
	q := storage.Query{Kind: storage.KindRun, Status: []storage.Status{
		storage.StatusOpen, storage.StatusParked, storage.StatusPaused,
	}}
	for run, err := range p.engine.Admin().List(ctx, q) {
		switch {
		case err != nil:
			return n, err
		case run.Status != storage.StatusPaused:
			n++
		case run.Handler != chargeHandler:
			n++
			if err := p.engine.Admin().Resume(ctx, run.ID); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// close ends the workers and waits for what they have printed.
func (p *place) close() {
	p.stopped.Wait()
	for i, cmd := range p.workers {
		if cmd == nil {
			continue
		}
		if err := p.end(i); err != nil {
			p.report.add("%v", err)
		}
	}
	p.ledger.writers.Wait()
}
