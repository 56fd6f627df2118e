package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

const (
	columns    = `run, id, version, status, body, owner, fence, handler, due, attention, bucket, label, priority, created`
	runColumns = columns + `, awaited, claimed, ended, deadline, input, result`

	// briefColumns are what a query with Brief reads of records. As a BLOB, a body is copied
	// once.
	briefColumns = `run, ` + briefOfStep
	briefOfRun   = `NULL, ` + briefOfStep // of a run that is known
	briefOfStep  = `id, version, status, CAST(body AS BLOB)`

	getSQL    = `SELECT ` + columns + ` FROM retry_record WHERE kind = ? AND space = ? AND run = ? AND id = ?`
	getRunSQL = `SELECT ` + runColumns + ` FROM retry_record WHERE kind = ? AND space = ? AND run = ? AND id = ?`

	putSQL = `INSERT INTO retry_record (kind, space, ` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)` +
		onConflict
	putRunSQL = `INSERT INTO retry_record (kind, space, ` + runColumns + `)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)` + onConflict + `,
	awaited = excluded.awaited, claimed = excluded.claimed, ended = excluded.ended, deadline = excluded.deadline,
	input = excluded.input, result = excluded.result`
	onConflict = `
ON CONFLICT DO UPDATE SET version = excluded.version, status = excluded.status, owner = excluded.owner,
	fence = excluded.fence, handler = excluded.handler, due = excluded.due, attention = excluded.attention,
	bucket = excluded.bucket, body = excluded.body, label = excluded.label,
	priority = excluded.priority, created = excluded.created`

	nextPrioritySQL = `SELECT priority FROM retry_record INDEXED BY retry_handler WHERE kind = ? AND space = ?
	AND handler = ? AND handler <> '' AND due IS NOT NULL AND priority < ? ORDER BY priority DESC LIMIT 1`

	deleteSQL        = `DELETE FROM retry_record WHERE kind = ? AND space = ? AND run = ? AND id = ?`
	deleteEntriesSQL = `DELETE FROM retry_entry WHERE kind = ? AND space = ? AND run = ? AND id = ?`
	clearSQL         = `DELETE FROM retry_record` + ofRuns
	clearEntriesSQL  = `DELETE FROM retry_entry` + ofRuns
	ofRuns           = ` WHERE kind = ? AND space = ? AND run IN (SELECT value FROM json_each(?))`

	addSQL = `INSERT INTO retry_entry (kind, space, run, id, attempt, part, at, bucket, body, result)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	historySQL = `SELECT attempt, part, at, bucket, body, result FROM retry_entry
WHERE kind = ? AND space = ? AND run = ? AND id = ? AND (attempt, part) > (?, ?) ORDER BY attempt, part LIMIT ?`

	entriesSQL = `SELECT attempt, part, at, bucket, body, NULL, run, id FROM retry_entry
WHERE kind = ? AND space = ? AND (run, id, attempt, part) > (?, ?, ?, ?) ORDER BY run, id, attempt, part LIMIT ?`
)

// columnsOf returns the columns of the records of a kind.
func columnsOf(kind storage.Kind) string {
	if kind == storage.KindRun {
		return runColumns
	}
	return columns
}

// A row is a buffer for one row of a result.
type row struct {
	values [20]driver.Value
	err    error // of a conversion
}

// record reads a row of getSQL or of a query. Kind and Space are those of key.
func (r *row) record(key storage.Key) (storage.Record, error) {
	record, _ := r.brief(key)
	record.Owner, record.Fence, record.Handler, record.Due = r.text(5), uint64(r.integer(6)), r.text(7), r.time(8)
	record.Attention, record.Bucket = r.integer(9) != 0, r.time(10)
	record.Label, record.Priority, record.Created = r.text(11), int16(r.integer(12)), r.time(13)
	if key.Kind == storage.KindRun {
		record.Awaited, record.Claimed, record.Ended, record.Deadline = r.integer(14) != 0, r.time(15), r.time(16), r.time(17)
		record.Input, record.Result = r.bytes(18), r.bytes(19)
	}
	return record, r.err
}

// brief reads the first columns of a row, as a query with Brief reads them.
func (r *row) brief(key storage.Key) (storage.Record, error) {
	if run := r.text(0); run != "" {
		key.Run = run
	}
	key.ID = r.text(1)
	record := storage.Record{
		Key: key, Version: uint64(r.integer(2)), Status: storage.Status(r.integer(3)), Body: r.bytes(4),
	}
	return record, r.err
}

// entry reads a row of historySQL.
func (r *row) entry(step storage.Key) (storage.Entry, error) {
	entry := storage.Entry{
		Step: step, Attempt: int(r.integer(0)), Part: int(r.integer(1)), At: r.time(2), Bucket: r.time(3), Body: r.bytes(4),
	}
	entry.Result = r.bytes(5)
	return entry, r.err
}

// text returns a column, "" for NULL.
func (r *row) text(i int) string {
	switch v := r.values[i].(type) {
	case string:
		return v
	case nil:
		return ""
	}
	r.mismatch(i)
	return ""
}

// bytes returns a column that holds text or a BLOB, nil for NULL.
func (r *row) bytes(i int) []byte {
	switch v := r.values[i].(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	case []byte: // the driver has copied it
		return v
	}
	r.mismatch(i)
	return nil
}

func (r *row) integer(i int) int64 {
	v, ok := r.values[i].(int64)
	if !ok {
		r.mismatch(i)
	}
	return v
}

// time returns a column, the zero time for NULL.
func (r *row) time(i int) time.Time {
	if r.values[i] == nil {
		return time.Time{}
	}
	return time.Unix(0, r.integer(i)).UTC()
}

// mismatch records an error for a column of another type, which this package has
// not written.
func (r *row) mismatch(i int) {
	if r.err == nil {
		r.err = &formatError{fmt.Sprintf("column %d of a row has the type %T: restore a backup", i+1, r.values[i])}
	}
}

// get returns the records of keys, in their order.
func (c *session) get(keys []storage.Key) ([]storage.Record, error) {
	records := make([]storage.Record, len(keys))
	for i, key := range keys {
		records[i].Key = key
		text := getSQL
		if key.Kind == storage.KindRun {
			text = getRunSQL
		}
		err := c.query(func(r *row) (err error) {
			records[i], err = r.record(key)
			return err
		}, text, key.Kind, key.Space, key.Run, key.ID)
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

func (c *session) put(r storage.Record) error {
	times := [...]time.Time{r.Due, r.Bucket, r.Created, r.Claimed, r.Ended, r.Deadline}
	var nanos [len(times)]any
	for i, t := range times {
		var err error
		if nanos[i], err = toNanos(t); err != nil {
			return err
		}
	}
	args := []any{
		r.Key.Kind, r.Key.Space, r.Key.Run, r.Key.ID, int64(r.Version), r.Status, orNone(r.Body),
		orNull(r.Owner), int64(r.Fence), r.Handler, nanos[0], r.Attention, nanos[1], orNull(r.Label), r.Priority, nanos[2],
	}
	if r.Key.Kind != storage.KindRun {
		return c.exec(putSQL, args...)
	}
	return c.exec(putRunSQL,
		append(args, r.Awaited, nanos[3], nanos[4], nanos[5], orNone(r.Input), orNone(r.Result))...)
}

func (c *session) delete(key storage.Key) error {
	if err := c.exec(deleteSQL, key.Kind, key.Space, key.Run, key.ID); err != nil {
		return err
	}
	return c.exec(deleteEntriesSQL, key.Kind, key.Space, key.Run, key.ID)
}

// clear deletes what belongs to runs, and its entries.
func (c *session) clear(runs []storage.Key) error {
	bySpace := map[string][]string{}
	for _, key := range runs {
		bySpace[key.Space] = append(bySpace[key.Space], key.Run)
	}
	for space, ids := range bySpace {
		list := jsonList(ids)
		for _, kind := range storage.ClearedKinds {
			if err := c.exec(clearSQL, kind, space, list); err != nil {
				return err
			}
			if err := c.exec(clearEntriesSQL, kind, space, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds an entry, unless it exists.
func (c *session) add(e storage.Entry) error {
	at, err := toNanos(e.At)
	if err != nil {
		return err
	}
	bucket, err := toNanos(e.Bucket)
	if err != nil {
		return err
	}
	return c.exec(addSQL, e.Step.Kind, e.Step.Space, e.Step.Run, e.Step.ID, e.Attempt, e.Part,
		at, bucket, readable(e.Body), orNone(e.Result))
}

// same reports whether old and r differ at most in their version.
func same(old, r storage.Record) bool {
	return old.Version > 0 && old.Status == r.Status && old.Owner == r.Owner && old.Fence == r.Fence &&
		old.Handler == r.Handler && old.Due.Equal(r.Due) && old.Attention == r.Attention &&
		old.Label == r.Label && old.Priority == r.Priority && old.Awaited == r.Awaited &&
		old.Created.Equal(r.Created) && old.Claimed.Equal(r.Claimed) && old.Ended.Equal(r.Ended) &&
		old.Deadline.Equal(r.Deadline) && old.Bucket.Equal(r.Bucket) && string(old.Body) == string(r.Body) &&
		string(old.Input) == string(r.Input) && string(old.Result) == string(r.Result)
}

// list returns a page of records, and the cursor of the next page or "".
func (c *session) list(q storage.Query) ([]storage.Record, storage.Cursor, error) {
	limit := pageSize(q.Limit)
	records, err := c.matching(q, listOrder(q), limit+1)
	if err != nil || len(records) <= limit {
		return records, "", err
	}
	return records[:limit], q.After(records[limit-1]), nil
}

// due returns the first records that q, which has DueBy, selects for an update. For
// one handler it looks at each priority by itself: in the index, the records of two
// priorities have records between them that are not due yet.
func (c *session) due(q storage.Query, limit int) (records []storage.Record, err error) {
	if indexOf(q) != byHandler {
		return c.matching(q, byDue, limit)
	}
	for priority := math.MaxInt16 + 1; len(records) < limit; {
		priority, err = value[int](c, nextPrioritySQL, q.Kind, q.Space, q.Handlers[0], priority)
		if errors.Is(err, sql.ErrNoRows) {
			return records, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := c.matching(q, ofPriority, limit-len(records), priority)
		if err != nil {
			return nil, err
		}
		records = append(records, found...)
	}
	return records, nil
}

// matching returns the first records that q selects, in an order that may have
// arguments.
func (c *session) matching(
	q storage.Query, order string, limit int, orderArgs ...any,
) (records []storage.Record, err error) {
	q.Brief = q.Brief && q.Order == storage.OrderKey // a cursor of another order has more
	text, args, err := querySQL(q, order)
	if err != nil {
		return nil, err
	}
	key, read := storage.Key{Kind: q.Kind, Space: q.Space, Run: q.Run}, (*row).record
	if q.Brief {
		read = (*row).brief
	}
	args = append(append(args, orderArgs...), limit)
	records = c.page[:0]
	if q.From != "" { // most pages that follow another are full
		records = make([]storage.Record, 0, limit)
	}
	err = c.query(func(r *row) error {
		record, err := read(r, key)
		records = append(records, record)
		return err
	}, text, args...)
	if q.From == "" {
		c.page = records
		records = slices.Clone(records)
		clear(c.page)
	}
	return records, err
}

// history returns a page of the entries of a step, and the cursor of the next page
// or "".
func (c *session) history(step storage.Key, from storage.Cursor) ([]storage.Entry, storage.Cursor, error) {
	attempt, part := math.MinInt, math.MinInt
	if from != "" {
		if _, err := fmt.Sscanf(string(from), "%d.%d", &attempt, &part); err != nil {
			return nil, "", fmt.Errorf("%.100q is not a cursor of a history", string(from))
		}
	}
	var entries []storage.Entry
	err := c.query(func(r *row) error {
		e, err := r.entry(step)
		entries = append(entries, e)
		return err
	}, historySQL, step.Kind, step.Space, step.Run, step.ID, attempt, part, storage.MaxPage+1)
	if err != nil || len(entries) <= storage.MaxPage {
		return entries, "", err
	}
	last := entries[storage.MaxPage-1]
	return entries[:storage.MaxPage], storage.Cursor(fmt.Sprintf("%d.%d", last.Attempt, last.Part)), nil
}

// entries returns at most limit entries that follow one.
func (c *session) entries(after storage.Entry, limit int) (entries []storage.Entry, err error) {
	key := after.Step
	err = c.query(func(r *row) error {
		step := key
		step.Run, step.ID = r.text(6), r.text(7)
		e, err := r.entry(step)
		entries = append(entries, e)
		return err
	}, entriesSQL, key.Kind, key.Space, key.Run, key.ID, after.Attempt, after.Part, pageSize(limit))
	return entries, err
}
