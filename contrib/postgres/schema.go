package postgres

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	retry "github.com/retrygen/retrygen/runtime"
)

// A migration converts a schema to the next format.
type migration struct {
	sql string
	// oldestWriter is the oldest format whose programs may write to the new format.
	// Older programs return an error.
	oldestWriter int
}

//go:embed schema.sql
var firstSQL string

// firstFormat is the format to which the first migration leads. No release has written
// an older one: such schemas are refused.
const firstFormat = 6

// latest returns the format to which migrations lead.
func latest(migrations []migration) int { return firstFormat - 1 + len(migrations) }

// migrations lead from an empty schema to the format of this version.
var migrations = []migration{{oldestWriter: firstFormat, sql: firstSQL}}

// openTimeout limits how long Open waits for a process that creates or migrates the
// schema.
const openTimeout = time.Minute

// migrate creates or migrates the schema if needed, and the partitions of this month
// and the next, and checks the place among shards. With existing, it returns an error
// instead of creating or migrating the schema.
func (s *Store) migrate(ctx context.Context, existing bool, place *shard) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, err := retry.Do(ctx, &opening, func(ctx context.Context) (struct{}, error) {
		c, err := s.acquire(ctx, s.maintenance)
		if err != nil {
			return struct{}{}, err
		}
		defer c.Release()
		format, err := s.format(ctx, c)
		switch {
		case err != nil || format >= latest(migrations):
		case existing:
			err = older(format)
		default:
			err = s.upgrade(ctx, c, migrations)
		}
		if err == nil {
			err = s.identify(ctx, c.Conn()) // the mark is there now
		}
		if err == nil {
			err = s.settle(ctx, c.Conn(), place)
		}
		if err == nil {
			err = s.prepareMonths(ctx, c)
		}
		if err != nil && c.Conn().IsClosed() {
			err = fmt.Errorf("%w: %w", errConnection, err)
		}
		return struct{}{}, err
	})
	return err
}

// A querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
}

// format returns the format of the schema, or 0 if there is none. It returns a
// formatError for one to which this program must not write, and for one that is too old.
func (s *Store) format(ctx context.Context, c querier) (int, error) {
	exists, err := s.exists(ctx, c, "retry_meta")
	if err != nil || !exists {
		return 0, err
	}
	meta := pgx.Identifier{s.schema, "retry_meta"}.Sanitize()
	var format, oldest *string
	err = c.QueryRow(ctx, `SELECT (SELECT value FROM `+meta+` WHERE key = 'format'),
	(SELECT value FROM `+meta+` WHERE key = 'oldest_writer')`).Scan(&format, &oldest)
	if err != nil {
		return 0, err
	}
	if err := checkWriter(oldest); err != nil {
		return 0, err
	}
	n, err := number("format", format)
	if err == nil && n < firstFormat {
		err = older(n)
	}
	return n, err
}

// exists reports whether the schema has a table. to_regclass would not see one that
// another transaction has just created: it uses a cache.
func (s *Store) exists(ctx context.Context, c querier, table string) (exists bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2)`,
		s.schema, table).Scan(&exists)
	return exists, err
}

// checkWriter returns a formatError if this program must not write to a schema with
// this oldest writer.
func checkWriter(text *string) error {
	oldest, err := number("oldest_writer", text)
	if err == nil && oldest > latest(migrations) {
		err = &formatError{fmt.Sprintf(
			"written by a newer version, format %d: this program knows formats up to %d; upgrade it",
			oldest, latest(migrations))}
	}
	return err
}

// older returns the error for a schema that is not migrated: it is too old, or
// [Existing] does not allow to create or to migrate it.
func older(format int) error {
	if format == 0 {
		return fmt.Errorf("it has no store yet: start the program that creates it, or name its schema: %w", fs.ErrNotExist)
	}
	return &formatError{fmt.Sprintf("written by an older version, format %d, and this program knows %d: "+
		"use the version of the program that writes it", format, latest(migrations))}
}

func number(key string, text *string) (int, error) {
	if text == nil {
		return 0, &formatError{fmt.Sprintf("retry_meta has no %s: restore a backup", key)}
	}
	n, err := strconv.Atoi(*text)
	if err != nil {
		return 0, &formatError{fmt.Sprintf("%s in retry_meta is %q and not a number: restore a backup", key, *text)}
	}
	return n, nil
}

// checkState reads the row of the statement state. It is executed when the
// transaction has locked what it needs, tables included: a migration that starts
// later waits for its end.
func (s *Store) checkState(row pgx.Row, now *time.Time) error {
	if err := s.checkOldest(row, now); err != nil {
		return err
	}
	*now = now.UTC()
	return nil
}

// checkOldest reads a row that ends with whether the settings are in force and with the
// oldest writer, if there is one.
func (s *Store) checkOldest(row pgx.Row, first ...any) error {
	var oldest string
	var set bool
	err := row.Scan(append(first, &set, &oldest)...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return checkWriter(nil)
	case err != nil:
		return err
	}
	return errors.Join(checkWriter(&oldest), s.checkSettings(set))
}

// upgrade applies the migrations that the schema does not have yet, in one
// transaction. It waits for other processes that do so, and for transactions that
// write.
func (s *Store) upgrade(ctx context.Context, c *pgxpool.Conn, migrations []migration) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := s.exclude(ctx, tx); err != nil {
			return err
		}
		format, err := s.format(ctx, tx)
		if err != nil {
			return err
		}
		schema := pgx.Identifier{s.schema}.Sanitize()
		if format == 0 {
			if err := s.createSchema(ctx, tx, schema); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "SET LOCAL search_path TO "+schema); err != nil {
			return err
		}
		if format > 0 {
			_, err := tx.Exec(ctx, "LOCK TABLE retry_run, retry_record, retry_step, retry_entry IN EXCLUSIVE MODE")
			if err != nil {
				return err
			}
		}
		for i := max(format-firstFormat+1, 0); i < len(migrations); i++ {
			if _, err := tx.Exec(ctx, migrations[i].sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("migration to format %d: %w", firstFormat+i, err)
			}
			if err := setMeta(ctx, tx, "oldest_writer", strconv.Itoa(migrations[i].oldestWriter)); err != nil {
				return err
			}
		}
		if format == 0 {
			if err := setMeta(ctx, tx, "incarnation", rand.Text()); err != nil {
				return err
			}
		}
		return setMeta(ctx, tx, "format", strconv.Itoa(max(format, latest(migrations))))
	})
}

// exclude waits until no other process migrates the schema or changes partitions.
func (s *Store) exclude(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", s.channel)
	return err
}

// createSchema creates the schema, unless an administrator has: that needs a
// privilege which the user may not have.
func (s *Store) createSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	var exists bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", s.schema).Scan(&exists)
	if err == nil && !exists {
		_, err = tx.Exec(ctx, "CREATE SCHEMA "+schema)
	}
	return err
}

func setMeta(ctx context.Context, tx pgx.Tx, key, value string) error {
	_, err := tx.Exec(ctx, `INSERT INTO retry_meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		key, value)
	return err
}

var errMonth = errors.New("a partition was missing")
