package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var _ storage.Checker = (*Store)(nil)

// orphansSQL selects entries without a record. SCHEMA is the schema.
const orphansSQL = `SELECT e.kind, e.run, e.id, count(*) FROM SCHEMA.retry_entry AS e
WHERE NOT EXISTS (SELECT FROM SCHEMA.retry_step AS r
	WHERE r.kind = e.kind AND r.space = e.space AND r.run = e.run AND r.id = e.id)
AND NOT EXISTS (SELECT FROM SCHEMA.retry_record AS r
	WHERE r.kind = e.kind AND r.space = e.space AND r.run = e.run AND r.id = e.id)
AND NOT EXISTS (SELECT FROM SCHEMA.retry_run AS r
	WHERE r.kind = e.kind AND r.space = e.space AND r.run = e.run AND r.id = e.id)
GROUP BY e.kind, e.space, e.run, e.id LIMIT 100`

// Check implements [storage.Checker]. It checks that each entry belongs to a record. To
// check the database files, use pg_amcheck and the server's checksums.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	text := strings.ReplaceAll(orphansSQL, "SCHEMA", pgx.Identifier{s.schema}.Sanitize())
	c, err := s.acquire(ctx, s.maintenance)
	if err != nil {
		return nil, s.fail(ctx, err)
	}
	defer c.Release()
	rows, err := c.Query(ctx, text, pgx.QueryExecModeExec)
	if err != nil {
		return nil, s.fail(ctx, err)
	}
	problems, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var kind, n int
		var key storage.Key
		err := row.Scan(&kind, &key.Run, &key.ID, &n)
		key.Kind = storage.Kind(kind)
		return fmt.Sprintf("%s does not exist; entries of its history: %d", key, n), err
	})
	return problems, s.fail(ctx, err)
}
