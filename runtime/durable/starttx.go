package durable

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// StartTx is [Start] within a transaction of your program, in the store's database. If
// the transaction commits, the run exists. If the transaction is rolled back, the run
// does not exist. A program can thus change its tables and start a run atomically,
// without an outbox. Workers see the run and are notified when the transaction commits.
// postgres.Store.Tx and SQLTx, and sqlite.Store.Transact return such transactions.
//
// StartTx does not commit the transaction and does not retry. If StartTx returns an
// error, roll the transaction back. If the run already exists with the same name and
// input, StartTx does nothing. If another transaction has started the same run and has
// not ended, StartTx waits for it. Transactions that have several runs in common must
// start them in the same order. Otherwise the transactions may deadlock.
//
// StartTx returns an error if it is called within a run of the engine, if the options
// contain a [Budget], or if the transaction does not belong to the engine's store. The
// run has no parent, and its only budget is its handler's budget. StartTx does not report
// [events.EventCreated], because the transaction may be rolled back.
func StartTx[In any](
	ctx context.Context, e *Engine, tx storage.Transaction, name, id string, in In, options ...RunOption,
) error {
	input := record.NewPayload(e.ns.Codec, in)
	if err := input.Refused(); err != nil {
		return inputError(id, err)
	}
	s, err := e.newStart(ctx, name, options)
	if err != nil {
		return err
	}
	if err := s.checkTx(id, tx, options); err != nil {
		return err
	}
	s.options.budget = nil // this may be the budget of the handler, which the first claim adds
	r, err := s.run(ctx, id, &input)
	if err != nil {
		return err
	}
	found, err := s.insertTx(ctx, tx, r)
	if err != nil || found == nil || sameRun(found, e.ns.Codec, in) {
		return err
	}
	return &ConflictError{[]string{id}}
}

// checkTx returns an error if a run cannot be started in a transaction of the program.
func (s *start) checkTx(id string, tx storage.Transaction, options []RunOption) error {
	switch {
	case s.parent != nil:
		return fmt.Errorf("run %q would be a child of run %q, which a transaction of the program cannot record: "+
			"use Start: %w", id, s.parent.id, ErrConflict)
	case newRunOptions(options).budget != nil:
		return fmt.Errorf("run %q: StartTx records no Budget: give it to Handle: %w", id, ErrConflict)
	case tx == nil:
		return fmt.Errorf("run %q: the transaction is nil: check the error of the call that begins it", id)
	case tx.Store() != s.e.ns.Store:
		return fmt.Errorf("run %q: the transaction is one of another store: use the store of the engine: %w", id,
			ErrConflict)
	}
	return nil
}

// insertTx creates a run in a transaction of the program, or returns the existing one.
func (s *start) insertTx(ctx context.Context, tx storage.Transaction, r runStart) (*existingRun, error) {
	n, err := s.insertion([]runStart{r})
	if err != nil {
		return nil, err
	}
	inserted, err := tx.Insert(ctx, n)
	if err != nil || inserted[0] {
		return nil, err
	}
	records, err := tx.Get(ctx, []storage.Key{n.Key(n.Runs[0])})
	if err != nil {
		return nil, err
	}
	if records[0].Version == 0 {
		return nil, fmt.Errorf("%w: run %q exists, but the transaction does not see it: repeat it", storage.ErrStore, r.id)
	}
	return s.existing(records[0], r.input)
}
