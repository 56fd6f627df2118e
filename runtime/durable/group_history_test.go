package durable_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A groupHistory is a group in a random history of crashes, changes of its list of
// units, and requeues.
type groupHistory struct {
	t      *testing.T
	r      *rand.Rand
	store  *memory.Store
	policy job.GroupPolicy
	units  []string
	p      *process

	mu       sync.Mutex
	fails    map[string]bool
	requeued map[string]int
	out      job.Outcome[string]
}

// TestGroupRandomHistories checks in random histories that each unit is counted
// once for each end, that the counters are those of the records, and that the
// outcome has exactly what was counted.
func TestGroupRandomHistories(t *testing.T) {
	histories := 200
	if testing.Short() {
		histories = 40
	}
	for seed := range histories {
		synctest.Test(t, func(t *testing.T) {
			h := &groupHistory{
				t: t, r: rand.New(rand.NewPCG(uint64(seed), 23)), store: memory.New(), fails: map[string]bool{},
				requeued: map[string]int{},
			}
			h.play()
			if t.Failed() {
				t.Fatalf("in history %d: %+v, units %q, outcome %v", seed, h.policy, h.units, h.out.Decision)
			}
		})
	}
}

var allUnits = strings.Fields("a b c d e f g h")

func (h *groupHistory) play() {
	h.policy = job.GroupPolicy{
		Name: "import", Workers: h.r.IntN(4), OnUnitFailure: job.FailureAction(h.r.IntN(2)), MaxFailures: h.r.IntN(4),
	}
	if h.r.IntN(2) == 0 {
		h.policy.BestEffort = &job.BestEffort{
			MinSuccess: 1 + h.r.IntN(5), Deadline: time.Duration(1+h.r.IntN(20)) * time.Second, Late: job.Late(h.r.IntN(2)),
		}
	}
	for _, unit := range allUnits {
		h.fails[unit] = h.r.IntN(4) == 0
	}
	h.change()
	var err error
	ended := false
	for round := range 8 {
		h.p = startProcess(h.t, h.store)
		if round < 7 && h.r.IntN(3) > 0 {
			h.p.killAfter(time.Duration(h.r.IntN(9000)) * time.Millisecond)
		}
		err = h.p.run("one", h.run)
		if ended = err == errAgain; ended {
			h.check()
		}
		h.p.kill()
		h.p = startProcess(h.t, h.store)
		h.requeue()
		if h.r.IntN(3) == 0 {
			h.change()
		}
	}
	if !ended {
		h.t.Errorf("the group does not end: %v", err)
	}
}

// change changes the list of units.
func (h *groupHistory) change() {
	h.units = slices.Clone(allUnits)
	h.r.Shuffle(len(h.units), func(i, j int) { h.units[i], h.units[j] = h.units[j], h.units[i] })
	h.units = h.units[:1+h.r.IntN(len(h.units))]
}

// errAgain keeps the run open when its group has ended.
var errAgain = errors.New("again")

func (h *groupHistory) run(ctx context.Context) error {
	delays := map[string]time.Duration{}
	for _, unit := range h.units {
		delays[unit] = time.Duration(h.r.IntN(5000)) * time.Millisecond
	}
	out, err := durable.Group(ctx, job.NewGroup(h.policy, "one"), h.units,
		func(ctx context.Context, unit string) (string, error) {
			select {
			case <-time.After(delays[unit]):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.fails[unit] {
				return "", errors.New("broken")
			}
			return "result of " + unit, nil
		}, nil)
	if err != nil {
		return err
	}
	h.out = out
	return errAgain
}

// requeue requeues a unit that has ended, perhaps corrected.
func (h *groupHistory) requeue() {
	unit := allUnits[h.r.IntN(len(allUnits))]
	if h.r.IntN(3) > 0 || h.p.Admin().Requeue(h.t.Context(), "one", "/import/"+unit, admin.Repeat()) != nil {
		return
	}
	h.requeued[unit]++
	h.fails[unit] = h.r.IntN(3) == 0
}

func (h *groupHistory) check() {
	var info admin.GroupInfo
	for g, err := range h.p.Admin().Groups(h.t.Context(), admin.Filter{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		info = g
	}
	counted := map[storage.Status]int{}
	for s, err := range h.p.Admin().Steps(h.t.Context(), admin.Filter{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		unit := strings.TrimPrefix(s.Step, "/import/")
		counted[s.Status]++
		if s.Attempts > 1+h.requeued[unit] {
			h.t.Errorf("unit %s has ended %d times, and was requeued %d times", unit, s.Attempts, h.requeued[unit])
		}
		result, ok := h.out.Results[unit]
		if ok != (s.Status == storage.StatusSucceeded) || ok && result != "result of "+unit {
			h.t.Errorf("unit %s is %v, its result %q", unit, s.Status, result)
		}
		failed := s.Status == storage.StatusFailed || s.Status == storage.StatusDead
		if err := h.out.Errors[unit]; (err != nil) != failed {
			h.t.Errorf("unit %s is %v, its error %v", unit, s.Status, err)
		}
	}
	p := info.Progress
	if !info.Ended || p.Succeeded != counted[storage.StatusSucceeded] || p.Pending < 0 ||
		p.Failed != counted[storage.StatusFailed]+counted[storage.StatusDead] || counted[storage.StatusOpen] > 0 {
		h.t.Errorf("%+v, units by status %v", info, counted)
	}
	if h.out.Completed != p.Succeeded || h.out.Failed != p.Failed {
		h.t.Errorf("the outcome has %+v, the group %+v", h.out.Decision, p)
	}
}
