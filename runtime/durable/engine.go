package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An Engine executes runs and keeps their state in a store. Any number of goroutines may
// use it. Several engines, in one or more processes, may share a store if its
// [storage.Guarantee] allows it.
type Engine struct {
	ns      *namespace.Namespace
	unshare func()                     // stops sharing transactions with other engines
	hidden  []func(path []string) bool // report which parts of values are hidden from people
	tracer  events.Tracer              // or nil
	sharded *Sharded                   // the Sharded to which the engine belongs, or nil

	owning chan struct{} // contains an element while a goroutine begins the lease

	mu       sync.Mutex
	owner    *owner                // the owner of the runs that this engine executes; nil before the first run
	active   map[string]*execution // by the id of the run
	running  sync.WaitGroup        // the executions
	handlers map[string]*handler   // by the name of the handler that runs record
	closed   bool

	left map[string]uint64 // the fences of runs whose ends could not be recorded: see job.go

	periodics []*periodic // schedules whose runs workers start

	incarnation string // the incarnation of the store, if it was accepted

	// claims is read-locked from the time a worker claims runs until they are active.
	claims sync.RWMutex
}

// An Option changes a default of an engine.
type Option func(*Engine) error

// Namespace separates the runs of engines that share a store. The default is
// the empty namespace.
func Namespace(name string) Option {
	return func(e *Engine) error {
		return e.ns.Name(name)
	}
}

// Lease sets how long other engines wait before they take over the runs of an engine that
// has stopped renewing its lease. The default is 30s. An engine renews its lease three
// times in this period.
func Lease(d time.Duration) Option {
	return func(e *Engine) error {
		if d < time.Second {
			return fmt.Errorf("lease %v is too short: the least is 1s", d)
		}
		e.ns.Lease = d
		return nil
	}
}

// A Codec encodes the results of runs and steps. The default is JSON. A different codec
// may compress or encrypt them, because stores and queries do not interpret the encoded
// bytes.
type Codec interface {
	Encode(value any) ([]byte, error)
	// Decode decodes into a pointer. It must not modify or retain data, because several
	// callers of a step may decode the data at the same time. For data of a different
	// type, return an error rather than an incomplete value.
	Decode(data []byte, into any) error
}

// WithCodec sets the encoding of results. The default is JSON.
func WithCodec(c Codec) Option {
	return func(e *Engine) error {
		e.ns.Codec = c
		return nil
	}
}

// OnEvent adds a function that is called for every event. It is called in the goroutine
// that causes the event, with the context of the call, the run or the operation. This
// context may have ended. The function must not call methods of the engine. If OnEvent is
// used several times, the functions are called in the order in which they were added.
func OnEvent(f func(context.Context, events.Event)) Option {
	return func(e *Engine) error {
		e.ns.OnEvent(f)
		return nil
	}
}

// Redact adds a function that reports which parts of inputs and results must be hidden
// from people. [admin.Client.Values] returns "[redacted]" in place of these parts. The
// recorded values are not changed. The path of a part consists of the names of the
// members that lead to it, starting with the outermost one. The elements of an array have
// the array's path.
//
// Members whose names look like secrets, such as password, access_token or Authorization,
// are always redacted. To redact other names, see [admin.Named].
func Redact(hidden func(path []string) bool) Option {
	return func(e *Engine) error {
		e.ns.Hidden = append(e.ns.Hidden, hidden)
		return nil
	}
}

// New returns an engine for a store. The engine does not read or write the store before
// its first run. Close the engine before the store.
func New(s storage.Store, options ...Option) (*Engine, error) {
	e := &Engine{
		ns: namespace.New(s), active: map[string]*execution{}, handlers: map[string]*handler{},
		left:   map[string]uint64{},
		owning: make(chan struct{}, 1),
	}
	e.ns.Halt = e.halt
	for _, option := range options {
		if err := option(e); err != nil {
			return nil, fmt.Errorf("durable: %w", err)
		}
	}
	e.unshare = e.ns.Share()
	return e, nil
}

// Admin returns a client that can read and change the engine's runs. The client reports
// its events to the functions added with [OnEvent].
func (e *Engine) Admin() *admin.Client { return admin.ClientOf(e.ns) }

// Close waits until the engine is no longer executing any runs. If ctx ends before that,
// Close cancels the contexts of the runs and waits until their functions have returned.
// Then it releases the lease. The state of the runs is kept in the store.
//
// If the store does not respond, the executions end a minute after the end of ctx, as in
// [Engine.Run]. Close returns an error at most 4/3 of a lease later, which is 100s after
// the end of ctx by default. The lease then expires on its own.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.ns.Notify("") // wakes the workers, which then end
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
	e.unshare()
	e.mu.Lock()
	o := e.owner
	e.mu.Unlock()
	if o == nil {
		return nil
	}
	return o.stop(context.WithoutCancel(ctx))
}

// unsent reports whether err, from a call of the store with ctx, only reports that ctx has
// ended.
func unsent(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, storage.ErrStore) && !errors.Is(err, storage.ErrUnknown)
}

// unusable reports whether err means that the records of a run cannot be used, because the
// store has failed or a newer version has written them.
func unusable(err error) bool { return isStoreError(err) || errors.Is(err, storage.ErrFormat) }

// isStoreError reports whether err comes from the store, not from a decision.
func isStoreError(err error) bool {
	return errors.Is(err, storage.ErrStore) || errors.Is(err, storage.ErrUnknown)
}
