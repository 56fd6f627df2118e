package budget

import (
	"cmp"
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// Defaults of the fields of [Policy].
const (
	defaultRatio        = 0.2
	defaultMinPerSecond = 10.0
	defaultBurst        = 100.0
)

// NoRefill, as the value of [Policy.MinPerSecond], means that no tokens are added over
// time.
const NoRefill float64 = -1

// A Policy limits the retries of all calls that share a budget to a fraction of their
// successes, as Finagle and gRPC do. The budget is a token bucket that starts full. A
// Policy is plain data. The zero value of every field but Name means the field's default.
type Policy struct {
	// Name of the budget in errors and events.
	Name string
	// Ratio is the number of tokens that a success adds. A retry takes 1 token. Zero
	// means 0.2. If the ratio is negative, below one millionth or NaN, a success adds
	// nothing.
	Ratio float64
	// MinPerSecond is the number of tokens added per second regardless of
	// successes. Zero means 10. [NoRefill], any other negative number and NaN mean that
	// no tokens are added.
	MinPerSecond float64
	// Burst is the capacity of the bucket. Zero means 100. A number below 1, or NaN,
	// allows no retry. The maximum capacity is 4·10¹².
	Burst float64
}

// Effective returns a copy of p with every default set.
func (p Policy) Effective() Policy {
	p.Ratio = cmp.Or(p.Ratio, defaultRatio)
	p.MinPerSecond = cmp.Or(p.MinPerSecond, defaultMinPerSecond)
	p.Burst = cmp.Or(p.Burst, defaultBurst)
	return p
}

// ErrEmpty is the error that [Budget.Withdraw] returns if no retry is left.
var ErrEmpty = errors.New("retry budget exhausted")

// A Budget is a token bucket that calls share: see [Policy]. Any number of goroutines may
// use it. It takes no lock. While it is full, a success costs one atomic load. The zero
// Budget refuses every retry.
type Budget struct {
	// missing is the number of tokens below the capacity: 0 while all calls
	// succeed, in millionths of a token.
	missing atomic.Int64
	limits  atomic.Pointer[limits] // nil in the zero Budget

	begun    time.Time
	refilled atomic.Int64 // nanoseconds since begun
}

// token is one retry in the unit of Budget.
const token = 1_000_000

// New returns a full budget.
func New(p Policy) *Budget { return NewAt(p, time.Now()) }

// NewAt returns a budget that is full at the time now. With [Budget.WithdrawAt] and
// [Budget.LeftAt], a simulation can use its own time instead of the clock.
func NewAt(p Policy, now time.Time) *Budget {
	b := &Budget{begun: now}
	b.limits.Store(p.limits())
	return b
}

// limits are the numbers of a policy: capacity and ratio in millionths of a token.
type limits struct {
	policy          Policy // effective
	capacity, ratio int64
	perNano         float64 // refill per nanosecond; at most capacity, so that products are finite
}

// none are the limits of the zero Budget.
var none limits

func (p Policy) limits() *limits {
	p = p.Effective()
	l := &limits{policy: p, capacity: tokens(p.Burst), ratio: tokens(p.Ratio)}
	if p.MinPerSecond > 0 { // and not NaN
		l.perNano = min(p.MinPerSecond*token/1e9, float64(l.capacity))
	}
	return l
}

// current returns the limits of the budget.
func (b *Budget) current() *limits { return cmp.Or(b.limits.Load(), &none) }

// Policy returns the budget's policy with its defaults.
func (b *Budget) Policy() Policy { return b.current().policy }

// Update changes the budget's settings while calls use it. The number of missing tokens
// remains the same, up to the new Burst. Update may be called at any time.
func (b *Budget) Update(p Policy) {
	l := p.limits()
	b.limits.Store(l)
	for {
		missing := b.missing.Load()
		if missing <= l.capacity || b.missing.CompareAndSwap(missing, l.capacity) {
			return
		}
	}
}

// tokens returns n tokens in the unit of Budget. It is at most half of the
// greatest int64, so that the sum of two does not overflow, and 0 for NaN and
// negative numbers.
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

// Deposit reports that a call has succeeded. It adds Ratio tokens, up to Burst.
func (b *Budget) Deposit() {
	if b.missing.Load() != 0 {
		b.deposit()
	}
}

// deposit is not inlined, so that Deposit can be.
//
//go:noinline
func (b *Budget) deposit() { b.add(b.current().ratio) }

// add adds n millionths of a token, up to the capacity.
func (b *Budget) add(n int64) {
	for {
		missing := b.missing.Load()
		if missing == 0 || b.missing.CompareAndSwap(missing, max(missing-n, 0)) {
			return
		}
	}
}

// Withdraw takes one retry, or returns [ErrEmpty].
func (b *Budget) Withdraw() error { return b.withdraw(int64(time.Since(b.begun))) }

// WithdrawAt is [Budget.Withdraw] at the time now: see [NewAt].
func (b *Budget) WithdrawAt(now time.Time) error { return b.withdraw(int64(now.Sub(b.begun))) }

// withdraw takes one retry. now is in nanoseconds since begun.
func (b *Budget) withdraw(now int64) error {
	l := b.refill(now)
	for {
		missing := b.missing.Load()
		if l.capacity-missing < token {
			return ErrEmpty
		}
		if b.missing.CompareAndSwap(missing, missing+token) {
			return nil
		}
	}
}

// Full reports whether a deposit would add nothing.
func (b *Budget) Full() bool { return b.missing.Load() == 0 }

// refill adds the tokens for the time since the last refill. now is in
// nanoseconds since begun. If several goroutines call refill at once, only one of
// them adds tokens for the same time. It returns the limits that it has used.
func (b *Budget) refill(now int64) *limits {
	l, last := b.current(), b.refilled.Load()
	whole := math.Floor(min(float64(now-last)*l.perNano, float64(l.capacity)))
	if whole < 1 {
		return l
	}
	// Advance only by the time of the added amount: the rest is for the next refill.
	until := now
	if whole < float64(l.capacity) {
		until = min(last+int64(math.Ceil(whole/l.perNano)), now)
	}
	if b.refilled.CompareAndSwap(last, until) {
		b.add(int64(whole))
	}
	return l
}

// Left returns how many retries are left in the budget now.
func (b *Budget) Left() float64 { return b.left(int64(time.Since(b.begun))) }

// LeftAt is [Budget.Left] at the time now: see [NewAt].
func (b *Budget) LeftAt(now time.Time) float64 { return b.left(int64(now.Sub(b.begun))) }

func (b *Budget) left(now int64) float64 {
	l := b.refill(now)
	return float64(max(l.capacity-b.missing.Load(), 0)) / token
}
