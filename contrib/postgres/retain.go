package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// maintainEvery is how often the partitions are looked after.
	maintainEvery = time.Hour
	// fewLeft is the number of rows of a partition up to which they are moved, so that
	// the partition can be dropped.
	fewLeft = 10_000
)

// maintain looks after the partitions until the store is closed. What fails is done
// the next time: an update creates the partition that it needs.
func (s *Store) maintain() {
	ticker := time.NewTicker(maintainEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		if c, err := s.acquire(s.ctx, s.maintenance); err == nil {
			if err := s.prepareMonths(s.ctx, c); err == nil {
				_ = s.retain(s.ctx, c)
			}
			c.Release()
		}
	}
}

// retain drops the partitions of the months before the last one that are empty. An
// engine deletes the steps of a run when it has ended and its time has passed: see
// [durable.Retention]. The runs that are left in an old month, such as those that are
// still open and those with dead letters, move to the current month if they are few:
// a partition of rows that are nearly all dead would not give its space back.
func (s *Store) retain(ctx context.Context, c *pgxpool.Conn) error {
	var now time.Time
	if err := c.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return err
	}
	current := monthOf(now.UTC())
	months, err := s.months(ctx, c)
	if err != nil {
		return err
	}
	for _, month := range months {
		if !month.Before(current.AddDate(0, -1, 0)) {
			continue
		}
		left, err := s.left(ctx, c, month)
		if err == nil && len(left) > 0 && len(left) <= fewLeft {
			err = s.moveRuns(ctx, c, left, current)
		}
		if err == nil && len(left) <= fewLeft {
			err = s.dropMonth(ctx, c, month)
		}
		if err != nil {
			return fmt.Errorf("month %s: %w", month.Format("2006-01"), err)
		}
	}
	return nil
}

// months returns the months that have partitions.
func (s *Store) months(ctx context.Context, c *pgxpool.Conn) (months []time.Time, err error) {
	parent := partitioned[0].name
	rows, err := c.Query(ctx, `SELECT p.relname FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhrelid
WHERE i.inhparent = to_regclass($1) ORDER BY p.relname`, pgx.Identifier{s.schema, parent}.Sanitize())
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		// Partitions that somebody else has made have other names.
		if month, err := time.Parse("_200601", strings.TrimPrefix(name, parent)); err == nil {
			months = append(months, month)
		}
	}
	return months, err
}

// A runOf is a run of a namespace.
type runOf struct{ space, run string }

// left returns the runs of a month for each of its rows, up to fewLeft and one more.
func (s *Store) left(ctx context.Context, c *pgxpool.Conn, month time.Time) ([]runOf, error) {
	var parts []string
	for _, t := range partitioned {
		name := pgx.Identifier{s.schema, partition(t.name, month)}.Sanitize()
		parts = append(parts, "(SELECT space, run FROM "+name+" LIMIT $1)")
	}
	rows, err := c.Query(ctx, strings.Join(parts, " UNION ALL ")+" LIMIT $1", fewLeft+1)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r runOf, err error) {
		return r, row.Scan(&r.space, &r.run)
	})
}

// moveRuns moves runs to another month, each in a transaction.
func (s *Store) moveRuns(ctx context.Context, c *pgxpool.Conn, runs []runOf, month time.Time) error {
	moved := map[runOf]bool{}
	for _, r := range runs {
		if moved[r] {
			continue
		}
		moved[r] = true
		if err := s.moveRun(ctx, c, r, month); err != nil {
			return err
		}
	}
	return nil
}

// moveRun moves the records of a run and their entries to another month. It locks
// the run first, as everything does that writes its steps, and then the others in the
// order of their kinds.
func (s *Store) moveRun(ctx context.Context, c *pgxpool.Conn, r runOf, month time.Time) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		for _, text := range s.texts.moveRun {
			if _, err := tx.Exec(ctx, text, r.space, r.run, month); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropMonth drops the partitions of a month if they are empty. Updates wait for it,
// and it waits for theirs, but not for long: then the partition is dropped the next
// time.
func (s *Store) dropMonth(ctx context.Context, c *pgxpool.Conn, month time.Time) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := s.exclude(ctx, tx); err != nil {
			return err
		}
		var parents, children, empty []string
		for _, t := range partitioned {
			child := pgx.Identifier{s.schema, partition(t.name, month)}.Sanitize()
			parents = append(parents, pgx.Identifier{s.schema, t.name}.Sanitize())
			children = append(children, child)
			empty = append(empty, "NOT EXISTS (SELECT FROM "+child+")")
		}
		if missing, err := s.missing(ctx, tx, []time.Time{month}); err != nil || len(missing) > 0 {
			return err
		}
		for _, text := range []string{
			"SET LOCAL lock_timeout = '100ms'",
			"LOCK TABLE " + strings.Join(parents, ", ") + " IN ACCESS EXCLUSIVE MODE",
		} {
			if _, err := tx.Exec(ctx, text); err != nil {
				return err
			}
		}
		var drop bool
		if err := tx.QueryRow(ctx, "SELECT "+strings.Join(empty, " AND ")).Scan(&drop); err != nil || !drop {
			return err
		}
		_, err := tx.Exec(ctx, "DROP TABLE "+strings.Join(children, ", "))
		return err
	})
}
