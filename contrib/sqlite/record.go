package sqlite

import (
	"database/sql"
	"fmt"
	"math"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable"
)

const (
	columns = `kind, space, run, id, version, status, owner, fence, handler, due, attention, bucket, body`

	getSQL = `SELECT ` + columns + ` FROM retry_record WHERE kind = ? AND space = ? AND run = ? AND id = ?`

	putSQL = `INSERT INTO retry_record (` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET version = excluded.version, status = excluded.status, owner = excluded.owner,
	fence = excluded.fence, handler = excluded.handler, due = excluded.due, attention = excluded.attention,
	bucket = excluded.bucket, body = excluded.body`

	deleteSQL        = `DELETE FROM retry_record WHERE kind = ? AND space = ? AND run = ? AND id = ?`
	deleteEntriesSQL = `DELETE FROM retry_entry WHERE kind = ? AND space = ? AND run = ? AND id = ?`

	addSQL = `INSERT INTO retry_entry (kind, space, run, id, attempt, part, at, bucket, body, result)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	historySQL = `SELECT attempt, part, at, bucket, body, result FROM retry_entry
WHERE kind = ? AND space = ? AND run = ? AND id = ? AND (attempt, part) > (?, ?) ORDER BY attempt, part LIMIT ?`
)

// scanRecord reads a row of columns.
func scanRecord(rows *sql.Rows) (r durable.Record, err error) {
	var owner sql.NullString
	var due, bucket sql.NullInt64
	err = rows.Scan(&r.Key.Kind, &r.Key.Space, &r.Key.Run, &r.Key.ID, &r.Version, &r.Status,
		&owner, &r.Fence, &r.Handler, &due, &r.Attention, &bucket, &r.Body)
	r.Owner, r.Due, r.Bucket = owner.String, fromNanos(due), fromNanos(bucket)
	return r, err
}

// get returns the records of keys, in their order.
func (c *session) get(keys []durable.Key) ([]durable.Record, error) {
	records := make([]durable.Record, len(keys))
	for i, key := range keys {
		records[i].Key = key
		err := c.query(func(rows *sql.Rows) (err error) {
			records[i], err = scanRecord(rows)
			return err
		}, getSQL, key.Kind, key.Space, key.Run, key.ID)
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

func (c *session) put(r durable.Record) error {
	due, err := toNanos(r.Due)
	if err != nil {
		return err
	}
	bucket, err := toNanos(r.Bucket)
	if err != nil {
		return err
	}
	return c.exec(putSQL, r.Key.Kind, r.Key.Space, r.Key.Run, r.Key.ID, int64(r.Version), r.Status,
		orNull(r.Owner), int64(r.Fence), r.Handler, due, r.Attention, bucket, readable(r.Body))
}

func (c *session) delete(key durable.Key) error {
	if err := c.exec(deleteSQL, key.Kind, key.Space, key.Run, key.ID); err != nil {
		return err
	}
	return c.exec(deleteEntriesSQL, key.Kind, key.Space, key.Run, key.ID)
}

// add adds an entry, unless it exists.
func (c *session) add(e durable.Entry) error {
	at, err := toNanos(e.At)
	if err != nil {
		return err
	}
	bucket, err := toNanos(e.Bucket)
	if err != nil {
		return err
	}
	var result any
	if e.Result != nil {
		result = readable(e.Result)
	}
	return c.exec(addSQL, e.Step.Kind, e.Step.Space, e.Step.Run, e.Step.ID, e.Attempt, e.Part,
		at, bucket, readable(e.Body), result)
}

// same reports whether writing r over old would change nothing but the version.
func same(old, r durable.Record) bool {
	return old.Version > 0 && old.Status == r.Status && old.Owner == r.Owner && old.Fence == r.Fence &&
		old.Handler == r.Handler && old.Due.Equal(r.Due) && old.Attention == r.Attention &&
		old.Bucket.Equal(r.Bucket) && string(old.Body) == string(r.Body)
}

// list returns a page of records.
func (c *session) list(q durable.Query) ([]durable.Record, durable.Cursor, error) {
	text, args, err := querySQL(q)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(q.Limit)
	var records []durable.Record
	err = c.query(func(rows *sql.Rows) error {
		r, err := scanRecord(rows)
		records = append(records, r)
		return err
	}, text, append(args, limit+1)...)
	if err != nil || len(records) <= limit {
		return records, "", err
	}
	last := records[limit-1].Key
	return records[:limit], newCursor(last.Run, last.ID), nil
}

// history returns a page of the entries of a step.
func (c *session) history(step durable.Key, from durable.Cursor) ([]durable.Entry, durable.Cursor, error) {
	attempt, part := math.MinInt, math.MinInt
	if from != "" {
		if _, err := fmt.Sscanf(string(from), "%d.%d", &attempt, &part); err != nil {
			return nil, "", errCursor
		}
	}
	var entries []durable.Entry
	err := c.query(func(rows *sql.Rows) error {
		e := durable.Entry{Step: step}
		var at, bucket sql.NullInt64
		err := rows.Scan(&e.Attempt, &e.Part, &at, &bucket, &e.Body, &e.Result)
		e.At, e.Bucket = fromNanos(at), fromNanos(bucket)
		entries = append(entries, e)
		return err
	}, historySQL, step.Kind, step.Space, step.Run, step.ID, attempt, part, durable.MaxPage+1)
	if err != nil || len(entries) <= durable.MaxPage {
		return entries, "", err
	}
	last := entries[durable.MaxPage-1]
	return entries[:durable.MaxPage], durable.Cursor(fmt.Sprintf("%d.%d", last.Attempt, last.Part)), nil
}

// querySQL returns the statement of a query, which ends with the limit, and its
// arguments. Its text depends only on which fields are set. It names the index,
// because SQLite has no statistics to choose one by.
func querySQL(q durable.Query) (string, []any, error) {
	index := "" // the primary key
	where := []string{"kind = ?", "space = ?"}
	args := []any{q.Kind, q.Space}
	and := func(condition string, values ...any) {
		where = append(where, condition)
		args = append(args, values...)
	}
	if q.Run != "" {
		and("run = ?", q.Run)
	}
	if !q.DueBy.IsZero() {
		due, err := toNanos(q.DueBy)
		if err != nil {
			return "", nil, err
		}
		and("due <= ?", due)
		if q.Run == "" {
			index = "INDEXED BY retry_due"
		}
	}
	if q.Owner != "" {
		and("owner = ?", q.Owner)
		index = "INDEXED BY retry_owner"
	}
	if q.Attention {
		and("attention <> 0")
		index = "INDEXED BY retry_attention"
	}
	if len(q.Handlers) > 0 {
		and("handler IN (SELECT value FROM json_each(?))", jsonList(q.Handlers))
	}
	if len(q.Status) > 0 {
		numbers := make([]int, len(q.Status)) // a status is text in JSON
		for i, status := range q.Status {
			numbers[i] = int(status)
		}
		and("status IN (SELECT value FROM json_each(?))", jsonList(numbers))
	}
	if q.From != "" {
		run, id, err := parseCursor(q.From)
		if err != nil {
			return "", nil, err
		}
		if q.Run != "" {
			and("id > ?", id)
		} else {
			and("(run, id) > (?, ?)", run, id)
		}
	}
	return "SELECT " + columns + " FROM retry_record " + index + " WHERE " + strings.Join(where, " AND ") +
		" ORDER BY run, id LIMIT ?", args, nil
}
