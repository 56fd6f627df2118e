package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var _ storage.Checker = (*Store)(nil)

// mostProblems limits what Check returns.
const mostProblems = 100

// orphansSQL selects entries without a record.
const orphansSQL = `SELECT kind, run, id, count(*) FROM retry_entry AS e WHERE NOT EXISTS (SELECT 1 FROM retry_record AS r
WHERE r.kind = e.kind AND r.space = e.space AND r.run = e.run AND r.id = e.id) GROUP BY kind, space, run, id LIMIT ?`

// Check implements [storage.Checker]. It checks the pages and the indexes of the
// database, and that each entry belongs to a record. It reads the whole file on a
// separate connection.
func (s *Store) Check(ctx context.Context) (problems []string, err error) {
	c, _, err := s.connect(ctx, "rw")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.fail(c.close())) }()
	rows, err := c.conn.QueryContext(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", mostProblems))
	if err != nil {
		return nil, s.fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, s.fail(err)
		}
		if text != "ok" {
			problems = append(problems, text)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, s.fail(err)
	}
	orphans, err := c.conn.QueryContext(ctx, orphansSQL, mostProblems)
	if err != nil {
		return nil, s.fail(err)
	}
	defer orphans.Close()
	for orphans.Next() {
		var key storage.Key
		var n int
		if err := orphans.Scan(&key.Kind, &key.Run, &key.ID, &n); err != nil {
			return nil, s.fail(err)
		}
		problems = append(problems, fmt.Sprintf("%s does not exist; entries of its history: %d", key, n))
	}
	return problems, s.fail(orphans.Err())
}
