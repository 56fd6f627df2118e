package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file has the insertion of new runs, in one statement: see [storage.Insertion].

var _ storage.Inserter = (*Store)(nil)

// inserted are the values of the columns of a run that is inserted. Its time is that of
// the statement, since all runs of a statement have the same.
var inserted = []struct{ column, value string }{
	{"kind", `2`}, {"space", `$1`}, {"run", `k.run`}, {"id", `''`}, {"version", `1`}, {"status", `1`}, {"owner", `''`},
	{"fence", `0`}, {"handler", `$2`}, {"due", startDue}, {"attention", `false`},
	{"bucket", `date_trunc('month', statement_timestamp() AT TIME ZONE 'UTC')::date`}, {"body", `$6`}, {"label", `''`},
	{"priority", `$3`}, {"created", `statement_timestamp()`}, {"awaited", `false`},
	{"deadline", `CASE WHEN $5::bigint > 0 THEN ` + startDue + ` + $5 * interval '1 us' END`}, {"input", `k.input`},
}

// startDue is when a run is due: greatest ignores NULL.
const startDue = `greatest($4::timestamptz, statement_timestamp())`

// insertSQL returns the statement of Insert, under a further condition. Its row has the
// number of the runs that it has inserted and, if those are not all, their ids as JSON, and
// whether the conditions are met. Workers are notified in the transaction.
func insertSQL(runs, meta, condition string) string {
	var columns, values []string
	for _, c := range inserted {
		columns, values = append(columns, c.column), append(values, c.value)
	}
	return `WITH may AS MATERIALIZED (SELECT ` + isKnown(meta) + ` AS known, ` + condition + ` AS here),
new AS (INSERT INTO ` + runs + ` (` + strings.Join(columns, ", ") + `)
	SELECT ` + strings.Join(values, ", ") + ` FROM unnest($7::text[], $8::bytea[]) AS k (run, input)
	WHERE (SELECT known AND here FROM may) ON CONFLICT DO NOTHING RETURNING run, due)
SELECT count(*), coalesce(CASE WHEN count(*) < cardinality($7) THEN json_agg(run)::text END, ''),
	(SELECT known FROM may), (SELECT here FROM may),
	CASE WHEN $9::text <> '' AND max(due) <= statement_timestamp() THEN pg_notify($9::text, $1)::text END
FROM new`
}

// insertArguments are the arguments of insertSQL. The runs are inserted in the order of
// their ids, as other statements lock them: one that inserts the same run waits.
func (s *Store) insertArguments(n *storage.Insertion) ([]any, error) {
	start, err := toTime(n.Start)
	if err != nil {
		return nil, err
	}
	timeout := n.Timeout.Microseconds()
	if n.Timeout > 0 {
		timeout = max(timeout, 1)
	}
	channel := s.channel
	if len(n.Space) >= maxPayload {
		channel = ""
	}
	ids, inputs := make([]string, len(n.Runs)), make([][]byte, len(n.Runs))
	for i, at := range byID(n.Runs) {
		ids[i], inputs[i] = n.Runs[at].Run, n.Runs[at].Input
	}
	return []any{n.Space, n.Handler, n.Priority, start, timeout, n.Body, ids, inputs, channel}, nil
}

// byID returns the indexes of runs in the order of their ids.
func byID(runs []storage.NewRun) []int {
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(runs[i].Run, runs[j].Run) })
	return order
}

// An insertion is the row of the statement.
type insertion struct {
	count       int
	ids         string // JSON, or "": all
	known, here bool
}

// read reads the row.
func (i *insertion) read(from row) error {
	var told *string
	return from.Scan(&i.count, &i.ids, &i.known, &i.here, &told)
}

// of reports which of some runs were inserted.
func (i *insertion) of(runs []storage.NewRun) ([]bool, error) {
	done := make([]bool, len(runs))
	if i.count == len(runs) {
		for at := range done {
			done[at] = true
		}
		return done, nil
	}
	if i.count == 0 {
		return done, nil
	}
	var ids []string
	if err := json.Unmarshal([]byte(i.ids), &ids); err != nil {
		return nil, err
	}
	isNew := make(map[string]bool, len(ids))
	for _, id := range ids {
		isNew[id] = true
	}
	for at, run := range runs {
		done[at] = isNew[run.Run]
	}
	return done, nil
}

// Insert implements [storage.Inserter], in one round trip.
func (s *Store) Insert(ctx context.Context, n storage.Insertion) ([]bool, error) {
	args, err := s.insertArguments(&n)
	if err != nil {
		return nil, s.fail(ctx, err)
	}
	var result insertion
	b := &pgx.Batch{}
	s.set(b, false)
	b.Queue(s.texts.insert, args...).QueryRow(func(from pgx.Row) error { return result.read(from) })
	if err := s.statement(ctx, "", b); err != nil {
		return nil, err
	}
	return result.of(n.Runs)
}
