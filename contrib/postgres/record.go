package postgres

import (
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// table returns the statements for the records of a kind.
func (t *texts) table(kind storage.Kind) *table {
	switch kind {
	case storage.KindRun:
		return &t.runs
	case storage.KindStep:
		return &t.steps
	}
	return &t.records
}

// A row is a row of pgx or of database/sql.
type row interface{ Scan(into ...any) error }

// scan reads a row that ends with the columns of a record: of a run, if the kind of r
// says so.
func scan(from row, r *storage.Record, first ...any) error {
	var version, fence int64
	var status int16
	var due, created, claimed, ended, deadline pgtype.Timestamptz
	var bucket pgtype.Date
	into := append(first,
		&version, &status, &r.Owner, &fence, &r.Handler, &due, &r.Attention, &bucket, &r.Body, &r.Label, &r.Priority,
		&created)
	if r.Key.Kind == storage.KindRun {
		into = append(into, &r.Awaited, &claimed, &ended, &deadline, &r.Input, &r.Result)
	}
	err := from.Scan(into...)
	r.Version, r.Status, r.Fence = uint64(version), storage.Status(status), uint64(fence)
	r.Due, r.Created, r.Bucket = fromTime(due), fromTime(created), bucket.Time
	r.Claimed, r.Ended, r.Deadline = fromTime(claimed), fromTime(ended), fromTime(deadline)
	return err
}

// scanBrief is scan for briefColumns.
func scanBrief(from row, r *storage.Record, first ...any) error {
	var version int64
	var status int16
	err := from.Scan(append(first, &version, &status, &r.Body)...)
	r.Version, r.Status = uint64(version), storage.Status(status)
	return err
}

// arguments of the statements for one record.
func arguments(r *storage.Record) ([]any, error) {
	times := [...]time.Time{r.Due, r.Created, r.Claimed, r.Ended, r.Deadline}
	var at [len(times)]pgtype.Timestamptz
	for i, t := range times {
		var err error
		if at[i], err = toTime(t); err != nil {
			return nil, err
		}
	}
	bucket, err := toMonth(r.Bucket)
	if err != nil {
		return nil, err
	}
	body := r.Body
	if r.Key.Kind != storage.KindRun {
		body = notNil(body)
	}
	args := []any{
		int16(r.Key.Kind), r.Key.Space, r.Key.Run, r.Key.ID, int64(r.Version), int16(r.Status),
		r.Owner, int64(r.Fence), r.Handler, at[0], r.Attention, bucket, body, r.Label, r.Priority, at[1],
	}
	if r.Key.Kind == storage.KindRun {
		args = append(args, r.Awaited, at[2], at[3], at[4], r.Input, r.Result)
	}
	return args, nil
}

// entryArguments returns the arguments of the statements for one entry.
func entryArguments(e *storage.Entry) ([]any, error) {
	at, err := toTime(e.At)
	if err != nil {
		return nil, err
	}
	bucket, err := toMonth(e.Bucket)
	if err != nil {
		return nil, err
	}
	return []any{
		int16(e.Step.Kind), e.Step.Space, e.Step.Run, e.Step.ID, int64(e.Attempt), int64(e.Part),
		at, notNil(e.Body), e.Result, bucket,
	}, nil
}

// keyArguments returns the arguments of the statements for one key.
func keyArguments(k storage.Key) []any { return []any{int16(k.Kind), k.Space, k.Run, k.ID} }

// arrays returns the columns of rows, for the statements with unnest.
func arrays(rows [][]any) []any {
	all := make([]any, len(rows[0]))
	for i := range all {
		switch rows[0][i].(type) {
		case int16:
			all[i] = valuesOf[int16](rows, i)
		case int64:
			all[i] = valuesOf[int64](rows, i)
		case string:
			all[i] = valuesOf[string](rows, i)
		case bool:
			all[i] = valuesOf[bool](rows, i)
		case []byte:
			all[i] = valuesOf[[]byte](rows, i)
		case pgtype.Timestamptz:
			all[i] = valuesOf[pgtype.Timestamptz](rows, i)
		case pgtype.Date:
			all[i] = valuesOf[pgtype.Date](rows, i)
		}
	}
	return all
}

func valuesOf[T any](rows [][]any, i int) []T {
	values := make([]T, len(rows))
	for n, row := range rows {
		values[n] = row[i].(T)
	}
	return values
}

// same reports whether old and r differ at most in their version, and in the
// nanoseconds that PostgreSQL does not keep.
func same(old, r *storage.Record) bool {
	before := [...]time.Time{old.Due, old.Created, old.Claimed, old.Ended, old.Deadline}
	for i, t := range [...]time.Time{r.Due, r.Created, r.Claimed, r.Ended, r.Deadline} {
		if kept, err := toTime(t); err != nil || !before[i].Equal(fromTime(kept)) {
			return false
		}
	}
	return old.Version > 0 && old.Status == r.Status && old.Owner == r.Owner && old.Fence == r.Fence &&
		old.Handler == r.Handler && old.Attention == r.Attention && old.Label == r.Label &&
		old.Priority == r.Priority && old.Awaited == r.Awaited && old.Bucket.Equal(r.Bucket) &&
		string(old.Body) == string(r.Body) && string(old.Input) == string(r.Input) && string(old.Result) == string(r.Result)
}

// history returns a page of the entries of a step, and the cursor of the next page
// or "".
func (s *Store) history(b *pgx.Batch, step storage.Key, from storage.Cursor, page *entryPage) error {
	attempt, part := int64(math.MinInt64), int64(math.MinInt64)
	if from != "" {
		if _, err := fmt.Sscanf(string(from), "%d.%d", &attempt, &part); err != nil {
			return fmt.Errorf("%.100q is not a cursor of a history", string(from))
		}
	}
	if !isTextKey(step) {
		return nil
	}
	args := append(keyArguments(step), attempt, part, storage.MaxPage+1)
	b.Queue(s.texts.history, args...).Query(func(rows pgx.Rows) error {
		page.entries = nil
		for rows.Next() {
			e := storage.Entry{Step: step}
			var at pgtype.Timestamptz
			var bucket pgtype.Date
			if err := rows.Scan(&e.Attempt, &e.Part, &at, &bucket, &e.Body, &e.Result); err != nil {
				return err
			}
			e.At, e.Bucket = fromTime(at), bucket.Time
			page.entries = append(page.entries, e)
		}
		return rows.Err()
	})
	return nil
}

// following queues the statement for at most limit entries that follow one.
func (s *Store) following(b *pgx.Batch, after storage.Entry, limit int, page *entryPage) error {
	if !isTextKey(after.Step) {
		return fmt.Errorf("the key %.100q is not valid UTF-8, or has a NUL byte", after.Step.String())
	}
	args := append(keyArguments(after.Step), after.Attempt, after.Part, pageSize(limit))
	b.Queue(s.texts.entries, args...).Query(func(rows pgx.Rows) error {
		page.entries = nil
		for rows.Next() {
			e := storage.Entry{Step: after.Step}
			var at pgtype.Timestamptz
			var bucket pgtype.Date
			if err := rows.Scan(&e.Step.Run, &e.Step.ID, &e.Attempt, &e.Part, &at, &bucket, &e.Body); err != nil {
				return err
			}
			e.At, e.Bucket = fromTime(at), bucket.Time
			page.entries = append(page.entries, e)
		}
		return rows.Err()
	})
	return nil
}

type entryPage struct{ entries []storage.Entry }

// cut returns the entries of a page and the cursor of the next.
func (p *entryPage) cut() ([]storage.Entry, storage.Cursor) {
	if len(p.entries) <= storage.MaxPage {
		return p.entries, ""
	}
	last := p.entries[storage.MaxPage-1]
	return p.entries[:storage.MaxPage], storage.Cursor(fmt.Sprintf("%d.%d", last.Attempt, last.Part))
}
