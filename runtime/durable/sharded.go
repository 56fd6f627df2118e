package durable

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Sharded distributes runs over several stores, for programs with more runs than one
// database can record. Each store is a shard, and has its own engine with its own leases,
// workers and clock. A run and all its descendants are on the same shard, which is chosen
// by a hash of their root. So no transaction needs two shards.
//
// The root of a run is the part of its id before the first slash. The ids of all
// descendants of run "import-7" begin with "import-7/". The number and the order of the
// shards must never change, because otherwise the hash would lead to the wrong shard.
// postgres.OpenSharded refuses such a change.
//
// [genapi.StepPolicy.Breaker] and [genapi.StepPolicy.Budget] are records of one store,
// which a transaction on another shard cannot reach. A step that needs one of them on a
// different shard returns [ErrShard]. Instead, set the step's Shared to a breaker and a
// shared.Budget that a shared.Link connects to one store.
type Sharded struct{ engines []*Engine }

// ErrShard is returned for a call that needs records on a different shard: see [Sharded].
var ErrShard = errors.New("on another shard")

// NewSharded returns a Sharded with one engine for each store. The order of the stores is
// the order of the shards. The options apply to all engines.
func NewSharded(stores []storage.Store, options ...Option) (*Sharded, error) {
	if len(stores) == 0 {
		return nil, errors.New("durable: there are no shards: give at least one store")
	}
	s := &Sharded{}
	for _, store := range stores {
		e, err := New(store, options...)
		if err != nil {
			return nil, err
		}
		e.sharded, e.ns.Check = s, e.checkShard
		s.engines = append(s.engines, e)
	}
	return s, nil
}

// Engine returns the engine of a run. Use this engine for functions that take a run's id,
// such as [Start], [Await] and [admin.Client.Cancel].
func (s *Sharded) Engine(run string) *Engine {
	root, _, _ := strings.Cut(run, "/")
	h := fnv.New64a()
	_, _ = h.Write([]byte(root))
	return s.engines[h.Sum64()%uint64(len(s.engines))]
}

// Admins returns the clients of all engines, in the order of the shards.
func (s *Sharded) Admins() []*admin.Client {
	clients := make([]*admin.Client, len(s.engines))
	for i, e := range s.engines {
		clients[i] = e.Admin()
	}
	return clients
}

// Engines returns all engines in the order of the shards, for example to register
// handlers with each of them.
func (s *Sharded) Engines() []*Engine { return s.engines }

// Work calls [Engine.Work] for all shards. It returns when ctx ends. The options apply to
// each shard, so [MaxRuns] limits the runs of one shard. If one shard fails, Work stops
// for all of them and returns the error.
func (s *Sharded) Work(ctx context.Context, options ...WorkOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.each(func(e *Engine) error {
		err := e.Work(ctx, options...)
		if err != nil {
			cancel()
		}
		return err
	})
}

// Close closes all engines, as [Engine.Close] does.
func (s *Sharded) Close(ctx context.Context) error {
	return s.each(func(e *Engine) error { return e.Close(ctx) })
}

// each calls do for all engines concurrently, and returns their errors.
func (s *Sharded) each(do func(*Engine) error) error {
	errs := make([]error, len(s.engines))
	var wg sync.WaitGroup
	for i, e := range s.engines {
		wg.Go(func() {
			if err := do(e); err != nil {
				errs[i] = fmt.Errorf("shard %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// checkRun returns an error if the engine must not create or execute a run with the given id.
func (e *Engine) checkRun(ctx context.Context, id string) error {
	if err := record.CheckRunID(id); err != nil || e.sharded == nil {
		return err
	}
	if outer := fromContext(ctx); outer != nil && outer.x.e != e && outer.x.e.sharded == e.sharded {
		root, _, _ := strings.Cut(outer.x.id, "/")
		return fmt.Errorf("run %q, a child of %q, would be %w: let its id begin with %q", id, outer.x.id, ErrShard, root+"/")
	}
	return e.checkShard(id)
}

// checkShard returns an error if a run belongs to another shard.
func (e *Engine) checkShard(run string) error {
	if e.sharded.Engine(run) != e {
		return fmt.Errorf("run %q is %w: use the engine that Sharded.Engine returns for it", run, ErrShard)
	}
	return nil
}

// checkStep returns an error for a step whose records may be on several shards.
func (e *Engine) checkStep(s *genapi.StepPolicy) error {
	if e.sharded == nil || len(e.sharded.engines) == 1 || s.Breaker == nil && s.Budget == nil {
		return nil
	}
	return fmt.Errorf("step %q: its breaker or budget with shared: store may be %w: connect StepPolicy.Shared with a Link",
		s.Name, ErrShard)
}
