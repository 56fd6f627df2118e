package main

import (
	"context"
	"database/sql"
	"errors"

	_ "modernc.org/sqlite" // the driver
)

//go:generate go tool retrygen .

// ErrInsufficientFunds is the error of a transfer of more than the balance.
var ErrInsufficientFunds = errors.New("insufficient funds")

// A Ledger moves money between accounts.
type Ledger interface {
	// Balance returns the balance of an account.
	Balance(ctx context.Context, account string) (int, error)
	// Transfer moves an amount from one account to another. If it returns an error,
	// it has moved nothing.
	Transfer(ctx context.Context, from, to string, amount int) error
	// Close closes the database.
	Close() error
}

// sqlLedger keeps its accounts in SQLite, which lets one connection write at a time
// and returns SQLITE_BUSY to the others.
type sqlLedger struct{ db *sql.DB }

// Open opens the ledger in a file, or creates it.
func Open(ctx context.Context, file string) (Ledger, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(0)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, balance INTEGER NOT NULL)`)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqlLedger{db}, nil
}

func (l *sqlLedger) Balance(ctx context.Context, account string) (balance int, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT balance FROM accounts WHERE name = ?`, account).Scan(&balance)
	return balance, err
}

func (l *sqlLedger) Transfer(ctx context.Context, from, to string, amount int) (err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}()
	result, err := tx.ExecContext(ctx, `UPDATE accounts SET balance = balance - ? WHERE name = ? AND balance >= ?`, amount,
		from, amount)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrInsufficientFunds)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE accounts SET balance = balance + ? WHERE name = ?`, amount, to); err != nil {
		return err
	}
	return tx.Commit()
}

// ignoreDone returns err, or nil if the transaction has already ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (l *sqlLedger) Close() error { return l.db.Close() }
