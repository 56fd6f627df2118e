package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file has the statements that need no locks before them: each is a transaction, and
// one round trip. READ COMMITTED evaluates their conditions again for a run that another
// transaction has changed while they waited for it.

var (
	_ storage.Swapper = (*Store)(nil)
	_ storage.Claimer = (*Store)(nil)
)

// constant are the columns that a swap does not write: see [storage.Swaps].
var constant = []string{"kind", "space", "run", "id", "handler", "bucket", "created", "input", "label", "priority"}

// swapped are the columns of the key, and then what a swap writes.
var swapped = append(keyColumns[:len(keyColumns):len(keyColumns)], slices.DeleteFunc(slices.Clone(runColumns),
	func(c column) bool { return slices.Contains(constant, c.name) })...)

// mayWrite returns a condition: the settings are in force, and this program may write the
// schema.
func mayWrite(meta string) string { return isSet + ` AND ` + isKnown(meta) }

// isKnown returns a condition: this program may write the schema. A migration has locked
// the tables before it says otherwise.
func isKnown(meta string) string {
	return `(SELECT value::int FROM ` + meta + ` WHERE key = 'oldest_writer') <= ` + strconv.Itoa(latest(migrations))
}

// swapSQL returns the statement of Swap. Its last argument is the time of the decisions.
func swapSQL(runs, meta string) string {
	var set []string
	for _, c := range swapped[len(keyColumns):] {
		set = append(set, c.name+" = k."+c.name)
	}
	return fmt.Sprintf(`UPDATE %s AS r SET %s FROM %s AS k (%s)
WHERE %s AND r.version = k.version - 1
AND clock_timestamp() BETWEEN $%d::timestamptz - interval '%[7]d us' AND $%[6]d::timestamptz + interval '%[7]d us'
AND %[8]s RETURNING r.space, r.run`,
		runs, strings.Join(set, ", "), unnest(swapped), names(swapped), qualified("r", isOf), len(swapped)+1,
		storage.MaxSkew.Microseconds(), mayWrite(meta))
}

// Swap implements [storage.Swapper].
func (s *Store) Swap(ctx context.Context, now time.Time, runs []storage.Record) ([]bool, error) {
	type id struct{ space, run string }
	at := make(map[id]int, len(runs))
	rows := make([][]any, 0, len(runs))
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return runs[i].Key.Compare(runs[j].Key) }) // as locks are taken
	for _, i := range order {
		r := &runs[i]
		args, err := arguments(r)
		if err != nil {
			return nil, s.fail(ctx, err)
		}
		rows = append(rows, swappedOf(args))
		at[id{r.Key.Space, r.Key.Run}] = i
	}
	b, done := &pgx.Batch{}, make([]bool, len(runs))
	s.set(b, false)
	b.Queue(s.texts.swap, append(arrays(rows), now)...).Query(func(found pgx.Rows) error {
		for found.Next() {
			var k id
			if err := found.Scan(&k.space, &k.run); err != nil {
				return err
			}
			done[at[k]] = true
		}
		return found.Err()
	})
	return done, s.statement(ctx, "", b)
}

// swappedOf returns the arguments of a run that Swap writes.
func swappedOf(args []any) []any {
	some := args[:len(keyColumns):len(keyColumns)]
	for i, c := range runColumns {
		if !slices.Contains(constant, c.name) {
			some = append(some, args[len(keyColumns)+i])
		}
	}
	return some
}

// claimSQL returns the statement of ClaimNew. It finds runs as other claims do: see
// querySQL. What it has locked it finds again by their places: a plan that was made
// while the table was small would compare them with all runs. The lock of the record of the
// engine keeps it from being deleted.
func claimSQL(t *table, runs, records, meta string) string {
	deadline := func(alias string) string {
		return `coalesce(` + alias + `deadline, CASE WHEN $5::bigint > 0 THEN ` + alias + `created + $5 * interval '1 us' END)`
	}
	return `WITH RECURSIVE ` + t.levels + `,
due AS (SELECT due.* FROM levels CROSS JOIN LATERAL (
	SELECT ctid AS place, status = 1 AND owner = '' AND fence = 0 AND body IS NULL
		AND coalesce(` + deadline("") + ` > statement_timestamp(), true) AS fresh
	FROM ` + runs + ` WHERE ` + isDue + ` AND due <= statement_timestamp() AND priority = levels.n
	ORDER BY due, run, id LIMIT $4 FOR UPDATE SKIP LOCKED) AS due LIMIT $4),
self AS (SELECT id FROM ` + records + ` WHERE kind = 1 AND space = $2 AND run = '' AND id = $6 FOR KEY SHARE),
claimed AS (UPDATE ` + runs + ` AS r SET version = r.version + 1, owner = self.id, fence = 1, due = NULL, body = $7,
	claimed = clock_timestamp(), deadline = ` + deadline("r.") + `
FROM self WHERE $1::smallint = 2 AND r.ctid = ANY (ARRAY(SELECT place FROM due WHERE fresh)) AND ` + mayWrite(meta) + `
RETURNING clock_timestamp() AS now, r.run, r.id, ` + namesOf("r.", runColumns) + `)
SELECT looked.at, claimed.* FROM (SELECT count(*) AS at FROM due) AS looked LEFT JOIN claimed ON true`
}

// ClaimNew implements [storage.Claimer], in one round trip.
func (s *Store) ClaimNew(ctx context.Context, c storage.NewClaim) (claimed storage.NewlyClaimed, err error) {
	b := &pgx.Batch{}
	s.set(b, false)
	for _, n := range c.Of {
		if !isText(n.Handler) || !isTextKey(c.Owner) || n.Limit <= 0 {
			continue
		}
		timeout := n.Timeout.Microseconds()
		if n.Timeout > 0 {
			timeout = max(timeout, 1)
		}
		b.Queue(s.texts.claim, int16(storage.KindRun), c.Owner.Space, n.Handler, n.Limit, timeout, c.Owner.ID, n.Body).
			Query(func(rows pgx.Rows) error { return scanClaimed(rows, &n, c.Owner.Space, &claimed) })
	}
	if err = s.statement(ctx, c.Incarnation, b); err != nil {
		return storage.NewlyClaimed{}, err
	}
	claimed.Now = claimed.Now.UTC()
	return claimed, nil
}

// scanClaimed reads the rows of the statement of a claim: one for each run, or one without
// a run.
func scanClaimed(rows pgx.Rows, n *storage.NewRuns, space string, claimed *storage.NewlyClaimed) error {
	looked := 0
	var of []storage.Record
	for rows.Next() {
		if rows.RawValues()[1] == nil {
			only := make([]any, len(rows.FieldDescriptions()))
			only[0] = &looked
			if err := rows.Scan(only...); err != nil {
				return err
			}
			continue
		}
		r := storage.Record{Key: storage.Key{Kind: storage.KindRun, Space: space}}
		if err := scan(rows, &r, &looked, &claimed.Now, &r.Key.Run, &r.Key.ID); err != nil {
			return err
		}
		of = append(of, r)
	}
	slices.SortFunc(of, func(a, b storage.Record) int { // by the time since which they were due
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), a.Key.Compare(b.Key))
	})
	claimed.Runs = append(claimed.Runs, of...)
	claimed.Left = claimed.Left || looked == n.Limit || looked > len(of)
	return rows.Err()
}

// statement sends a batch with one statement that writes, which is its transaction. It is
// not sent if the incarnation of the server is not the given one, unless that is "". What
// was refused is not repeated: the caller uses an update instead.
func (s *Store) statement(ctx context.Context, incarnation string, b *pgx.Batch) error {
	patient, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	c, err := s.acquire(patient, s.pool)
	if err != nil {
		return s.fail(ctx, err)
	}
	defer c.Release()
	if incarnation != "" && s.server.Load().incarnation != incarnation {
		return nil
	}
	// The end of ctx does not end a commit: nobody would know what has become of it.
	patient, cancel = context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if err = s.trip(patient, c, b); err == nil {
		err = unreplicated(c.Conn().PgConn())
	}
	if _, byServer := errors.AsType[*pgconn.PgError](err); err != nil && !(byServer && isRefused(err)) {
		err = &unknownError{err} // perhaps only the rows could not be read
	}
	return s.fail(ctx, err)
}
