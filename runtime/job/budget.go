package job

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	retry "github.com/retrygen/retrygen/runtime"
)

// NoRetries, as a limit in a [BudgetPolicy], allows no retries.
const NoRetries int = -1

// Defaults of the fields of [BudgetPolicy].
const (
	defaultRetries    = 20
	defaultPerUnit    = 3
	defaultMaxRetries = 50
	defaultMaxPerUnit = 5
)

// A BudgetPolicy limits the retries of one job and of each of its units. It is plain
// data. The zero value of every number means the field's default. [NoRetries], like any
// other negative number, means no retries. A ceiling of [retry.Unlimited] means that
// there is no ceiling.
type BudgetPolicy struct {
	// Name is the name of the budget in a policy file.
	Name string
	// Retries is the maximum number of retries of the whole job. Zero means 20.
	Retries int
	// PerUnit is the maximum number of retries of one unit. Zero means 3.
	PerUnit int
	// MaxRetries and MaxPerUnit are ceilings: [NewBudget] clamps greater limits to them.
	// Zero means 50 for MaxRetries and 5 for MaxPerUnit.
	MaxRetries, MaxPerUnit int
}

// Effective returns a copy of p with every default set.
func (p BudgetPolicy) Effective() BudgetPolicy {
	orDefault := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
	}
	orDefault(&p.Retries, defaultRetries)
	orDefault(&p.PerUnit, defaultPerUnit)
	orDefault(&p.MaxRetries, defaultMaxRetries)
	orDefault(&p.MaxPerUnit, defaultMaxPerUnit)
	return p
}

// Request returns a copy of p with the limits that a job asks for. If a requested limit
// is 0 or less, the limit in p is kept. If p allows no retries, a job cannot get any:
// [NewBudget] clamps the requested limit to 0.
func (p BudgetPolicy) Request(retries, perUnit int) BudgetPolicy {
	ask := func(n int, own, ceiling *int) {
		if n <= 0 {
			return
		}
		if *own < 0 {
			*ceiling = NoRetries
		}
		*own = n
	}
	ask(retries, &p.Retries, &p.MaxRetries)
	ask(perUnit, &p.PerUnit, &p.MaxPerUnit)
	return p
}

// A Budget limits the retries of one job and of each of its units. Any number of
// goroutines may share it. A nil *Budget refuses every retry with [ReasonNoBudget], as if
// the job were unknown.
type Budget struct {
	policy           BudgetPolicy
	retries, perUnit int
	clamped          string

	mu       sync.Mutex
	consumed int
	refused  int
	units    map[string]int // retries by unit
}

// NewBudget returns an unused budget. Limits above a ceiling are clamped to it: see
// [Budget.Clamped].
func NewBudget(p BudgetPolicy) *Budget {
	b := &Budget{policy: p.Effective(), units: map[string]int{}}
	var notes []string
	clamp := func(name string, written int, to *int, ceiling int) int {
		n := max(*to, 0)
		if limit := max(ceiling, 0); n > limit {
			if written != 0 { // a clamped default is not reported
				notes = append(notes, fmt.Sprintf("%s %s is clamped to %d", name, number(n), limit))
			}
			n = limit
		}
		if *to = n; n == 0 {
			*to = NoRetries
		}
		return n
	}
	b.retries = clamp("retries", p.Retries, &b.policy.Retries, b.policy.MaxRetries)
	b.perUnit = clamp("per_unit", p.PerUnit, &b.policy.PerUnit, min(b.policy.MaxPerUnit, b.retries))
	b.clamped = strings.Join(notes, "; ")
	return b
}

// number formats n.
func number(n int) string {
	if n == retry.Unlimited {
		return "unlimited"
	}
	return strconv.Itoa(n)
}

// Policy returns the budget's settings, with defaults filled in and ceilings applied.
func (b *Budget) Policy() BudgetPolicy {
	if b == nil {
		return BudgetPolicy{Retries: NoRetries, PerUnit: NoRetries, MaxRetries: NoRetries, MaxPerUnit: NoRetries}
	}
	return b.policy
}

// Clamped describes the limits that were above a ceiling, as in "retries 80 is clamped to
// 50". It returns "" if there are none.
func (b *Budget) Clamped() string {
	if b == nil {
		return ""
	}
	return b.clamped
}

// Withdraw takes one retry from the job's budget and from a unit's budget, in one atomic
// step. A retry is never returned. If one of the two budgets is used up, Withdraw takes
// nothing and returns a [*BudgetError].
func (b *Budget) Withdraw(unit string) error {
	if b == nil {
		return &BudgetError{Reason: ReasonNoBudget, Unit: unit}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch used := b.units[unit]; {
	case b.consumed >= b.retries:
		b.refused++
		return &BudgetError{ReasonJobBudget, unit, b.consumed, b.retries}
	case used >= b.perUnit:
		b.refused++
		return &BudgetError{ReasonUnitBudget, unit, used, b.perUnit}
	}
	b.consumed++
	b.units[unit]++
	return nil
}

// Consumed returns the number of retries that were granted.
func (b *Budget) Consumed() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.consumed
}

// Refused returns the number of retries that were refused.
func (b *Budget) Refused() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// left returns how many retries a unit may still make.
func (b *Budget) left(unit string) int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(b.retries-b.consumed, b.perUnit-b.units[unit])
}

// Unit returns the retry budget of one unit, for [retry.Shared].
func (b *Budget) Unit(id string) retry.Budget { return &unit{budget: b, id: id} }

// A unit is the budget of one unit.
type unit struct {
	budget *Budget
	id     string
	group  *Group // whose observers are notified, or nil
}

// Withdraw takes one retry of the unit.
func (u *unit) Withdraw() error {
	err := u.budget.Withdraw(u.id)
	if u.group != nil {
		u.group.notifyWithdrawal(u.id, err)
	}
	return err
}

// Deposit does nothing: successes do not add retries.
func (u *unit) Deposit() {}

// Left returns how many retries the unit may still make.
func (u *unit) Left() float64 { return float64(u.budget.left(u.id)) }

// ErrBudget is the reason why a call ended if a job's budget refused its retry.
const ErrBudget retry.Reason = "job budget exhausted"

// A BudgetError reports that a retry was refused. It matches [ErrBudget].
type BudgetError struct {
	Reason   Reason // ReasonJobBudget, ReasonUnitBudget or ReasonNoBudget
	Unit     string // the unit that asked for the retry
	Consumed int    // retries made by the job or, with ReasonUnitBudget, by the unit
	Limit    int    // the limit for Consumed
}

// Error returns AD-44's word for the reason, with the counts, such as
// "job_budget_exhausted (5/5)".
func (e *BudgetError) Error() string {
	if e.Reason == ReasonNoBudget {
		return e.Reason.String()
	}
	return fmt.Sprintf("%s (%d/%d)", e.Reason, e.Consumed, e.Limit)
}

// Unwrap returns [ErrBudget].
func (e *BudgetError) Unwrap() error { return ErrBudget }
