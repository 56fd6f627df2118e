package shared

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Budget is a ratio budget that several processes share through a store, for calls that
// are not durable steps. It implements [retry.Budget]. Any number of goroutines may use
// it.
//
// The process leases a share of the budget for 30s at a time, and asks the store for more
// when the share is used up: see [Link.Connect]. While the share is full, a success costs
// one atomic load. A retry asks the store only if the share is empty, which takes at most
// a second. If the store has no tokens or does not respond, retries are refused for 100ms
// to 1s without asking it again.
//
// A Budget that is not connected refuses every retry. Together, the processes never make
// more retries than a single [budget.Budget] with the same policy would allow.
type Budget struct {
	policy budget.Policy // effective
	ratio  int64
	// missing is what the part lacks: 0 while all calls succeed. missing, capacity
	// and ratio are in millionths of a token.
	missing atomic.Int64

	asking sync.Mutex // held while the store is asked

	mu       sync.Mutex
	link     *link // nil: not connected
	capacity int64
	until    time.Time // the end of the lease, by the clock of this process
	used     bool      // since the last regular report
	again    time.Time // the store is not asked before
	err      error     // why retries are refused until then
	free     float64   // in the store, when it was asked last
	short    bool      // the budget was not full then
	version  uint64    // of the record then
}

// micro is a token in the unit of Budget.
const micro = 1_000_000

// Errors of shared budgets. They also match [retry.ErrBudget].
var (
	// ErrUnconnected means that [Link.Connect] was not called, or that its connection is
	// closed. Rates also return it.
	ErrUnconnected = capacity.ErrUnconnected
	// ErrLeaseLost means that the store has lost the share of a budget that a process had
	// leased, as Redis does after FLUSHALL. The process can no longer use the tokens.
	ErrLeaseLost = errors.New("the store has forgotten the lease of this process: its tokens are void")
)

// NewBudget returns a budget that is not connected.
func NewBudget(p budget.Policy) *Budget {
	b := &Budget{policy: p.Effective(), err: ErrUnconnected}
	if r := b.policy.Ratio * micro; r > 0 { // and not NaN
		b.ratio = int64(min(r, math.MaxInt32*micro))
	}
	return b
}

// Deposit reports that a call has succeeded.
func (b *Budget) Deposit() {
	if b.missing.Load() != 0 {
		b.add()
	}
}

// add adds the share of a success. It is not inlined, so that Deposit can be.
//
//go:noinline
func (b *Budget) add() {
	for {
		missing := b.missing.Load()
		if missing == 0 || b.missing.CompareAndSwap(missing, max(missing-b.ratio, 0)) {
			return
		}
	}
}

// Full reports whether a deposit would add nothing to this process's share.
func (b *Budget) Full() bool { return b.missing.Load() == 0 }

// Left returns how many retries are left in this process's share, plus those that were
// left in the store at the last request.
func (b *Budget) Left() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.link == nil {
		return 0
	}
	return b.free + float64(b.level(time.Now()))/micro
}

// connect connects the budget.
func (b *Budget) connect(l *link) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.link != nil {
		return fmt.Errorf("budget %q is connected already: close its connection first", b.policy.Name)
	}
	b.link, b.err, b.until, b.again = l, nil, time.Time{}, time.Time{}
	return nil
}

// disconnect disconnects the budget, and returns the error of the last exchange.
func (b *Budget) disconnect() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.err
	b.link, b.err, b.capacity = nil, ErrUnconnected, 0
	b.missing.Store(0)
	return err
}

// stale reports whether the part has to be reported: the record has another
// version than this process has seen, or the report is due.
func (b *Budget) stale(version uint64, due bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return due && (b.short || b.capacity > 0 || version != b.version)
}

// Withdraw takes one retry. Its error matches [retry.ErrBudget] and, if the store has
// failed, contains the store's error.
func (b *Budget) Withdraw() error {
	if b.take() {
		return nil
	}
	b.asking.Lock()
	defer b.asking.Unlock()
	if b.take() {
		return nil // another goroutine has asked
	}
	b.mu.Lock()
	link, again := b.link, b.again
	b.mu.Unlock()
	if link == nil || time.Now().Before(again) {
		return b.refusal()
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	b.exchange(ctx, link, demand)
	if !b.take() {
		return b.refusal()
	}
	return nil
}

// take takes a token of the part, if there is one.
func (b *Budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.level(time.Now()) < micro {
		return false
	}
	b.missing.Add(micro)
	b.used = true
	return true
}

// level returns what is left of the part.
func (b *Budget) level(now time.Time) int64 {
	if !now.Before(b.until) {
		b.capacity = 0
		b.missing.Store(0)
	}
	return b.capacity - b.missing.Load()
}

// refusal returns the error for a retry that is refused.
func (b *Budget) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		return retry.ErrBudget
	}
	return fmt.Errorf("%w: budget %q: %w", retry.ErrBudget, b.policy.Name, b.err)
}

// A purpose is why the store is asked.
type purpose uint8

const (
	demand purpose = iota // a retry finds no token
	report                // regularly
	leave                 // the connection is closed
)

// Bounds of the time for which the store is not asked again.
const (
	leastAgain = 100 * time.Millisecond
	mostAgain  = time.Second
)

// exchange reports what is left of the part to the store, and gets a new one. The
// caller holds b.asking. Withdrawals and deposits go on meanwhile.
func (b *Budget) exchange(ctx context.Context, l *link, why purpose) {
	r, sent := b.report(l, why)
	var g leaseGrant
	var version uint64
	key := l.key(storage.KindBudget, b.policy.Name)
	sel := storage.Select{Keys: []storage.Key{key}}
	err := l.store.Update(ctx, sel, func(tx storage.Tx) (w storage.Writes, err error) {
		known := tx.Record(key)
		budget, err := OpenRatio(known, &b.policy, tx.Now)
		if err != nil {
			return w, err
		}
		g = budget.lease(r, tx.Now)
		err = budget.Put(&w)
		version = known.Version + uint64(len(w.Put))
		return w, err
	})
	b.mu.Lock()
	switch b.err = err; {
	case err != nil:
		if !errors.Is(err, storage.ErrUnknown) {
			b.capacity += int64(r.returned * micro) // nothing was committed
		}
		b.again = time.Now().Add(mostAgain)
	default:
		if g.lost {
			err = ErrLeaseLost
			b.capacity = 0
			b.missing.Store(0)
		}
		b.grow(&g)
		b.until, b.version = sent.Add(tokenLeaseTime), version
		if b.again = (time.Time{}); why == demand && g.tokens == 0 {
			b.again = time.Now().Add(min(max(g.wait, leastAgain), mostAgain))
		}
	}
	b.mu.Unlock()
	if err != nil {
		l.event(ctx, "budget "+b.policy.Name, err)
	}
}

// grow adds what the store has granted to the part.
func (b *Budget) grow(g *leaseGrant) {
	tokens, room := int64(g.tokens*micro), int64(g.room*micro)
	b.capacity += tokens + room
	b.missing.Add(room)
	b.free, b.short = g.free, g.missing > 0 || b.capacity > 0
}

// report takes the tokens that are given back out of the part, and returns what to
// tell the store, and the time. The part cannot grow until the store has answered.
func (b *Budget) report(l *link, why purpose) (leaseReport, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.level(now)
	b.capacity -= b.missing.Swap(0)
	r := leaseReport{id: l.id, want: why == demand, leave: why == leave}
	if why != demand && (!b.used || why == leave) {
		r.returned = float64(b.capacity) / micro
		b.capacity = 0
	}
	if why == report {
		b.used = false
	}
	r.held = float64(b.capacity) / micro
	return r, now
}
