package durable

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"sync"
)

// A Sharded divides runs between several stores, for more runs than one database
// can record. Each store is a shard, with an engine of its own: its leases, its
// workers and its clock. A run and its descendants are on one shard, that of the
// hash of their root, so that no transaction needs two.
//
// The root of a run is the part of its id before the first slash: the ids of all
// descendants of run "import-7" begin with "import-7/". The number of shards and
// their order never change, since the hash would find no run any more:
// postgres.OpenSharded, for one, refuses other ones.
//
// [StepPolicy.Breaker] and [StepPolicy.Budget] are records of one store, which the
// transaction of a step on another shard cannot reach: such steps return
// [ErrShard]. Set Shared of the step instead, with a breaker and a [SharedBudget]
// that a [Link] connects to one store.
type Sharded struct{ engines []*Engine }

// ErrShard is returned for a call that would need records of another shard: see
// [Sharded].
var ErrShard = errors.New("on another shard")

// NewSharded returns an engine for each of the stores, which are in the order of
// the shards. The options apply to all engines.
func NewSharded(stores []Store, options ...Option) (*Sharded, error) {
	if len(stores) == 0 {
		return nil, errors.New("durable: there are no shards: give at least one store")
	}
	s := &Sharded{}
	for _, store := range stores {
		e, err := New(store, options...)
		if err != nil {
			return nil, err
		}
		e.sharded = s
		s.engines = append(s.engines, e)
	}
	return s, nil
}

// Engine returns the engine of a run. Functions that take the id of a run, such
// as [Start], [Await] and [Engine.Cancel], need this one.
func (s *Sharded) Engine(run string) *Engine {
	root, _, _ := strings.Cut(run, "/")
	h := fnv.New64a()
	_, _ = h.Write([]byte(root))
	return s.engines[h.Sum64()%uint64(len(s.engines))]
}

// Engines returns all engines, in the order of the shards: to register handlers
// with each, for example.
func (s *Sharded) Engines() []*Engine { return s.engines }

// Work is [Engine.Work] on all shards, until ctx ends. The options apply to each
// shard: [Runs] limits the runs of one. If a shard cannot be worked on, Work ends
// on all, and returns the error.
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

// each calls do for all engines simultaneously, and returns their errors.
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

// List is [Engine.List] for all shards, in the order of the query. It must not have a
// Cursor, which is a position in one store.
func (s *Sharded) List(ctx context.Context, q Query) iter.Seq2[RunInfo, error] {
	if q.From != "" {
		return func(yield func(RunInfo, error) bool) {
			yield(RunInfo{}, fmt.Errorf("a cursor is a position in one store: list the engine of the shard: %w", ErrShard))
		}
	}
	var sequences []iter.Seq2[RunInfo, error]
	for _, e := range s.engines {
		sequences = append(sequences, e.List(ctx, q))
	}
	return inOrder(sequences, compareRuns(q.Order))
}

// Steps is [Engine.Steps] for all shards: the steps are ordered by run and id.
func (s *Sharded) Steps(ctx context.Context, f Filter) iter.Seq2[StepInfo, error] {
	var sequences []iter.Seq2[StepInfo, error]
	for _, e := range s.engines {
		sequences = append(sequences, e.Steps(ctx, f))
	}
	return inOrder(sequences, compareSteps)
}

// checkRun returns an error for an id of a run that the engine must not create or
// execute.
func (e *Engine) checkRun(ctx context.Context, id string) error {
	if err := checkRunID(id); err != nil || e.sharded == nil {
		return err
	}
	if outer := fromContext(ctx); outer != nil && outer.x.e != e && outer.x.e.sharded == e.sharded {
		root, _, _ := strings.Cut(outer.x.id, "/")
		return fmt.Errorf("run %q, a child of %q, would be %w: let its id begin with %q", id, outer.x.id, ErrShard, root+"/")
	}
	if e.sharded.Engine(id) != e {
		return fmt.Errorf("run %q is %w: use the engine that Sharded.Engine returns for it", id, ErrShard)
	}
	return nil
}

// checkStep returns an error for a step whose records are on several shards.
func (e *Engine) checkStep(s *StepPolicy) error {
	if e.sharded == nil || len(e.sharded.engines) == 1 || s.Breaker == nil && s.Budget == nil {
		return nil
	}
	return fmt.Errorf("step %q: its breaker or budget with shared: store may be %w: connect StepPolicy.Shared with a Link",
		s.Name, ErrShard)
}
