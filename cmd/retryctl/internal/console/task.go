package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Limits on bulk changes.
const (
	maxTasks   = 4  // at a time
	keptTasks  = 20 // that are listed
	maxRefused = 50 // dead letters whose refusal a page shows
)

// A task is a bulk change of dead letters. It goes on when its page is closed, and
// ends with the console.
type task struct {
	ID       string
	Action   string // requeue or discard
	By       events.Operator
	Filter   deadFilter
	Selected int // that were checked; 0: all that the filter selects
	Started  time.Time

	letters []admin.StepInfo
	rate    float64 // in a second
	cancel  context.CancelFunc

	mu    sync.Mutex
	state taskProgress
}

// A taskProgress is how far a task is.
type taskProgress struct {
	Examined, Changed int
	Refused           []refusal // the first ones
	RefusedCount      int
	Ended             time.Time
	Stopped           bool
	Failure           string
}

// A refusal is a dead letter that was not changed.
type refusal struct{ Run, Step, Why string }

// Progress returns how far the task is.
func (t *task) Progress() taskProgress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.state
	p.Refused = slices.Clone(p.Refused)
	return p
}

func (t *task) update(f func(*taskProgress)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.state)
}

// tasks are the latest bulk changes.
type tasks struct {
	ctx     context.Context
	running sync.WaitGroup // also other goroutines of the server

	mu   sync.Mutex
	list []*task // the latest first
}

func (s *tasks) init(ctx context.Context) { s.ctx = ctx }

// start starts a task.
func (s *tasks) start(server *Server, t *task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, other := range s.list {
		if other.Progress().Ended.IsZero() {
			running++
		}
	}
	if running >= maxTasks {
		return &problem{http.StatusTooManyRequests, "Too many bulk changes are running",
			"Wait for one to end, or stop one."}
	}
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(s.ctx)
	t.ID, t.Started = rand.Text(), time.Now()
	s.list = slices.Insert(s.list, 0, t)
	if last := len(s.list) - 1; last >= keptTasks && !s.list[last].Progress().Ended.IsZero() {
		s.list = s.list[:last]
	}
	s.running.Go(func() {
		defer t.cancel()
		err := t.run(ctx, server.Client)
		t.update(func(p *taskProgress) {
			p.Ended = time.Now()
			switch {
			case ctx.Err() != nil:
				p.Stopped = true
			case err != nil:
				failure, text := explain(err)
				p.Failure = failure.title + ": " + text
			}
		})
	})
	return nil
}

// find returns the task with an id, or nil.
func (s *tasks) find(id string) *task {
	for _, t := range s.all() {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// all returns the tasks, the latest first.
func (s *tasks) all() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// run changes the dead letters of the task.
func (t *task) run(ctx context.Context, c *admin.Client) error {
	switch {
	case t.letters != nil && t.Action == "requeue":
		return t.requeueChecked(ctx, c)
	case t.letters != nil:
		for i := range t.letters {
			if err := t.change(ctx, c, &t.letters[i]); err != nil {
				return err
			}
		}
		return nil
	case t.Action == "requeue":
		return t.requeue(ctx, c, t.Filter.query("", ""), t.rate, func(letter admin.StepInfo) bool {
			t.update(func(p *taskProgress) { p.Examined++ })
			return t.Filter.selects(&letter)
		})
	}
	tick := time.NewTicker(max(time.Duration(float64(time.Second)/t.rate), time.Microsecond))
	defer tick.Stop()
	for letter, err := range c.Steps(ctx, t.Filter.query("", "")) {
		if err != nil {
			return err
		}
		t.update(func(p *taskProgress) { p.Examined++ })
		if !t.Filter.selects(&letter) {
			continue
		}
		if err := t.change(ctx, c, &letter); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// requeueChecked requeues the dead letters that were checked, all letters of one run
// together, so that no worker executes the run before the last of them.
func (t *task) requeueChecked(ctx context.Context, c *admin.Client) error {
	left := t.letters
	for len(left) > 0 {
		run := left[0].Run
		checked := map[string]bool{} // until it is requeued
		for _, letter := range left {
			if letter.Run == run {
				checked[letter.Step] = true
			}
		}
		err := t.requeue(ctx, c, admin.Filter{Run: run}, 0, func(letter admin.StepInfo) bool {
			found := checked[letter.Step]
			delete(checked, letter.Step)
			return found
		})
		for i := range left {
			if err == nil && left[i].Run == run && checked[left[i].Step] {
				err = t.change(ctx, c, &left[i]) // it is not a dead letter any more: this reports it
			}
		}
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(slices.Clone(left), func(letter admin.StepInfo) bool { return letter.Run == run })
	}
	return nil
}

// requeue requeues the dead letters of a filter for which selects returns true.
func (t *task) requeue(
	ctx context.Context, c *admin.Client, f admin.Filter, rate float64, selects func(admin.StepInfo) bool,
) error {
	for r, err := range c.RequeueDead(ctx, f, admin.RequeueRate(rate), admin.Only(selects), admin.RequeueBy(t.By)) {
		if err != nil {
			return err
		}
		t.note(&r.Letter, r.Err)
	}
	return nil
}

// change changes one dead letter. Its error comes from the store.
func (t *task) change(ctx context.Context, c *admin.Client, letter *admin.StepInfo) error {
	now, err := c.Describe(ctx, letter.Run, letter.Step)
	switch {
	case err == nil && now.Status != storage.StatusDead:
		err = fmt.Errorf("it is %v, not a dead letter: %w", now.Status, durable.ErrConflict)
	case err == nil && t.Action == "requeue":
		err = c.Requeue(ctx, letter.Run, letter.Step, admin.RequeueBy(t.By))
	case err == nil:
		err = c.Discard(ctx, letter.Run, letter.Step, t.By)
	}
	if err != nil && !errors.Is(err, durable.ErrConflict) && !errors.Is(err, durable.ErrNotFound) {
		return err
	}
	t.note(letter, err)
	return nil
}

// note adds a dead letter that was changed, or refused with an error.
func (t *task) note(letter *admin.StepInfo, err error) {
	t.update(func(p *taskProgress) {
		if err == nil {
			p.Changed++
			return
		}
		if p.RefusedCount++; len(p.Refused) < maxRefused {
			p.Refused = append(p.Refused, refusal{letter.Run, letter.Step, err.Error()})
		}
	})
}

// taskData is what the page of a task shows.
type taskData struct {
	*task
	Now taskProgress
}

// task shows a bulk change.
func (s *Server) task(_ context.Context, r *http.Request) (*page, error) {
	t := s.tasks.find(r.URL.Query().Get("id"))
	if t == nil {
		return nil, &problem{http.StatusNotFound, "There is no such bulk change",
			"The console keeps the latest ones until it is stopped. The history of each step has what was done."}
	}
	return &page{Name: "task", Title: "Bulk " + t.Action, Data: taskData{t, t.Progress()}, Live: true}, nil
}

// stopTask stops a bulk change.
func (s *Server) stopTask(_ context.Context, r *http.Request, _ events.Operator) (string, error) {
	t := s.tasks.find(r.URL.Query().Get("id"))
	if t == nil {
		return "", &problem{http.StatusNotFound, "There is no such bulk change",
			"It may have ended before the console was started."}
	}
	t.cancel()
	return link("/task", "id", t.ID, "done", "stopping"), nil
}
