package capacity

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Limiter limits how many attempts are in progress at the same time. Any number of
// goroutines may use it. An attempt takes a permit before it starts, and returns the
// permit when it has ended:
//
//	if err := limiter.Acquire(ctx); err != nil {
//		return err
//	}
//	defer limiter.Release()
//
// While permits are free, taking a permit costs one atomic operation, and so does
// returning it. If no permit is free, an attempt waits for up to MaxWait. Attempts are
// admitted in the order of their arrival. A new attempt never overtakes a waiting one. At
// most Queue attempts wait. Any further attempt is refused at once. This keeps waits
// short during a long overload, when some attempts must be refused anyway.
//
// The zero Limiter has no permits and refuses every attempt. A Limiter must not be copied
// after first use. It starts only short-lived goroutines, which refuse attempts that have
// waited for MaxWait.
type Limiter struct {
	// free is the number of free permits, less crowd while attempts wait. It is also
	// negative while an adaptive limit is below the permits in use. Attempts take a
	// permit only while free is positive.
	free     atomic.Int64
	most     atomic.Uint64                 // the greatest number of permits that there may be
	limit    atomic.Int64                  // changed only under mu
	adaptive *adaptive                     // nil if the limit does not change
	policy   atomic.Pointer[LimiterPolicy] // with its defaults; nil in the zero Limiter
	begun    time.Time
	refusal  error
	refused  atomic.Uint64

	mu     sync.Mutex
	queue  queue
	expire func() // l.expireWaits
}

// crowd is what is subtracted from Limiter.free while attempts wait.
const crowd = 1 << 40

// maxLimit is the greatest limit.
const maxLimit = math.MaxInt32

// NewLimiter returns a limiter with all permits free. It panics if a field of p is
// negative (except [NoWait]), if neither Limit nor Target is set, or if an adaptive limit
// does not satisfy Min ≤ Limit ≤ Max.
func NewLimiter(p LimiterPolicy) *Limiter {
	p = p.Effective()
	if err := p.validate(); err != nil {
		panic("capacity: " + err.Error())
	}
	l := &Limiter{begun: time.Now(), refusal: Refusal{By: ByLimiter, Name: p.Name}}
	l.policy.Store(&p)
	l.most.Store(uint64(p.Limit))
	l.expire = l.expireWaits
	l.limit.Store(int64(p.Limit))
	l.free.Store(int64(p.Limit))
	if p.Target > 0 {
		l.most.Store(uint64(p.Max))
		l.adaptive = &adaptive{limit: float64(p.Limit)}
	}
	return l
}

// validate returns an error if an effective policy is not one of a limiter.
func (p *LimiterPolicy) validate() error {
	switch {
	case p.Limit < 0, p.MaxWait < 0 && p.MaxWait != NoWait, p.Queue < 0, p.Target < 0, p.Min < 0, p.Max < 0:
		return errors.New("negative field of the LimiterPolicy " + p.Name)
	case p.Limit == 0:
		return errors.New("neither Limit nor Target of the LimiterPolicy " + p.Name + " is set")
	case p.Limit > maxLimit || p.Max > maxLimit:
		return errors.New("the limit of the LimiterPolicy " + p.Name + " is greater than 2³¹-1")
	case p.Target > 0 && !(p.Min <= p.Limit && p.Limit <= p.Max):
		return errors.New("Limit of the LimiterPolicy " + p.Name + " is not between Min and Max")
	}
	return nil
}

// Policy returns the limiter's policy with its defaults.
func (l *Limiter) Policy() LimiterPolicy {
	if p := l.policy.Load(); p != nil {
		return *p
	}
	return LimiterPolicy{}
}

// Adaptive reports whether the limit adapts to the results of attempts. If it does,
// return permits with [Limiter.Done].
func (l *Limiter) Adaptive() bool { return l.adaptive != nil }

// Limit returns the number of permits.
func (l *Limiter) Limit() int { return int(l.limit.Load()) }

// InUse returns the number of permits that are in use. After an adaptive limit has
// fallen, this number exceeds the limit until enough attempts have ended.
func (l *Limiter) InUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.limit.Load() - l.freePermits())
}

// Queued returns the number of attempts that are waiting for a permit.
func (l *Limiter) Queued() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.len
}

// Refused returns the number of attempts that were refused because no permit was free.
// Attempts whose context ended during the wait are not included.
func (l *Limiter) Refused() uint64 { return l.refused.Load() }

// TryAcquire takes a permit if one is free and no attempt is waiting, and reports whether
// it did.
func (l *Limiter) TryAcquire() bool {
	for {
		n := l.free.Load()
		if n <= 0 {
			return false
		}
		if l.free.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// Acquire takes a permit, and waits for one if necessary. It returns a [Refusal] if it
// has waited for MaxWait or the queue is full. If ctx has ended, it returns ctx.Err(),
// even if a permit is free. If the error is nil, the caller must return the permit.
func (l *Limiter) Acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.TryAcquire() {
		return nil
	}
	return l.wait(ctx)
}

// wait is Acquire after TryAcquire has failed.
func (l *Limiter) wait(ctx context.Context) error {
	p := l.policy.Load()
	if p == nil || p.MaxWait <= 0 {
		return l.refuse()
	}
	until := time.Since(l.begun) + p.MaxWait
	l.mu.Lock()
	switch {
	case l.queue.len == 0 && l.tryCrowd():
		l.mu.Unlock()
		return nil
	case l.queue.len >= cmp.Or(p.Queue, l.Limit()):
		l.mu.Unlock()
		return l.refuse()
	}
	w := l.queue.push(until)
	if l.queue.len == 1 {
		l.queue.wake(p.MaxWait, l.expire)
	}
	l.mu.Unlock()

	select {
	case admitted := <-w.answer:
		if !admitted {
			return l.refuse()
		}
		if err := ctx.Err(); err != nil { // the permit came at the same time
			l.Release()
			return err
		}
		return nil
	case <-ctx.Done():
		l.abandon(w)
		return ctx.Err()
	}
}

// refuse counts an attempt that gets no permit, and returns its error.
func (l *Limiter) refuse() error {
	l.refused.Add(1)
	if l.refusal == nil {
		return Refusal{By: ByLimiter} // of the zero Limiter
	}
	return l.refusal
}

// tryCrowd takes a permit if one has become free, and reports whether it did. Otherwise the
// caller, who holds mu, must add an attempt to the queue, which is empty.
func (l *Limiter) tryCrowd() bool {
	for {
		n := l.free.Load()
		switch {
		case n > 0 && l.free.CompareAndSwap(n, n-1):
			return true
		case n <= 0 && l.free.CompareAndSwap(n, n-crowd):
			return false
		}
	}
}

// leave is called, under mu, after an attempt has left the queue. If it was the last one,
// those that come next need not queue.
func (l *Limiter) leave() {
	if l.queue.len == 0 {
		l.free.Add(crowd)
	}
}

// settle hands free permits to the attempts that wait. The caller holds mu. Meanwhile other
// goroutines only return permits, and then settle as well.
func (l *Limiter) settle() {
	for l.queue.len > 0 && l.freePermits() > 0 {
		l.free.Add(-1)
		l.queue.pop(true)
		l.leave()
	}
}

// abandon ends the wait of an attempt whose context has ended. If the permit came first,
// the next one gets it.
func (l *Limiter) abandon(w *waiter) {
	l.mu.Lock()
	waits := l.queue.remove(w)
	if waits {
		l.leave()
	}
	l.mu.Unlock()
	if !waits && <-w.answer {
		l.Release()
	}
}

// expireWaits refuses the attempts that have waited for MaxWait.
func (l *Limiter) expireWaits() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.begun)
	for l.queue.len > 0 {
		if rest := l.queue.first.until - now; rest > 0 {
			l.queue.wake(rest, l.expire)
			return
		}
		l.queue.pop(false)
		l.leave()
	}
}

// Release returns a permit. It panics if more permits are returned than were taken.
func (l *Limiter) Release() {
	if uint64(l.free.Add(1)-1) >= l.most.Load() { // no free permits, as it seems, or too many
		l.released()
	}
}

// released is called after a permit has been returned that may be another one's.
//
//go:noinline
func (l *Limiter) released() {
	if n := l.free.Load(); n > 0 && uint64(n) > l.most.Load() {
		l.free.Add(-1)
		panic("capacity: Release of a Limiter without a permit in use")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// freePermits returns the number of free permits.
func (l *Limiter) freePermits() int64 {
	n := l.free.Load()
	if n < -crowd/2 {
		n += crowd
	}
	return n
}

// setLimit changes the number of permits. If it falls below those in use, no attempt is
// interrupted: the next ones are admitted when enough have ended.
func (l *Limiter) setLimit(limit int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free.Add(limit - l.limit.Swap(limit))
	l.settle()
}
