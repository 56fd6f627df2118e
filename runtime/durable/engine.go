package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Defaults of an engine.
const (
	defaultLease = 30 * time.Second
	defaultKeep  = 30 * 24 * time.Hour

	defaultKeepFailed = 90 * 24 * time.Hour
	maxRecoveries     = 10 // of a run, without a record of a step in between
)

// An Engine executes runs over a store. Any number of goroutines may use one.
// Several engines, also those of other processes, may share a store as far as
// its [Guarantee] allows.
type Engine struct {
	store   Store
	updates *coalescer
	space   string
	lease   time.Duration
	codec   Codec
	observe func(context.Context, Event)
	hidden  []func(path []string) bool // of values, from people
	tracer  Tracer                     // or nil
	sharded *Sharded                   // that the engine belongs to, or nil

	owning chan struct{} // has room for the goroutine that begins the lease

	mu       sync.Mutex
	owner    *owner                // of the runs that this engine executes; nil before the first
	active   map[string]*execution // by the id of the run
	running  sync.WaitGroup        // the executions
	handlers map[string]*handler   // by the handler that runs record
	closed   bool

	periodics []*periodic // whose runs workers start

	listeners   []*listener
	incarnation string // of the store, if it was accepted

	// claims is read-locked from a claim of a worker until its runs are active.
	claims sync.RWMutex
}

// An Option changes a default of an engine.
type Option func(*Engine) error

// Namespace separates the runs of engines that share a store. The default is
// the empty namespace.
func Namespace(name string) Option {
	return func(e *Engine) error {
		if len(name) > maxID || escape(name) != name {
			return fmt.Errorf("%w: namespace %.40q: use letters, digits, dots and hyphens", ErrID, name)
		}
		e.space = name
		return nil
	}
}

// Lease sets how long other engines wait before they take over the runs of an
// engine that has stopped renewing its lease. The default is 30s; it is renewed
// three times in that time.
func Lease(d time.Duration) Option {
	return func(e *Engine) error {
		if d < time.Second {
			return fmt.Errorf("lease %v is too short: the least is 1s", d)
		}
		e.lease = d
		return nil
	}
}

// WithCodec sets the encoding of results. The default is JSON.
func WithCodec(c Codec) Option {
	return func(e *Engine) error {
		e.codec = c
		return nil
	}
}

// OnEvent adds a function that is called for every event, in the goroutine that
// causes it, with the context of the call, the run or the operation. That context
// may have ended. The function must not call methods of the engine. Those of
// several OnEvent are called in their order.
func OnEvent(f func(context.Context, Event)) Option {
	return func(e *Engine) error {
		if first := e.observe; first != nil {
			e.observe = func(ctx context.Context, ev Event) {
				first(ctx, ev)
				f(ctx, ev)
			}
			return nil
		}
		e.observe = f
		return nil
	}
}

// New returns an engine over a store. It neither reads nor writes the store
// before its first run. Close the engine before the store.
func New(s Store, options ...Option) (*Engine, error) {
	e := &Engine{
		store: s, updates: newCoalescer(s), lease: defaultLease, codec: jsonCodec{}, active: map[string]*execution{},
		handlers: map[string]*handler{},
		owning:   make(chan struct{}, 1),
	}
	for _, option := range options {
		if err := option(e); err != nil {
			return nil, fmt.Errorf("durable: %w", err)
		}
	}
	return e, nil
}

// Close waits until no run is executed, or ctx ends, which cancels the contexts
// of the runs and waits until their functions return. It then returns the
// lease. The state of the runs stays.
//
// If the store does not answer, the executions end a minute after ctx, as in
// [Engine.Run], and Close returns an error at most 4/3 of a lease later: by default
// 100s after ctx in all. The lease then ends by itself.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.notify("") // workers end
	done := make(chan struct{})
	go func() {
		e.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		e.mu.Lock()
		for _, x := range e.active {
			x.cancel(ErrClosed)
		}
		e.mu.Unlock()
		<-done
	}
	e.mu.Lock()
	o := e.owner
	e.mu.Unlock()
	if o == nil {
		return nil
	}
	return o.stop(context.WithoutCancel(ctx))
}

func (e *Engine) key(kind Kind, run, id string) Key {
	return Key{Kind: kind, Space: e.space, Run: run, ID: id}
}

// update changes the records of keys in one transaction, which updates of other
// goroutines may share.
func (e *Engine) update(ctx context.Context, keys []Key, decide func(Tx) (Writes, error)) error {
	return e.updates.update(ctx, keys, decide)
}

// unsent reports whether err, of a call of the store with ctx, says no more than
// that ctx has ended.
func unsent(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ErrStore) && !errors.Is(err, ErrUnknown)
}

// unusable reports whether err says that the records of a run cannot be used: the
// store has failed, or a newer version has written them.
func unusable(err error) bool { return isStoreError(err) || errors.Is(err, ErrFormat) }

// isStoreError reports whether err is that of a store, not of a decision.
func isStoreError(err error) bool {
	return errors.Is(err, ErrStore) || errors.Is(err, ErrUnknown)
}
