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
	// Ratio is the number of tokens that a success adds; a retry takes 1. Zero
	// means 0.2. Budgets count in millionths: a smaller ratio adds nothing, as
	// one that is negative or NaN.
	Ratio float64
	// MinPerSecond is the number of tokens added per second regardless of
	// successes. Zero means 10; [NoRefill], any other negative number and NaN
	// mean none.
	MinPerSecond float64
	// Burst is the capacity of the bucket. Zero means 100. A number below 1, or
	// NaN, allows no retry. The greatest capacity is 4·10¹².
	Burst float64
}

// Effective returns p with every default written out.
func (p BudgetPolicy) Effective() BudgetPolicy {
	p.Ratio = orDefault(p.Ratio, defaultRatio)
	p.MinPerSecond = orDefault(p.MinPerSecond, defaultMinPerSecond)
	p.Burst = orDefault(p.Burst, defaultBurst)
	return p
}

// A RetryBudget limits the retries of calls that share it: a
// [Budget], or the budget of a unit in package job.
type RetryBudget interface {
	// Withdraw takes one retry, which is never given back, or returns why it
	// refuses: an error that matches a [Reason], such as [ErrBudget].
	Withdraw() error
	// Deposit reports the success of a call.
	Deposit()
	// Left returns how many retries are left, or -1 if nothing limits them.
	Left() float64
}

// A Budget is a bucket of tokens that calls share: see [BudgetPolicy]. Any
// number of goroutines may use one. It takes no lock; a full one costs a success
// one atomic load. The zero Budget refuses every retry. In [Shared], a nil
// *Budget is no budget.
type Budget struct {
	// In millionths of a retry. Nothing is missing while calls succeed.
	missing         atomic.Int64
	capacity, ratio int64
	perNano         float64 // at most capacity, so that products are finite

	begun    time.Time
	refilled atomic.Int64 // nanoseconds since begun
}

// token is one retry in the unit of Budget.
const token = 1_000_000

// NewBudget returns a full budget.
func NewBudget(p BudgetPolicy) *Budget {
	p = p.Effective()
	b := &Budget{capacity: tokens(p.Burst), ratio: tokens(p.Ratio), begun: time.Now()}
	if p.MinPerSecond > 0 { // and not NaN
		b.perNano = min(p.MinPerSecond*token/1e9, float64(b.capacity))
	}
	return b
}

// tokens returns n in the unit of Budget: at most half of what an int64 holds,
// so that sums of two do not overflow, and 0 for NaN and negative numbers.
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

// Deposit reports the success of a call.
func (b *Budget) Deposit() {
	if b.missing.Load() != 0 {
		b.add(b.ratio)
	}
}

// add adds tokens, as many as there is room for. It is not inlined so that
// Deposit is.
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

// Withdraw takes one retry, or returns [ErrBudget].
func (b *Budget) Withdraw() error {
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

// refill adds the tokens of the time since the last refill. Only one of several
// goroutines adds those of the same time.
func (b *Budget) refill(now int64) {
	last := b.refilled.Load()
	whole := math.Floor(min(float64(now-last)*b.perNano, float64(b.capacity)))
	if whole < 1 {
		return
	}
	// The time of a fraction of a token is kept for the next refill.
	until := now
	if whole < float64(b.capacity) {
		until = min(last+int64(math.Ceil(whole/b.perNano)), now)
	}
	if b.refilled.CompareAndSwap(last, until) {
		b.add(int64(whole))
	}
}

// Left returns how many retries the budget holds now.
func (b *Budget) Left() float64 {
	b.refill(int64(time.Since(b.begun)))
	return float64(b.capacity-b.missing.Load()) / token
}
