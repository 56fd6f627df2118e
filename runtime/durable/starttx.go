package durable

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// StartTx is [Start] in a transaction of the program in the database of the store: the run
// exists if the transaction commits, and does not if it is rolled back. So a program needs
// no outbox to change its tables and start a run, or to do neither. Workers see the run,
// and are notified, when the transaction commits. postgres.Store.Tx and SQLTx, and
// sqlite.Store.Transact return such transactions.
//
// StartTx neither commits nor repeats anything. If it returns an error, roll the
// transaction back. If the run exists with the same name and input, it does nothing; it
// waits for another transaction that starts the same run and has not ended. Several
// transactions that start the same runs must do it in the same order, or they may wait for
// each other.
//
// A run of StartTx is nobody's child, and has no [Budget] but the one of its handler:
// StartTx returns an error within a run of the engine, with that option, and with a
// transaction of another store than the engine's. It reports no [events.EventCreated],
// since the transaction may be rolled back.
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
	s.options.budget = nil // of the handler: the first claim adds it
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

// checkTx returns an error for a run that cannot be started in a transaction.
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

// insertTx creates a run in a transaction of the program, or returns the one that exists.
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
