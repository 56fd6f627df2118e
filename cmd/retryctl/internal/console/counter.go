package console

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Counts over a whole store are computed in the background, by one pass over its
// records, and shown with their time. A store could count by status with an index,
// but such an index changes with each attempt: PostgreSQL could then not update a
// step in place any more, and every attempt would pay for what is rarely looked at.
// Without the index, the database reads as much as this pass does, at each view.
// A pass also sees the attempts, which no index has.

// A counter counts what a store has, as long as somebody looks.
type counter struct {
	client   *admin.Client
	log      *slog.Logger
	asked    chan struct{} // has one element if somebody has looked
	finished chan struct{} // is closed when the first counts are complete
	latest   atomic.Pointer[counts]
	busy     atomic.Bool  // a pass is running
	seen     atomic.Int64 // records in it, or in the last one
	failure  atomic.Pointer[error]
	first    sync.Once
}

// The time of a pass is at most a twentieth of all time.
const (
	leastPause = 2 * time.Second
	pauseRatio = 20
)

// maxSamples is how many steps of one state the overview lists.
const maxSamples = 8

// counts is what a pass has counted.
type counts struct {
	At   time.Time // the start of the pass
	Took time.Duration

	Runs, Steps, Units map[storage.Status]int
	Attempts, Retries  int
	Lost               int
	Retried            int // steps that needed more than one attempt
	First, Recovered   int // steps that have succeeded with the first attempt, or later
	Exhausted          int // steps that were given up

	PausedRuns []admin.RunInfo
	Doubt      []admin.StepInfo // in doubt or paused
	Dead       []admin.StepInfo
	Next       []admin.StepInfo // waiting, the next attempt first
	Causes     map[cause]int    // of dead letters
	Policies   map[string]*policyCounts
	Hours      [24]hour // until At, the last one first
}

// A cause is what dead letters are counted by.
type cause struct {
	Class       retry.Class
	Eligibility admin.Eligibility
}

// policyCounts are the steps under a policy.
type policyCounts struct {
	Steps, Attempts, Retried, Succeeded, Exhausted int
	Waited                                         time.Duration
}

// An hour is how many steps have ended in it.
type hour struct{ First, Recovered, Failed int }

func newCounter(c *admin.Client, log *slog.Logger) *counter {
	return &counter{client: c, log: log, asked: make(chan struct{}, 1), finished: make(chan struct{})}
}

// counts returns the latest counts, and asks for newer ones. nil means that the first
// ones are not complete.
func (c *counter) counts() *counts {
	select {
	case c.asked <- struct{}{}:
	default:
	}
	return c.latest.Load()
}

// firstWait is how long a page waits for the first counts: those of a small store.
const firstWait = 50 * time.Millisecond

// await is counts, but waits a little for the first ones.
func (c *counter) await(ctx context.Context) *counts {
	if n := c.counts(); n != nil {
		return n
	}
	select {
	case <-c.finished:
	case <-ctx.Done():
	case <-time.After(firstWait):
	}
	return c.latest.Load()
}

// run counts when it is asked to, until ctx ends.
func (c *counter) run(ctx context.Context) {
	for {
		select {
		case <-c.asked:
		case <-ctx.Done():
			return
		}
		start := time.Now()
		n, err := c.count(ctx)
		took := time.Since(start)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.log.Error("counting", "error", err)
			c.failure.Store(&err)
		default:
			n.At, n.Took = start, took
			c.latest.Store(n)
			c.failure.Store(nil)
			c.first.Do(func() { close(c.finished) })
		}
		select {
		case <-time.After(max(leastPause, pauseRatio*took)):
		case <-ctx.Done():
			return
		}
	}
}

// count makes one pass.
func (c *counter) count(ctx context.Context) (*counts, error) {
	c.busy.Store(true)
	defer c.busy.Store(false)
	c.seen.Store(0)
	n := &counts{
		Runs: map[storage.Status]int{}, Steps: map[storage.Status]int{}, Units: map[storage.Status]int{},
		Causes: map[cause]int{}, Policies: map[string]*policyCounts{},
	}
	over := map[string]bool{} // the runs that never continue
	for r, err := range c.client.List(ctx, storage.Query{}) {
		if err != nil {
			return nil, err
		}
		c.seen.Add(1)
		n.Runs[r.Status]++
		if r.Status.IsOver() {
			over[r.ID] = true
		}
		if r.Status == storage.StatusPaused && len(n.PausedRuns) < maxSamples {
			n.PausedRuns = append(n.PausedRuns, r)
		}
	}
	now := time.Now()
	for s, err := range c.client.Steps(ctx, admin.Filter{}) {
		if err != nil {
			return nil, err
		}
		c.seen.Add(1)
		if s.Status == storage.StatusWaiting && over[s.Run] {
			s.Status = storage.StatusCanceled // its next attempt is never made
		}
		n.step(&s, now)
	}
	return n, nil
}

// step counts a step.
func (n *counts) step(s *admin.StepInfo, now time.Time) {
	if s.Group != "" { // the steps of the unit have the attempts
		n.Units[s.Status]++
	} else {
		n.Steps[s.Status]++
		n.policy(s)
		n.Attempts += s.Attempts
		n.Retries += max(s.Attempts-1, 0)
		n.Lost += s.Lost
		if s.Attempts > 1 {
			n.Retried++
		}
		n.end(s, now)
	}
	switch s.Status {
	case storage.StatusInDoubt, storage.StatusPaused:
		n.Doubt = sample(n.Doubt, s)
	case storage.StatusDead:
		n.Dead = sample(n.Dead, s)
		n.Causes[cause{s.Class, s.Eligibility}]++
	case storage.StatusWaiting:
		n.wait(s)
	}
}

func sample(list []admin.StepInfo, s *admin.StepInfo) []admin.StepInfo {
	if len(list) < maxSamples {
		list = append(list, *s)
	}
	return list
}

// wait keeps the waiting steps whose next attempts are the first ones.
func (n *counts) wait(s *admin.StepInfo) {
	last := len(n.Next) - 1
	if last+1 == maxSamples && !s.NextAt.Before(n.Next[last].NextAt) {
		return
	}
	at, _ := slices.BinarySearchFunc(n.Next, s.NextAt, func(next admin.StepInfo, t time.Time) int {
		return next.NextAt.Compare(t)
	})
	n.Next = slices.Insert(n.Next, at, *s)
	n.Next = n.Next[:min(len(n.Next), maxSamples)]
}

// policy counts a step for its policy.
func (n *counts) policy(s *admin.StepInfo) {
	p := n.Policies[s.Policy]
	if p == nil {
		p = new(policyCounts)
		n.Policies[s.Policy] = p
	}
	p.Steps++
	p.Attempts += s.Attempts
	p.Waited += s.Waited
	if s.Attempts > 1 {
		p.Retried++
	}
	switch s.Status {
	case storage.StatusSucceeded:
		p.Succeeded++
	case storage.StatusFailed, storage.StatusDead, storage.StatusDiscarded:
		p.Exhausted++
	}
}

// end counts how a step has ended.
func (n *counts) end(s *admin.StepInfo, now time.Time) {
	var into func(*hour) *int
	switch s.Status {
	case storage.StatusSucceeded:
		if s.Attempts > 1 {
			n.Recovered++
			into = func(h *hour) *int { return &h.Recovered }
		} else {
			n.First++
			into = func(h *hour) *int { return &h.First }
		}
	case storage.StatusFailed, storage.StatusDead, storage.StatusDiscarded:
		n.Exhausted++
		into = func(h *hour) *int { return &h.Failed }
	default:
		return
	}
	if i := int(now.Sub(s.Ended) / time.Hour); !s.Ended.IsZero() && i >= 0 && i < len(n.Hours) {
		*into(&n.Hours[i])++
	}
}

// A statusCount is how many runs or steps have a status.
type statusCount struct {
	Status storage.Status
	Count  int
}

// byStatus returns counts in the order of the statuses.
func byStatus(counts map[storage.Status]int) (list []statusCount) {
	for status, n := range counts {
		list = append(list, statusCount{status, n})
	}
	slices.SortFunc(list, func(a, b statusCount) int { return cmp.Compare(a.Status, b.Status) })
	return list
}

// total returns the sum of counts.
func total(counts map[storage.Status]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// A causeCount is how many dead letters have a cause.
type causeCount struct {
	cause
	Count int
}

// causes returns the causes of dead letters, the most frequent first.
func (n *counts) causes() (list []causeCount) {
	for c, count := range n.Causes {
		list = append(list, causeCount{c, count})
	}
	slices.SortFunc(list, func(a, b causeCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Eligibility, b.Eligibility))
	})
	return list[:min(len(list), maxSamples)]
}
