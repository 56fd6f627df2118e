package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// columns of a record besides its key.
const columns = `version, status, owner, fence, handler, due, attention, bucket, body, label, priority, created, awaited`

// briefColumns are what a query with Brief reads of records, besides their keys.
const briefColumns = `version, status, body`

// texts are the statements of a store. They name its schema, because a pooler may
// give each transaction another session, in which no search_path is set.
type texts struct {
	records, steps table

	add, addMany            string
	history, entries        string
	dropEntries, dropMany   string   // the entries of deleted steps
	moveEntries             string   // to the bucket of their step
	moveRun                 []string // a run with all that belongs to it to another bucket
	settings, state, oldest string
	mark, notify            string
}

// A table has the statements for the records of one table: for one key, and for
// any number of keys as arrays.
type table struct {
	get, lock, insert, update, remove                     string
	getMany, lockMany, insertMany, updateMany, removeMany string

	list  string // begins a query
	brief string // begins a query with Brief
	due   string // begins a query for the due records of the handler $3, with a priority that is levels.n
	move  string // changes the bucket, and with it the partition
}

const (
	isKey   = `kind = $1 AND space = $2 AND run = $3 AND id = $4`
	unnest4 = `unnest($1::smallint[], $2::text[], $3::text[], $4::text[])`
	isDue   = `kind = $1 AND space = $2 AND handler = $3 AND handler <> '' AND due IS NOT NULL`
	isOf    = `kind = k.kind AND space = k.space AND run = k.run AND id = k.id`
)

func newTexts(schema string) *texts {
	name := func(table string) string { return pgx.Identifier{schema, table}.Sanitize() }
	records, steps, entries, meta := name("retry_record"), name("retry_step"), name("retry_entry"), name("retry_meta")
	const isRun = `space = $1 AND run = $2`
	return &texts{
		records: newTable(records, false),
		steps:   newTable(steps, true),

		add: `INSERT INTO ` + entries + ` (` + entryColumns + `) ` +
			`VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		addMany: `INSERT INTO ` + entries + ` (` + entryColumns + `) SELECT * FROM unnest($1::smallint[], $2::text[], $3::text[],
	$4::text[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::bytea[], $9::bytea[], $10::date[])
ON CONFLICT DO NOTHING`,
		history: `SELECT attempt, part, at, bucket, body, result FROM ` + entries + ` WHERE ` + isKey +
			` AND (attempt, part) > ($5, $6) ORDER BY attempt, part LIMIT $7`,
		entries: `SELECT run, id, attempt, part, at, bucket, body FROM ` + entries + ` WHERE kind = $1 AND space = $2
	AND (run, id, attempt, part) > ($3, $4, $5, $6) ORDER BY run, id, attempt, part LIMIT $7`,
		dropEntries: `DELETE FROM ` + entries + ` WHERE ` + isKey,
		dropMany: `DELETE FROM ` + entries + ` AS e USING ` + unnest4 + ` AS k (kind, space, run, id) WHERE ` +
			qualified("e", isOf),
		moveEntries: moveEntries(entries, isKey, `$5`),
		moveRun: []string{
			`UPDATE ` + records + ` SET bucket = $3 WHERE kind = ANY ('{2,3}') AND ` + isRun,
			`UPDATE ` + steps + ` SET bucket = $3 WHERE kind = 4 AND ` + isRun + ` AND bucket <> $3`,
			`UPDATE ` + records + ` SET bucket = $3 WHERE kind = ANY ('{5,6}') AND ` + isRun,
			moveEntries(entries, `kind = ANY ('{1,2,3,4,5,6}') AND `+isRun, `$3`),
		},

		oldest:   `SELECT ` + isSet + `, value FROM ` + meta + ` WHERE key = 'oldest_writer'`,
		mark:     `SELECT value FROM ` + meta + ` WHERE key = 'incarnation'`,
		state:    `SELECT clock_timestamp(), ` + isSet + `, value FROM ` + meta + ` WHERE key = 'oldest_writer'`,
		settings: settings(),
		notify:   `SELECT pg_notify($1, $2)`,
	}
}

const (
	entryData    = `kind, space, run, id, attempt, part, at, body, result`
	entryColumns = entryData + `, bucket`
)

// moveEntries returns the statement that moves entries to another bucket, where some
// of them may be already.
func moveEntries(entries, condition, bucket string) string {
	return `WITH moved AS (DELETE FROM ` + entries + ` WHERE ` + condition + ` AND bucket <> ` + bucket + ` RETURNING *)
INSERT INTO ` + entries + ` (` + entryColumns + `) SELECT ` + entryData + `, ` + bucket + ` FROM moved ON CONFLICT DO NOTHING`
}

// newTable returns the statements for a table. In a partitioned one, an update does
// not change the bucket, and looks for the record in one partition only.
func newTable(name string, partitioned bool) table {
	set, of, setMany, ofMany := ", bucket = $12", "", ", bucket = k.bucket", ""
	if partitioned {
		set, of, setMany, ofMany = "", " AND bucket = $12", "", " AND r.bucket = k.bucket"
	}
	many := ` FROM ` + unnest4 + ` WITH ORDINALITY AS k (kind, space, run, id, n)
CROSS JOIN LATERAL (SELECT ` + columns + ` FROM ` + name + ` AS r WHERE ` + qualified("r", isOf)
	return table{
		get:     `SELECT ` + columns + ` FROM ` + name + ` WHERE ` + isKey,
		lock:    `SELECT ` + columns + ` FROM ` + name + ` WHERE ` + isKey + ` FOR UPDATE`,
		getMany: `SELECT k.n - 1, r.*` + many + `) AS r`,
		// The locks are taken in the order of the arrays: a subquery with FOR UPDATE is
		// executed for each key.
		lockMany: `SELECT k.n - 1, r.*` + many + ` FOR UPDATE) AS r`,

		insert: `INSERT INTO ` + name + ` (kind, space, run, id, ` + columns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		insertMany: `INSERT INTO ` + name + ` (kind, space, run, id, ` + columns + `)
SELECT * FROM ` + unnest17,
		update: `UPDATE ` + name + ` SET version = $5, status = $6, owner = $7, fence = $8, handler = $9, due = $10,
	attention = $11, body = $13, label = $14, priority = $15, created = $16, awaited = $17` + set + ` WHERE ` + isKey + of,
		updateMany: `UPDATE ` + name + ` AS r SET version = k.version, status = k.status, owner = k.owner,
	fence = k.fence, handler = k.handler, due = k.due, attention = k.attention, body = k.body,
	label = k.label, priority = k.priority, created = k.created, awaited = k.awaited` + setMany + `
FROM ` + unnest17 + ` AS k (kind, space, run, id, ` + columns + `)
WHERE ` + qualified("r", isOf) + ofMany,
		remove: `DELETE FROM ` + name + ` WHERE ` + isKey,
		removeMany: `DELETE FROM ` + name + ` AS r USING ` + unnest4 + ` AS k (kind, space, run, id) WHERE ` +
			qualified("r", isOf),

		due: `WITH RECURSIVE levels AS (
	(SELECT priority AS n FROM ` + name + ` WHERE ` + isDue + ` ORDER BY priority DESC LIMIT 1)
	UNION ALL
	SELECT (SELECT priority FROM ` + name + ` WHERE ` + isDue + ` AND priority < levels.n ORDER BY priority DESC LIMIT 1)
	FROM levels WHERE levels.n IS NOT NULL)
SELECT due.* FROM levels CROSS JOIN LATERAL (`,
		list:  `SELECT run, id, ` + columns + ` FROM ` + name + ` WHERE kind = $1 AND space = $2`,
		brief: `SELECT run, id, ` + briefColumns + ` FROM ` + name + ` WHERE kind = $1 AND space = $2`,
		move:  `UPDATE ` + name + ` SET bucket = $5 WHERE ` + isKey,
	}
}

const unnest17 = `unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::smallint[],
	$7::text[], $8::bigint[], $9::text[], $10::timestamptz[], $11::boolean[], $12::date[], $13::bytea[], $14::text[],
	$15::smallint[], $16::timestamptz[], $17::boolean[])`

// qualified returns a condition whose columns are those of a table alias.
func qualified(alias, condition string) string {
	terms := strings.Split(condition, " AND ")
	return alias + "." + strings.Join(terms, " AND "+alias+".")
}

const begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
