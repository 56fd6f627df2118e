package sqlite

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// applicationID marks the databases of this package: "rtry".
const applicationID = 0x72747279

// A migration converts a database to the next format.
type migration struct {
	sql string
	// oldestWriter is the oldest format whose programs may write to the new format.
	// Older programs return an error.
	oldestWriter int
}

// firstFormat is the format to which the first migration leads. No release has written
// an older one: such databases are refused.
const firstFormat = 5

// latest returns the format to which migrations lead.
func latest(migrations []migration) int { return firstFormat - 1 + len(migrations) }

// migrations lead from an empty file to the format of this version.
var migrations = []migration{{oldestWriter: firstFormat, sql: `
PRAGMA application_id = 1920234105;
CREATE TABLE retry_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE retry_record (
	kind      INT  NOT NULL,
	space     TEXT NOT NULL,
	run       TEXT NOT NULL,
	id        TEXT NOT NULL,
	version   INT  NOT NULL,
	status    INT  NOT NULL,
	owner     TEXT,
	fence     INT  NOT NULL,
	handler   TEXT NOT NULL,
	due       INT,
	attention INT  NOT NULL,
	bucket    INT,
	body      BLOB,
	label     TEXT,
	priority  INT  NOT NULL DEFAULT 0,
	created   INT,
	-- Only of runs: the statements for other records do not name these.
	awaited   INT  NOT NULL DEFAULT 0,
	claimed   INT,
	ended     INT,
	deadline  INT,
	input     BLOB,
	result    BLOB,
	PRIMARY KEY (kind, space, run, id)
) WITHOUT ROWID;
-- The columns of the key follow the columns of an index, as in all of a table without row ids.
CREATE INDEX retry_due       ON retry_record (kind, space, due)            WHERE due IS NOT NULL;
CREATE INDEX retry_handler   ON retry_record (kind, space, handler, priority DESC, due)
	WHERE due IS NOT NULL AND handler <> '';
-- Lists in the order of creation, for each status by itself: the lists of several are merged.
CREATE INDEX retry_created   ON retry_record (kind, space, status, created) WHERE created IS NOT NULL;
CREATE INDEX retry_handler_created ON retry_record (kind, space, handler, status, created)
	WHERE created IS NOT NULL AND handler <> '';
CREATE INDEX retry_owner     ON retry_record (kind, space, owner)          WHERE owner IS NOT NULL;
CREATE INDEX retry_attention ON retry_record (kind, space, run, id)        WHERE attention <> 0;
CREATE INDEX retry_label     ON retry_record (kind, space, label, run, id) WHERE label IS NOT NULL;
CREATE TABLE retry_entry (
	kind    INT  NOT NULL,
	space   TEXT NOT NULL,
	run     TEXT NOT NULL,
	id      TEXT NOT NULL,
	attempt INT  NOT NULL,
	part    INT  NOT NULL,
	at      INT,
	bucket  INT,
	body    BLOB NOT NULL,
	result  BLOB,
	PRIMARY KEY (kind, space, run, id, attempt, part)
);`}}

const (
	metaSQL    = `SELECT value FROM retry_meta WHERE key = ?`
	setMetaSQL = `INSERT INTO retry_meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value`
)

// format returns the format of the database, or 0 for a database without tables. It
// returns a formatError for a database of another program, for one to which programs that
// know formats up to known must not write, and for one that is too old.
func (c *session) format(known int) (int, error) {
	id, err := value[int](c, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	if id != applicationID {
		tables, err := value[int](c, "SELECT count(*) FROM sqlite_schema")
		if err != nil {
			return 0, err
		}
		if id != 0 || tables > 0 {
			return 0, &formatError{"the database of another program: choose another path"}
		}
		return 0, nil
	}
	if err := c.checkWriter(known); err != nil {
		return 0, err
	}
	format, err := c.number("format")
	if err == nil && format < firstFormat {
		err = &formatError{older(format)}
	}
	return format, err
}

// checkWriter returns a formatError if programs that know formats up to known must
// not write to the database. Each transaction calls it, because another process may
// migrate the database at any time.
func (c *session) checkWriter(known int) error {
	oldest, err := c.number("oldest_writer")
	if err != nil {
		return err
	}
	if oldest > known {
		return &formatError{fmt.Sprintf(
			"written by a newer version, format %d: this program knows formats up to %d; upgrade it", oldest, known)}
	}
	return nil
}

// older describes a database that is not migrated: it is too old, or [Existing] does
// not allow it.
func older(format int) string {
	if format == 0 {
		return "not a database yet: start the program that creates it"
	}
	return fmt.Sprintf("written by an older version, format %d, and this program knows %d: "+
		"use the version of the program that writes it", format, latest(migrations))
}

func (c *session) number(key string) (int, error) {
	text, err := value[string](c, metaSQL, key)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, &formatError{fmt.Sprintf("retry_meta has no %s: restore a backup", key)}
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, &formatError{fmt.Sprintf("%s in retry_meta is %q and not a number: restore a backup", key, text)}
	}
	return n, nil
}

// migrate applies the migrations that the database does not have yet, in one
// transaction.
func (c *session) migrate(migrations []migration) error {
	return c.transact("BEGIN IMMEDIATE", func() error {
		format, err := c.format(latest(migrations))
		if err != nil {
			return err
		}
		for i := max(format-firstFormat+1, 0); i < len(migrations); i++ {
			if _, err := c.conn.ExecContext(background, migrations[i].sql); err != nil {
				return fmt.Errorf("migration to format %d: %w", firstFormat+i, err)
			}
			if err := c.exec(setMetaSQL, "oldest_writer", strconv.Itoa(migrations[i].oldestWriter)); err != nil {
				return err
			}
		}
		if format == 0 {
			if err := c.exec(setMetaSQL, "incarnation", rand.Text()); err != nil {
				return err
			}
		}
		return c.exec(setMetaSQL, "format", strconv.Itoa(max(format, latest(migrations))))
	})
}

// A formatError describes why this version cannot use a database.
type formatError struct{ text string }

func (e *formatError) Error() string { return e.text }
