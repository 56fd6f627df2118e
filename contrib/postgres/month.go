package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// partitioned are the tables that have a partition for each month, and the options
// of these. Steps are updated often.
//
// The runs are not among them. A partition of runs could be dropped when its month has
// passed, but ids have to stay unique, so each start would write the id to a register, too,
// which is half as much WAL again; and each claim and each end would look at all
// partitions: with two of them, the server took a fifth to a half more time for a job.
var partitioned = []struct{ name, options string }{
	{"retry_step", " WITH (fillfactor = 70)"},
	{"retry_entry", ""},
}

// partition returns the name of a partition.
func partition(table string, month time.Time) string { return table + month.Format("_200601") }

// prepareMonths creates the partitions of this month and the next.
func (s *Store) prepareMonths(ctx context.Context, c *pgxpool.Conn) error {
	var now time.Time
	if err := c.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return err
	}
	month := monthOf(now.UTC())
	return s.createMonths(ctx, c, []time.Time{month, month.AddDate(0, 1, 0)})
}

// createMonths creates the partitions of some months, except those that exist. It
// waits neither for updates nor do they wait for it.
func (s *Store) createMonths(ctx context.Context, c *pgxpool.Conn, months []time.Time) error {
	missing, err := s.missing(ctx, c, months)
	if err != nil || len(missing) == 0 {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := s.exclude(ctx, tx); err != nil {
			return err
		}
		missing, err := s.missing(ctx, tx, months) // by now
		if err != nil {
			return err
		}
		for _, month := range missing {
			for _, t := range partitioned {
				if err := s.createPartition(ctx, tx, t.name, t.options, month); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// missing returns the months that have no partitions.
func (s *Store) missing(ctx context.Context, c querier, months []time.Time) (missing []time.Time, err error) {
	for _, month := range months {
		exists, err := s.exists(ctx, c, partition(partitioned[0].name, month))
		if err != nil {
			return nil, err
		}
		if !exists {
			missing = append(missing, month)
		}
	}
	return missing, nil
}

// createPartition creates a table and attaches it, which locks less than CREATE TABLE
// … PARTITION OF: updates go on.
func (s *Store) createPartition(ctx context.Context, tx pgx.Tx, table, options string, month time.Time) error {
	parent := pgx.Identifier{s.schema, table}.Sanitize()
	child := pgx.Identifier{s.schema, partition(table, month)}.Sanitize()
	for _, text := range []string{
		"CREATE TABLE " + child + " (LIKE " + parent + " INCLUDING DEFAULTS INCLUDING CONSTRAINTS)" + options,
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')", parent, child,
			month.Format(time.DateOnly), month.AddDate(0, 1, 0).Format(time.DateOnly)),
	} {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// addMonths creates the partitions that w needs, if err is about a missing one: that
// of an old month which was dropped, or of one far ahead. It returns an error after
// which the update is repeated.
func (s *Store) addMonths(ctx context.Context, c *pgxpool.Conn, err error, w storage.Writes) error {
	if state(err) != "23514" { // check_violation: the tables have no other checks
		return err
	}
	var months []time.Time
	for _, r := range w.Put {
		months = append(months, monthOf(r.Bucket.UTC()))
	}
	for _, e := range w.Add {
		months = append(months, monthOf(e.Bucket.UTC()))
	}
	slices.SortFunc(months, time.Time.Compare)
	if err := s.createMonths(ctx, c, slices.Compact(months)); err != nil {
		return err
	}
	return errMonth
}
