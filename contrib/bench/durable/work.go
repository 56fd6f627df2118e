package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// A receipt is the result of a unit of work.
type receipt struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// amount is the argument of all units.
const amount = 100

var errUnavailable = errors.New("503 Service Unavailable: the payment service is overloaded")

// Work is what is executed durably: units that fail a number of times, then
// return a receipt.
type work struct {
	fails int // attempts of each unit
	calls atomic.Int64
}

// do makes an attempt, from 1, of a unit.
func (w *work) do(unit, attempt int) (receipt, error) {
	w.calls.Add(1)
	if attempt <= w.fails {
		return receipt{}, errUnavailable
	}
	return receipt{ID: fmt.Sprint("order-", unit), Amount: amount}, nil
}

// done returns an error unless n units have been executed.
func (w *work) done(n int) error {
	if got, want := int(w.calls.Swap(0)), n*(w.fails+1); got != want {
		return fmt.Errorf("%d attempts were made, want %d", got, want)
	}
	return nil
}

// A system executes units of work durably.
type system interface {
	// execute executes n units, of which callers are executed at the same time.
	execute(ctx context.Context, n, callers int) error
	close() error
}

// An opener opens a system with a new database, in an empty folder. Callers is
// the greatest number of units that are executed at the same time.
type opener func(ctx context.Context, dir string, w *work, callers int) (system, error)

// units returns a contender that executes units of work.
func units(name string, open opener, fails, callers int) contender {
	return contender{name: name, prepare: func(ctx context.Context, dir string, n int) (*trial, error) {
		w := &work{fails: fails}
		s, err := open(ctx, dir, w, callers)
		if err != nil {
			return nil, err
		}
		// The first units prepare statements and fill caches.
		warm := max(1, n/10)
		err = s.execute(ctx, warm, callers)
		if err == nil {
			err = w.done(warm)
		}
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		return &trial{
			run: func() error {
				if err := s.execute(ctx, n, callers); err != nil {
					return err
				}
				return w.done(n)
			},
			close: s.close,
		}, nil
	}}
}

// share calls do for 0 to n-1 from a number of goroutines, and returns the
// errors.
func share(n, goroutines int, do func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for errs[g] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[g] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
