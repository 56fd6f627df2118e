package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// body is the body of a record: JSON of the size that a waiting step has.
var body = fmt.Appendf(nil, `{"name":"charge","attempts":1,"text":%q}`, bytes.Repeat([]byte("x"), 220))

// recordTable compares one record written by hand with one in contrib/sqlite.
// The records are new: an update that changes nothing is not written.
var recordTable = table{
	name: "record", title: "One record on SQLite, `synchronous=FULL`", n: 2000, columns: stepColumns,
	contenders: []contender{
		{name: "begin, upsert, commit", prepare: prepareRaw},
		{name: "`sqlite.Store.Update`", prepare: prepareStore},
	},
}

const (
	createSQL = `CREATE TABLE record (kind INT, space TEXT, run TEXT, id TEXT, version INT, body BLOB,
PRIMARY KEY (kind, space, run, id)) WITHOUT ROWID`
	upsertSQL = `INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET version = excluded.version, body = excluded.body`
)

func prepareRaw(ctx context.Context, dir string, n int) (*trial, error) {
	w, err := openRaw(ctx, filepath.Join(dir, "raw.db"))
	if err != nil {
		return nil, err
	}
	return records(n, w.put, w.close)
}

// A rawWriter writes records with SQL.
type rawWriter struct {
	db                    *sql.DB
	begin, upsert, commit *sql.Stmt
}

func openRaw(ctx context.Context, path string) (*rawWriter, error) {
	db, err := openSQLite(path, 1)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS"+createSQL[len("CREATE TABLE"):]); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	w := &rawWriter{db: db}
	for _, s := range []struct {
		statement **sql.Stmt
		text      string
	}{{&w.begin, "BEGIN IMMEDIATE"}, {&w.upsert, upsertSQL}, {&w.commit, "COMMIT"}} {
		if *s.statement, err = db.PrepareContext(ctx, s.text); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return w, nil
}

func (w *rawWriter) put(i int) error {
	if _, err := w.begin.Exec(); err != nil {
		return err
	}
	if _, err := w.upsert.Exec(4, "bench", "run", fmt.Sprint(i), 1, body); err != nil {
		return err
	}
	_, err := w.commit.Exec()
	return err
}

func (w *rawWriter) close() error { return w.db.Close() }

func prepareStore(ctx context.Context, dir string, n int) (*trial, error) {
	w, err := openStore(ctx, filepath.Join(dir, "store.db"))
	if err != nil {
		return nil, err
	}
	return records(n, w.put, w.store.Close)
}

// A storeWriter writes records through a storage.Store.
type storeWriter struct {
	ctx   context.Context
	store storage.Store
	month time.Time
}

func openStore(ctx context.Context, path string) (*storeWriter, error) {
	store, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	return &storeWriter{ctx, store, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}, nil
}

func (w *storeWriter) put(i int) error {
	key := storage.Key{Kind: storage.KindStep, Space: "bench", Run: "run", ID: fmt.Sprint(i)}
	return w.store.Update(w.ctx, storage.Select{Keys: []storage.Key{key}}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Records[0]
		r.Status, r.Bucket, r.Body = storage.StatusWaiting, w.month, body
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
}

// records returns a trial that writes n records, after some others.
func records(n int, put func(i int) error, close func() error) (*trial, error) {
	for i := range max(1, n/10) {
		if err := put(-1 - i); err != nil {
			return nil, errors.Join(err, close())
		}
	}
	return &trial{
		run: func() error {
			for i := range n {
				if err := put(i); err != nil {
					return err
				}
			}
			return nil
		},
		close: close,
	}, nil
}

// recordTable compares one record in PostgreSQL, written by hand in one statement, with
// one in contrib/postgres.
func (s *server) recordTable() table {
	in := func(prepare func(ctx context.Context, url string, n int) (*trial, error)) func(
		ctx context.Context, dir string, n int) (*trial, error) {
		return func(ctx context.Context, _ string, n int) (*trial, error) {
			url, err := s.newDatabase(ctx)
			if err != nil {
				return nil, err
			}
			return prepare(ctx, url, n)
		}
	}
	return table{
		name: "record", title: "One record on PostgreSQL", n: 2000, columns: stepColumns,
		contenders: []contender{
			{name: "`INSERT`", prepare: in(prepareInsert)}, {name: "`postgres.Store.Update`", prepare: in(prepareStorePG)},
		},
	}
}

func prepareInsert(ctx context.Context, url string, n int) (*trial, error) {
	pool, err := newPool(ctx, url, 1)
	if err != nil {
		return nil, err
	}
	closePool := func() error { pool.Close(); return nil }
	_, err = pool.Exec(ctx, `CREATE TABLE record (kind int, space text, run text, id text, version int, body bytea,
PRIMARY KEY (kind, space, run, id))`)
	if err != nil {
		return nil, errors.Join(err, closePool())
	}
	return records(n, func(i int) error {
		_, err := pool.Exec(ctx, `INSERT INTO record VALUES ($1, $2, $3, $4, $5, $6)`, 4, "bench", "run", fmt.Sprint(i), 1, body)
		return err
	}, closePool)
}

func prepareStorePG(ctx context.Context, url string, n int) (*trial, error) {
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	w := &storeWriter{ctx, store, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	return records(n, w.put, store.Close)
}
