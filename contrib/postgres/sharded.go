package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// OpenSharded opens the databases over which a program's runs are distributed, in the
// order of urls. Pass the stores to [durable.NewSharded]. Use it if there are more runs
// than one database can record: see [durable.Sharded].
//
// Each database remembers its position and the number of shards. OpenSharded returns an
// error that matches [storage.ErrFormat] if the number or the order has changed, if the
// databases belong to different programs, or if a database contains runs of a store that
// was not sharded, because these runs would not be found. [Open] returns the same error
// for a database that is a shard. To change the number of shards, let all runs end, and
// start with empty schemas.
//
// The options apply to all databases, except [Listen], which has no effect because its
// URL belongs to a single database.
func OpenSharded(ctx context.Context, urls []string, opts ...Option) ([]storage.Store, error) {
	if len(urls) == 0 {
		return nil, fmt.Errorf("%w: there are no shards: give at least one URL", storage.ErrStore)
	}
	for _, option := range opts {
		var o options
		if option(&o); o.listen != "" {
			return nil, fmt.Errorf("%w: Listen is the URL of one database: remove it, or open the pooler's servers directly",
				storage.ErrStore)
		}
	}
	set := rand.Text() // unless the first database has one
	var stores []storage.Store
	for i, url := range urls {
		place := shard{set: set, index: i, count: len(urls)}
		s, err := open(ctx, url, &place, opts)
		if err != nil {
			for _, s := range stores {
				err = errors.Join(err, s.Close())
			}
			return nil, fmt.Errorf("shard %d of %d: %w", i, len(urls), err)
		}
		set = place.set
		stores = append(stores, s)
	}
	return stores, nil
}

// A shard is the place of a database among others. The zero shard is that of one
// that is alone.
type shard struct {
	set          string // the same for all databases
	index, count int
}

// String returns the value in retry_meta.
func (p *shard) String() string { return fmt.Sprintf("%d/%d %s", p.index, p.count, p.set) }

// settle records the place of the database, or compares it with the one that is
// recorded. The first shard takes the set that it finds there.
func (s *Store) settle(ctx context.Context, c *pgx.Conn, place *shard) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := s.exclude(ctx, tx); err != nil {
			return err
		}
		meta := pgx.Identifier{s.schema, "retry_meta"}.Sanitize()
		var text *string
		var used bool
		err := tx.QueryRow(ctx, `SELECT (SELECT value FROM `+meta+` WHERE key = 'shard'),
	EXISTS (SELECT FROM `+pgx.Identifier{s.schema, "retry_run"}.Sanitize()+`)`).Scan(&text, &used)
		switch {
		case err != nil:
			return err
		case text == nil && place == nil:
			return nil
		case text == nil && used:
			return &formatError{"it has runs of a store that was not sharded: begin with an empty schema"}
		case text == nil:
			_, err = tx.Exec(ctx, `INSERT INTO `+meta+` VALUES ('shard', $1)`, place.String())
			return err
		}
		var found shard
		if _, err := fmt.Sscanf(*text, "%d/%d %s", &found.index, &found.count, &found.set); err != nil {
			return &formatError{fmt.Sprintf("shard in retry_meta is %q: restore a backup", *text)}
		}
		return found.check(place)
	})
}

// check compares the place that is recorded with the one of the call.
func (p *shard) check(place *shard) error {
	recorded := fmt.Sprintf("it is shard %d of %d", p.index, p.count)
	switch {
	case place == nil:
		return &formatError{recorded + ": open all of them with OpenSharded"}
	case p.index != place.index || p.count != place.count:
		return &formatError{recorded + ": their number and order must not change"}
	case p.index == 0:
		place.set = p.set
	case p.set != place.set:
		return &formatError{recorded + " of other databases: check the URLs"}
	}
	return nil
}
