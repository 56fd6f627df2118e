package retry

import (
	"math"
	"sync/atomic"
	"time"
)

// Defaults of the fields of [BudgetPolicy].
const (
	defaultRatio        = 0.2
	defaultMinPerSecond = 10.0
	defaultBurst        = 100.0
)

// NoRefill as MinPerSecond adds no tokens over time.
const NoRefill float64 = -1

// A BudgetPolicy limits the retries of all calls that share a budget to a
// share of their successes, as Finagle and gRPC do: a bucket of tokens, full at
// first. It is plain data. The zero value of every field but Name means its
// default.
type BudgetPolicy struct {
	// Name of the budget in errors and events.
	Name string
	// Ratio is what a success puts in; a retry takes out 1. Zero means 0.2.
	// Budgets count in millionths: a smaller ratio puts nothing in.
	Ratio float64
	// MinPerSecond is the number of tokens added per second regardless of
	// successes. Zero means 10; [NoRefill] means none.
	MinPerSecond float64
	// Burst is what the bucket holds. Zero means 100; what is below 1, or no
	// number, holds no retry. More than 4·10¹² cannot be counted and is that.
	Burst float64
}

// Effective returns p with every default written out.
func (p BudgetPolicy) Effective() BudgetPolicy {
	p.Ratio = orDefault(p.Ratio, defaultRatio)
	p.MinPerSecond = orDefault(p.MinPerSecond, defaultMinPerSecond)
	p.Burst = orDefault(p.Burst, defaultBurst)
	return p
}

// A RetryBudget limits the retries of calls that share it: a [Budget],
// or the budget of a unit in package job.
type RetryBudget interface {
	// Withdraw takes one retry out of the budget, or returns why it cannot. It
	// is never given back.
	Withdraw() error
	// Deposit reports the success of a call.
	Deposit()
	// Left returns how many retries are left.
	Left() float64
}

// A Budget is a bucket of tokens that calls share: see [BudgetPolicy]. It takes
// no lock; a full one costs a success one atomic load.
type Budget struct {
	// In millionths of a retry. What is missing is 0 while all goes well.
	missing         atomic.Int64
	capacity, ratio int64
	perSecond       float64

	begun    time.Time
	refilled atomic.Int64 // nanoseconds since begun
}

// token is one retry in the unit of Budget.
const token = 1_000_000

// NewBudget returns a full budget.
func NewBudget(p BudgetPolicy) *Budget {
	p = p.Effective()
	return &Budget{capacity: tokens(p.Burst), ratio: tokens(p.Ratio), perSecond: max(p.MinPerSecond, 0), begun: time.Now()}
}

// tokens returns n in the unit of Budget: at most half of what an int64 holds,
// so that sums of two do not overflow, and nothing for what is no number.
func tokens(n float64) int64 {
	const most = math.MaxInt64 / 2
	switch n *= token; {
	case n >= most:
		return most
	case n > 0:
		return int64(n)
	}
	return 0
}

// Full reports whether there is no room for a deposit.
func (b *Budget) Full() bool { return b.missing.Load() == 0 }

// Deposit tells the budget that a call has succeeded.
func (b *Budget) Deposit() {
	if b != nil && b.missing.Load() != 0 {
		b.add(b.ratio)
	}
}

// add puts tokens in, as many as there is room for. It is kept out of line, for
// the sake of Deposit.
//
//go:noinline
func (b *Budget) add(n int64) {
	for {
		missing := b.missing.Load()
		if missing == 0 || b.missing.CompareAndSwap(missing, max(missing-n, 0)) {
			return
		}
	}
}

// Withdraw takes one retry out, or returns [ErrBudget].
func (b *Budget) Withdraw() error {
	if b == nil {
		return nil // no budget
	}
	b.refill(int64(time.Since(b.begun)))
	for {
		missing := b.missing.Load()
		if b.capacity-missing < token {
			return ErrBudget
		}
		if b.missing.CompareAndSwap(missing, missing+token) {
			return nil
		}
	}
}

// refill adds what has flowed in since the last time. Only one of many
// goroutines adds the same time.
func (b *Budget) refill(now int64) {
	last := b.refilled.Load()
	perNano := b.perSecond * token / 1e9
	whole := math.Floor(min(float64(now-last)*perNano, float64(b.capacity)))
	if perNano == 0 || whole < 1 {
		return
	}
	// What is less than a millionth of a retry is left for the next time.
	until := now
	if whole < float64(b.capacity) {
		until = min(last+int64(math.Ceil(whole/perNano)), now)
	}
	if b.refilled.CompareAndSwap(last, until) {
		b.add(int64(whole))
	}
}

// Left returns how many retries the budget holds now.
func (b *Budget) Left() float64 {
	if b == nil {
		return -1 // no budget
	}
	b.refill(int64(time.Since(b.begun)))
	return float64(b.capacity-b.missing.Load()) / token
}
