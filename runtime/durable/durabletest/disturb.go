package durabletest

import (
	"context"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Stopped store delays updates for some time, before and after their transactions, like
// the store of a process that has received SIGSTOP.
type Stopped struct {
	storage.Store

	mu    sync.Mutex
	until time.Time
}

// Stop delays updates for d, as if the process were stopped.
func (s *Stopped) Stop(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Now().Add(d)
}

func (s *Stopped) wait() {
	s.mu.Lock()
	d := time.Until(s.until)
	s.mu.Unlock()
	time.Sleep(d)
}

// Update implements [storage.Store].
func (s *Stopped) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	s.wait()
	err := s.Store.Update(ctx, sel, decide)
	s.wait()
	return err
}

// A Skewed store has a clock that differs from the machine's clock.
type Skewed struct {
	storage.Store

	mu     sync.Mutex
	offset time.Duration
}

// Set sets the difference between the store's clock and the machine's clock to d.
func (s *Skewed) Set(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset = d
}

// Update implements [storage.Store].
func (s *Skewed) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	return s.Store.Update(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
		s.mu.Lock()
		tx.Now = tx.Now.Add(s.offset)
		s.mu.Unlock()
		return decide(tx)
	})
}
