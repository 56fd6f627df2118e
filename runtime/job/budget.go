package job

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// Defaults of the fields of [BudgetPolicy].
const (
	defaultRetries    = 20
	defaultPerUnit    = 3
	defaultMaxRetries = 50
	defaultMaxPerUnit = 5
)

// NoRetries as Retries or PerUnit allows no retries.
const NoRetries int = -1

// A BudgetPolicy counts the retries of one job and of each of its units. It
// is plain data. The zero value of every field but Name means its default;
// [NoRetries] means no retries.
type BudgetPolicy struct {
	// Name of the budget in errors and events.
	Name string
	// Retries of the whole job. Zero means 20.
	Retries int
	// PerUnit is the most of them that one unit may use. Zero means 3.
	PerUnit int
	// MaxRetries and MaxPerUnit are ceilings that numbers given at run time are
	// clamped to. Zero means 50 and 5.
	MaxRetries, MaxPerUnit int
}

// Effective returns p with every default written out.
func (p BudgetPolicy) Effective() BudgetPolicy {
	p.Retries = orDefault(p.Retries, defaultRetries)
	p.PerUnit = orDefault(p.PerUnit, defaultPerUnit)
	p.MaxRetries = orDefault(p.MaxRetries, defaultMaxRetries)
	p.MaxPerUnit = orDefault(p.MaxPerUnit, defaultMaxPerUnit)
	return p
}

func orDefault[T int | time.Duration](n, otherwise T) T {
	if n == 0 {
		return otherwise
	}
	return n
}

// A Budget counts the retries of one job and of each of its units, as AD-44
// of hyperscale describes. The first execution of a unit is free. Any number of
// goroutines share one. A nil *Budget refuses everything: the job is not
// known.
type Budget struct {
	policy  BudgetPolicy
	clamped string

	mu       sync.Mutex
	consumed int
	refused  int
	units    map[string]int
}

// The reasons of [Budget.Take].
const (
	allowed       = "allowed"
	budgetMissing = "retry_budget_missing"
)

// NewBudget returns the budget of one job. The numbers of the policy are
// defaults and ceilings, which the environment may override:
// RETRY_BUDGET_DEFAULT, RETRY_BUDGET_MAX, RETRY_BUDGET_PER_WORKFLOW_DEFAULT and
// RETRY_BUDGET_PER_WORKFLOW_MAX; [NoRetries] stays what it is. retries and perUnit
// are the job's own numbers; 0 or less takes the default, and what is over a
// ceiling is clamped, to nothing where the policy's own number is [NoRetries]: see
// [Budget.Clamped].
func NewBudget(p BudgetPolicy, retries, perUnit int) (*Budget, error) {
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
	b := &Budget{units: map[string]int{}}
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
func (b *Budget) Policy() BudgetPolicy { return b.policy }

// Clamped says which numbers were over a ceiling, or is empty.
func (b *Budget) Clamped() string { return b.clamped }

// Take takes one retry of a unit out of the budget: of the job first, then of
// the unit, in one step. The reason says why it cannot, or "allowed".
func (b *Budget) Take(unit string) (ok bool, reason string) {
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
func (b *Budget) Consumed() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.consumed
}

// Refused returns how many retries the job was not allowed to make.
func (b *Budget) Refused() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Unit returns the budget of one unit, for [retry.Policy.BeginWith].
func (b *Budget) Unit(id string) *Unit { return &Unit{b, id} }

// A Unit is the part of a [Budget] that one unit may use.
type Unit struct {
	job *Budget
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
func (e jobBudgetError) Is(target error) bool { return target == retry.ErrJobBudget }
