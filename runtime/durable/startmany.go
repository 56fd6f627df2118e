package durable

import (
	"context"
	"iter"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// StartMany is [Start] for many runs of one function. It takes their ids and inputs from
// a sequence, and returns how many runs it has created. If the runs have no [Budget] and
// the store is a [storage.Inserter], such as the PostgreSQL store, one statement creates
// up to 5,000 runs. In all other cases, and within a run, each transaction creates up to
// 1,000 runs.
//
// Runs that already exist with the same name and input are skipped, so StartMany can be
// called again with the same sequence after it has stopped. If some runs exist with a
// different name or input, StartMany starts all other runs and returns a [*ConflictError]
// with the ids of the existing ones. On any other error, such as an invalid id or input,
// it stops. In that case, the runs created by earlier statements have already been
// started.
func StartMany[In any](
	ctx context.Context, e *Engine, name string, runs iter.Seq2[string, In], options ...RunOption,
) (created int, err error) {
	s, err := e.newStart(ctx, name, options)
	if err != nil {
		return 0, err
	}
	var inputs []In
	m := manyStarts{start: s, ids: map[string]bool{}}
	m.same = func(i int, found *existingRun) bool { return sameRun(found, e.ns.Codec, inputs[i]) }
	for id, in := range runs {
		input := record.NewPayload(e.ns.Codec, in)
		if err := input.Refused(); err != nil {
			return m.count, inputError(id, err)
		}
		r, err := s.run(ctx, id, &input)
		if err != nil {
			return m.count, err
		}
		if m.full(id) {
			if err := m.flush(ctx); err != nil {
				return m.count, err
			}
			clear(inputs)
			inputs = inputs[:0]
		}
		m.add(r)
		inputs = append(inputs, in)
	}
	if err := m.flush(ctx); err != nil {
		return m.count, err
	}
	if len(m.conflicts) > 0 {
		return m.count, &ConflictError{m.conflicts}
	}
	return m.count, nil
}

const (
	maxInsert      = 5000    // runs per statement
	maxInsertBytes = 8 << 20 // approximate size of their inputs
	maxCreate      = 1000    // runs per transaction
)

// manyStarts starts runs in batches.
type manyStarts struct {
	*start
	same func(i int, found *existingRun) bool // reports whether an existing run is the one that was to be started

	batch     []runStart
	ids       map[string]bool // the ids of the batch
	bytes     int             // the size of the inputs
	count     int             // the number of runs that were created
	conflicts []string
}

// full reports whether the batch has to be sent before a run with the given id is added. A
// batch never contains the same id twice.
func (m *manyStarts) full(id string) bool {
	return len(m.batch) == maxInsert || m.bytes >= maxInsertBytes || m.ids[id]
}

func (m *manyStarts) add(r runStart) {
	m.batch, m.bytes = append(m.batch, r), m.bytes+len(r.input.Data())
	m.ids[r.id] = true
}

// flush starts the runs of the batch.
func (m *manyStarts) flush(ctx context.Context) error {
	rest, err := m.insert(ctx)
	if err != nil {
		return err
	}
	for len(rest) > 0 {
		n := min(len(rest), maxCreate)
		some := make([]runStart, n)
		for i, at := range rest[:n] {
			some[i] = m.batch[at]
		}
		found, err := m.create(ctx, some)
		if err != nil {
			return err
		}
		for i, at := range rest[:n] {
			m.note(at, found[i])
		}
		rest = rest[n:]
	}
	clear(m.batch)
	clear(m.ids)
	m.batch, m.bytes = m.batch[:0], 0
	return nil
}

// note records that a run of the batch was created or found.
func (m *manyStarts) note(i int, found *existingRun) {
	switch {
	case found == nil:
		m.count++
	case !m.same(i, found):
		m.conflicts = append(m.conflicts, m.batch[i].id)
	}
}

// insert creates the runs of the batch in one statement. It returns the indexes of the runs
// that require a decision in a transaction.
func (m *manyStarts) insert(ctx context.Context) (rest []int, err error) {
	inserted, n := make([]bool, len(m.batch)), storage.Insertion{}
	if m.parent == nil && m.options.budget == nil && len(m.batch) > 0 {
		if n, err = m.insertion(m.batch); err != nil {
			return nil, err
		}
		if inserted, err = m.e.ns.Insert(ctx, n); err != nil {
			return nil, err
		}
	}
	for i, r := range m.batch {
		if inserted[i] {
			m.created(ctx, r.id)
			m.count++
		} else {
			rest = append(rest, i)
		}
	}
	if len(n.Runs) == 0 || len(rest) == 0 {
		return rest, nil
	}
	return m.read(ctx, rest)
}

// read compares those runs of the batch that exist with their starts. It returns the others. No
// lock is necessary, because the compared values never change.
func (m *manyStarts) read(ctx context.Context, runs []int) (rest []int, err error) {
	keys := make([]storage.Key, len(runs))
	for i, at := range runs {
		keys[i] = m.keys(m.batch[at].id).run
	}
	records, err := m.e.ns.Store.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, at := range runs {
		if records[i].Version == 0 {
			rest = append(rest, at)
			continue
		}
		found, err := m.existing(records[i], m.batch[at].input)
		if err != nil {
			return nil, err
		}
		m.note(at, found)
	}
	return rest, nil
}

// insertion returns the insertion of some runs that have no parent and no budget.
func (s *start) insertion(runs []runStart) (storage.Insertion, error) {
	n := s.options.insertion(s.e.ns.Space, s.handler)
	body := s.options.body()
	r := storage.Record{Key: storage.Key{Kind: storage.KindRun}}
	err := record.Encode(&r, &body)
	n.Body, n.Runs = r.Body, make([]storage.NewRun, len(runs))
	for i, run := range runs {
		n.Runs[i] = storage.NewRun{Run: run.id, Input: run.input.Column()}
	}
	return n, err
}
