package durable

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A start contains the common part of the runs that one call starts.
type start struct {
	e       *Engine
	handler string // as recorded by runs
	options runOptions
	parent  *execution // the execution of the run that starts them, or nil
}

// newStart returns a start with the given options.
func (e *Engine) newStart(ctx context.Context, name string, options []RunOption) (*start, error) {
	key, err := handlerKey(name, newRunOptions(options).version)
	if err != nil {
		return nil, err
	}
	if err := flushOuter(ctx); err != nil {
		return nil, err
	}
	s := &start{e: e, handler: key, options: e.startOptions(key, options)}
	s.options.correlation = e.spanID(ctx)
	if err := s.options.checkStart(); err != nil {
		return nil, fmt.Errorf("runs of handler %q: %w", key, err)
	}
	if parent := fromContext(ctx); parent != nil && parent.x.e == e {
		s.parent = parent.x
	}
	return s, nil
}

// A runStart is a run to start.
type runStart struct {
	id    string
	input *record.Payload
}

// run returns the runStart for a run, or an error if the id is invalid.
func (s *start) run(ctx context.Context, id string, input *record.Payload) (runStart, error) {
	return runStart{id, input}, s.e.checkRun(ctx, id)
}

// startKeys contains the keys of the records for the start of a run.
type startKeys struct {
	run, budget     storage.Key
	parentRun, link storage.Key // the parent, and the step of the parent that records the start
}

func (s *start) keys(id string) startKeys {
	ns := s.e.ns
	k := startKeys{run: ns.Key(storage.KindRun, id, ""), budget: ns.Key(storage.KindBudget, id, "")}
	if s.parent != nil {
		k.parentRun, k.link = ns.Key(storage.KindRun, s.parent.id, ""), ns.Key(storage.KindStep, s.parent.id, childID(id))
	}
	return k
}

// create creates those of the given runs that do not exist yet, in one transaction. It returns
// the existing ones, at the indexes of their runs.
func (s *start) create(ctx context.Context, runs []runStart) (found []*existingRun, err error) {
	if s.parent != nil {
		if err := s.parent.ready(ctx); err != nil {
			return nil, err
		}
	}
	var keys []storage.Key
	for _, r := range runs {
		k := s.keys(r.id)
		if keys = append(keys, k.run); s.options.budget != nil {
			keys = append(keys, k.budget)
		}
		if s.parent != nil {
			keys = append(keys, k.parentRun, k.link)
		}
	}
	found = make([]*existingRun, len(runs))
	created := make([]bool, len(runs))
	err = s.e.ns.Update(ctx, keys, func(tx storage.Tx) (all storage.Writes, err error) {
		for i, r := range runs {
			var w storage.Writes
			if w, found[i], err = s.decide(tx, r); err != nil {
				return storage.Writes{}, err
			}
			created[i] = len(w.Put) > 0
			all.Put = append(all.Put, w.Put...)
		}
		return all, nil
	})
	if err != nil {
		return nil, err
	}
	for i, r := range runs {
		if created[i] {
			s.created(ctx, r.id)
		}
	}
	return found, nil
}

// created reports that a run was created.
func (s *start) created(ctx context.Context, id string) {
	s.e.ns.Event(ctx, events.Event{Kind: events.EventCreated, Run: id})
	s.e.ns.Notify(id)
}

// decide creates a run, or returns the existing one.
func (s *start) decide(tx storage.Tx, start runStart) (w storage.Writes, found *existingRun, err error) {
	k := s.keys(start.id)
	r := tx.Record(k.run)
	if r.Version != 0 {
		found, err = s.existing(r, start.input)
		return w, found, err
	}
	r, b := newRun(r, s.handler, start.input, &s.options, tx.Now)
	if s.parent != nil {
		link, err := s.adopt(tx, k, &r, &b)
		if err != nil {
			return w, nil, err
		}
		w.Put = append(w.Put, link)
	}
	err = record.Encode(&r, &b)
	w.Put = append(w.Put, r)
	if o := &s.options; o.budget != nil {
		budget, failed := newCountBudget(tx.Record(k.budget), *o.budget, r.Bucket)
		w.Put, err = append(w.Put, budget), errors.Join(err, failed)
	}
	return w, nil, err
}

// adopt makes a new run a child of the run that starts it, and returns the step of the parent
// that records the child.
func (s *start) adopt(tx storage.Tx, k startKeys, r *storage.Record, b *record.Run) (link storage.Record, err error) {
	outer := tx.Record(k.parentRun)
	if outer.Owner != s.parent.owner.id || outer.Fence != s.parent.fence {
		return link, ErrFenced
	}
	if outer.Status == storage.StatusCanceled {
		return link, ErrCanceled
	}
	if ob, err := record.Decode[record.Run](outer); err != nil {
		return link, err
	} else if ob.Hold != nil {
		return link, held(outer.Key.Run, ob.Hold)
	}
	b.Parent, r.Bucket, r.Priority = outer.Key.Run, outer.Bucket, s.options.rank(outer.Priority)
	link = tx.Record(k.link)
	link.Status, link.Bucket, link.Fence = storage.StatusSucceeded, outer.Bucket, outer.Fence
	return link, record.EncodeStep(
		&link, &record.Step{Name: "start " + s.handler, Child: r.Key.Run, First: tx.Now, Ended: tx.Now},
	)
}

// An existingRun is a run that exists although it was to be started.
type existingRun struct {
	same  bool            // it has the same function and input
	input *record.Payload // its input, if that is encoded differently and the function is the same; or nil
}

// existing compares an existing run with a start. If the input was deleted with the results of
// the run, it is not compared.
func (s *start) existing(r storage.Record, input *record.Payload) (*existingRun, error) {
	b, err := record.Decode[record.Run](r)
	switch {
	case err != nil:
		return nil, err
	case r.Handler != s.handler:
		return &existingRun{}, nil
	case r.Status == storage.StatusExpired || string(b.Input.Data()) == string(input.Data()):
		return &existingRun{same: true}, nil
	}
	return &existingRun{input: b.Input}, nil
}

// sameRun reports whether an existing run has the given input. It compares decoded values,
// because a codec that encrypts may encode a value differently each time.
func sameRun[In any](r *existingRun, c Codec, in In) bool {
	if r.same || r.input == nil {
		return r.same
	}
	var other In
	return r.input.Decode(c, &other) == nil && record.SameDigest(other, in)
}
