package retry

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A JobBudget counts the retries of one job and of each of its units, as AD-44
// of hyperscale describes. The first execution of a unit is free. Any number of
// goroutines share one. A nil *JobBudget refuses everything: the job is not
// known.
type JobBudget struct {
	policy  JobBudgetPolicy
	clamped string

	mu       sync.Mutex
	consumed int
	refused  int
	units    map[string]int
}

// The reasons of [JobBudget.Take].
const (
	allowed       = "allowed"
	budgetMissing = "retry_budget_missing"
)

// NewJobBudget returns the budget of one job. The numbers of the policy are
// defaults and ceilings, which the environment may override:
// RETRY_BUDGET_DEFAULT, RETRY_BUDGET_MAX, RETRY_BUDGET_PER_WORKFLOW_DEFAULT and
// RETRY_BUDGET_PER_WORKFLOW_MAX; [NoRetries] stays what it is. retries and perUnit
// are the job's own numbers; 0 or less takes the default, and what is over a
// ceiling is clamped, to nothing where the policy's own number is [NoRetries]: see
// [JobBudget.Clamped].
func NewJobBudget(p JobBudgetPolicy, retries, perUnit int) (*JobBudget, error) {
	p = p.Effective()
	for _, v := range []struct {
		name string
		to   *int
	}{
		{"RETRY_BUDGET_DEFAULT", &p.Retries}, {"RETRY_BUDGET_MAX", &p.MaxRetries},
		{"RETRY_BUDGET_PER_WORKFLOW_DEFAULT", &p.PerUnit}, {"RETRY_BUDGET_PER_WORKFLOW_MAX", &p.MaxPerUnit},
	} {
		text := os.Getenv(v.name)
		if text == "" || *v.to == NoRetries {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s is %q: a whole number from 1 is expected", v.name, text)
		}
		*v.to = n
	}
	b := &JobBudget{units: map[string]int{}}
	var notes []string
	clamp := func(what string, n, own, limit int) int {
		if limit = max(limit, 0); own == NoRetries {
			limit = 0
		}
		if n > limit {
			notes = append(notes, fmt.Sprintf("%s %d is clamped to %d", what, n, limit))
			return limit
		}
		return max(n, 0)
	}
	p.Retries = clamp("retries", positiveOr(retries, p.Retries), p.Retries, p.MaxRetries)
	p.PerUnit = clamp("per_unit", positiveOr(perUnit, min(p.PerUnit, p.Retries)), p.PerUnit, min(p.MaxPerUnit, p.Retries))
	b.policy, b.clamped = p, strings.Join(notes, "; ")
	return b, nil
}

func positiveOr[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}

// Policy returns the numbers that the budget works with.
func (b *JobBudget) Policy() JobBudgetPolicy { return b.policy }

// Clamped says which numbers were over a ceiling, or is empty.
func (b *JobBudget) Clamped() string { return b.clamped }

// Take takes one retry of a unit out of the budget: of the job first, then of
// the unit, in one step. The reason says why it cannot, or "allowed".
func (b *JobBudget) Take(unit string) (ok bool, reason string) {
	if b == nil {
		return false, budgetMissing
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch used := b.units[unit]; {
	case b.consumed >= b.policy.Retries:
		reason = fmt.Sprintf("job_budget_exhausted (%d/%d)", b.consumed, b.policy.Retries)
	case used >= b.policy.PerUnit:
		reason = fmt.Sprintf("workflow_budget_exhausted (%d/%d)", used, b.policy.PerUnit)
	default:
		b.consumed++
		b.units[unit]++
		return true, allowed
	}
	b.refused++
	return false, reason
}

// Consumed returns how many retries the job has made.
func (b *JobBudget) Consumed() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.consumed
}

// Refused returns how many retries the job was not allowed to make.
func (b *JobBudget) Refused() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Unit returns the budget of one unit, for [Policy.BeginWith].
func (b *JobBudget) Unit(id string) *Unit { return &Unit{b, id} }

// A Unit is the part of a [JobBudget] that one unit may use.
type Unit struct {
	job *JobBudget
	id  string
}

// Withdraw takes one retry of the unit, or returns why it cannot.
func (u *Unit) Withdraw() error {
	if ok, reason := u.job.Take(u.id); !ok {
		return jobBudgetError(reason)
	}
	return nil
}

// Deposit does nothing: a count is not raised by successes.
func (u *Unit) Deposit() {}

// Left returns how many retries are left to the unit.
func (u *Unit) Left() float64 {
	b := u.job
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(min(b.policy.Retries-b.consumed, b.policy.PerUnit-b.units[u.id]))
}

// jobBudgetError is a reason in AD-44's words.
type jobBudgetError string

// Error returns the reason.
func (e jobBudgetError) Error() string { return string(e) }

// Is reports whether target is the reason that all of them share.
func (e jobBudgetError) Is(target error) bool { return target == ErrJobBudget }
