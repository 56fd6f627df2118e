package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A column is one of a table: its name and its type.
type column struct{ name, kind string }

var (
	// keyColumns are the columns of the key of a record.
	keyColumns = []column{{"kind", "smallint"}, {"space", "text"}, {"run", "text"}, {"id", "text"}}
	// recordColumns are the other columns of a record.
	recordColumns = []column{
		{"version", "bigint"}, {"status", "smallint"}, {"owner", "text"}, {"fence", "bigint"}, {"handler", "text"},
		{"due", "timestamptz"}, {"attention", "boolean"}, {"bucket", "date"}, {"body", "bytea"}, {"label", "text"},
		{"priority", "smallint"}, {"created", "timestamptz"},
	}
	// runColumns are the columns of a run.
	runColumns = append(recordColumns[:len(recordColumns):len(recordColumns)],
		column{"awaited", "boolean"}, column{"claimed", "timestamptz"}, column{"ended", "timestamptz"},
		column{"deadline", "timestamptz"}, column{"input", "bytea"}, column{"result", "bytea"})
)

// names returns a list of columns.
func names(columns []column) string { return namesOf("", columns) }

// namesOf returns a list of columns, each after the alias of its table with a dot.
func namesOf(alias string, columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = alias + c.name
	}
	return strings.Join(list, ", ")
}

// unnest returns the arrays of a statement as a table k with columns, which begin at an
// argument.
func unnest(columns []column) string {
	var arrays []string
	for i, c := range columns {
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, c.kind))
	}
	return "unnest(" + strings.Join(arrays, ", ") + ")"
}

// briefColumns are what a query with Brief reads of records, besides their keys.
const briefColumns = `version, status, body`

// texts are the statements of a store. They name its schema, because a pooler may
// give each transaction another session, in which no search_path is set.
type texts struct {
	runs, records, steps table

	add, addMany            string
	history, entries        string
	dropEntries, dropMany   string   // the entries of deleted steps
	moveEntries             string   // to the bucket of their step
	moveRun                 []string // a run with all that belongs to it to another bucket
	clear                   []string // what belongs to the runs $2 of a namespace
	settings, state, oldest string
	mark, notify            string
	swap, claim             string
	insert, insertTx        string // new runs; in a transaction of the program
}

// A table has the statements for the records of one table: for one key, and for
// any number of keys as arrays.
type table struct {
	get, lock, insert, update, remove                     string
	getMany, lockMany, insertMany, updateMany, removeMany string

	list   string // begins a query
	brief  string // begins a query with Brief
	levels string // the priorities, as a part of a query for the due runs of the handler $3
	// handlers are the handlers of the records that have a time of creation and no owner, as a part
	// of a query.
	handlers string
	move     string // changes the bucket, and with it the partition
}

const (
	isKey  = `kind = $1 AND space = $2 AND run = $3 AND id = $4`
	isDue  = `space = $2 AND status IN (1, 5) AND handler = $3 AND handler <> '' AND due IS NOT NULL`
	ofRuns = `space = $1 AND run = ANY ($2)`
	// isIdle is the predicate of the index for lists in the order of creation.
	isIdle = `space = $2 AND created IS NOT NULL AND owner = ''`
	isOf   = `kind = k.kind AND space = k.space AND run = k.run AND id = k.id`
)

// unnest4 has the keys of a statement.
var unnest4 = unnest(keyColumns)

func newTexts(schema string) *texts {
	name := func(table string) string { return pgx.Identifier{schema, table}.Sanitize() }
	runs, records, steps := name("retry_run"), name("retry_record"), name("retry_step")
	entries, meta := name("retry_entry"), name("retry_meta")
	const isRun = `space = $1 AND run = $2`
	t := &texts{
		runs:    newTable(runs, `$1::smallint = 2`, runColumns, false),
		records: newTable(records, `kind = $1`, recordColumns, false),
		steps:   newTable(steps, `kind = $1`, recordColumns, true),

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
			`UPDATE ` + runs + ` SET bucket = $3 WHERE ` + isRun,
			`UPDATE ` + records + ` SET bucket = $3 WHERE kind = 3 AND ` + isRun,
			`UPDATE ` + steps + ` SET bucket = $3 WHERE kind = 4 AND ` + isRun + ` AND bucket <> $3`,
			`UPDATE ` + records + ` SET bucket = $3 WHERE kind = ANY ('{5,6}') AND ` + isRun,
			moveEntries(entries, `kind = ANY ('{1,2,3,4,5,6}') AND `+isRun, `$3`),
		},
		clear: []string{
			`DELETE FROM ` + records + ` WHERE kind = ANY ('{3,5}') AND ` + ofRuns,
			`DELETE FROM ` + steps + ` WHERE kind = 4 AND ` + ofRuns,
			`DELETE FROM ` + entries + ` WHERE kind = ANY ('{3,4,5}') AND ` + ofRuns,
		},

		oldest:   `SELECT ` + isSet + `, value FROM ` + meta + ` WHERE key = 'oldest_writer'`,
		mark:     `SELECT value FROM ` + meta + ` WHERE key = 'incarnation'`,
		state:    `SELECT clock_timestamp(), ` + isSet + `, value FROM ` + meta + ` WHERE key = 'oldest_writer'`,
		settings: settings(),
		notify:   `SELECT pg_notify($1, $2)`,
		swap:     swapSQL(runs, meta),
	}
	t.claim = claimSQL(&t.runs, runs, records, meta)
	t.insert, t.insertTx = insertSQL(runs, meta, isSet), insertSQL(runs, meta, isHere(meta))
	return t
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

// newTable returns the statements for a table. isKind is true for the records of a kind:
// a table of one kind has no indexes that begin with it. In a partitioned table, an update
// does not change the bucket, and looks for the record in one partition only.
func newTable(name, isKind string, columns []column, partitioned bool) table {
	all := append(keyColumns[:len(keyColumns):len(keyColumns)], columns...)
	var marks, set, setMany []string
	of, ofMany := "", ""
	for i, c := range all {
		mark := fmt.Sprintf("$%d", i+1)
		marks = append(marks, mark)
		switch {
		case i < len(keyColumns):
		case partitioned && c.name == "bucket":
			of, ofMany = " AND bucket = "+mark, " AND r.bucket = k.bucket"
		default:
			set, setMany = append(set, c.name+" = "+mark), append(setMany, c.name+" = k."+c.name)
		}
	}
	many := ` FROM ` + unnest4 + ` WITH ORDINALITY AS k (kind, space, run, id, n)
CROSS JOIN LATERAL (SELECT ` + names(columns) + ` FROM ` + name + ` AS r WHERE ` + qualified("r", isOf)
	return table{
		get:     `SELECT ` + names(columns) + ` FROM ` + name + ` WHERE ` + isKey,
		lock:    `SELECT ` + names(columns) + ` FROM ` + name + ` WHERE ` + isKey + ` FOR UPDATE`,
		getMany: `SELECT k.n - 1, r.*` + many + `) AS r`,
		// The locks are taken in the order of the arrays: a subquery with FOR UPDATE is
		// executed for each key.
		lockMany: `SELECT k.n - 1, r.*` + many + ` FOR UPDATE) AS r`,

		insert:     `INSERT INTO ` + name + ` (` + names(all) + `) VALUES (` + strings.Join(marks, ", ") + `)`,
		insertMany: `INSERT INTO ` + name + ` (` + names(all) + `) SELECT * FROM ` + unnest(all),
		update:     `UPDATE ` + name + ` SET ` + strings.Join(set, ", ") + ` WHERE ` + isKey + of,
		updateMany: `UPDATE ` + name + ` AS r SET ` + strings.Join(setMany, ", ") + `
FROM ` + unnest(all) + ` AS k (` + names(all) + `) WHERE ` + qualified("r", isOf) + ofMany,
		remove: `DELETE FROM ` + name + ` WHERE ` + isKey,
		removeMany: `DELETE FROM ` + name + ` AS r USING ` + unnest4 + ` AS k (kind, space, run, id) WHERE ` +
			qualified("r", isOf),

		levels: `levels AS (
	(SELECT priority AS n FROM ` + name + ` WHERE ` + isKind + ` AND ` + isDue + ` ORDER BY priority DESC LIMIT 1)
	UNION ALL
	SELECT (
		SELECT priority FROM ` + name + ` WHERE ` + isKind + ` AND ` + isDue + ` AND priority < levels.n
		ORDER BY priority DESC LIMIT 1
	) FROM levels WHERE levels.n IS NOT NULL)`,
		handlers: `handlers AS (
	(SELECT handler FROM ` + name + ` WHERE ` + isKind + ` AND ` + isIdle + ` ORDER BY handler LIMIT 1)
	UNION ALL
	SELECT (
		SELECT handler FROM ` + name + ` WHERE ` + isKind + ` AND ` + isIdle + ` AND handler > handlers.handler
		ORDER BY handler LIMIT 1
	) FROM handlers WHERE handlers.handler IS NOT NULL)`,
		list:  `SELECT run, id, ` + names(columns) + ` FROM ` + name + ` WHERE ` + isKind + ` AND space = $2`,
		brief: `SELECT run, id, ` + briefColumns + ` FROM ` + name + ` WHERE ` + isKind + ` AND space = $2`,
		move:  `UPDATE ` + name + ` SET bucket = $5 WHERE ` + isKey,
	}
}

// qualified returns a condition whose columns are those of a table alias.
func qualified(alias, condition string) string {
	terms := strings.Split(condition, " AND ")
	return alias + "." + strings.Join(terms, " AND "+alias+".")
}

const begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
