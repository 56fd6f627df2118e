package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// This file has the settings under which transactions are executed:
//
//   - Locks, statements and transactions that wait for their program end.
//   - A commit is acknowledged when it is on the disk, even if the default of the
//     database is weaker. The server reports one that it stops waiting for.
//   - Statements are planned once, and find their rows by the primary key or, for a
//     claim, in the order of its index: a plan that was made while a table was small, or
//     without statistics, must still be good when it is large.
//
// They are parameters with which a connection starts. A pooler may refuse those, or drop
// them, or give a transaction a session that was started without them. Each transaction
// therefore asks whether its session has them. If one has not, every later transaction of
// the store makes them for itself, which costs a statement.

// session has the settings of a connection, and marks it.
var session = map[string]string{
	"lock_timeout": "10s", "statement_timeout": "30s", "idle_in_transaction_session_timeout": "30s",
	"client_min_messages": "warning", "plan_cache_mode": "force_generic_plan", "enable_sort": "off",
	"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
	"retrygen.session": "1",
}

const (
	// weak is a condition: commits are acknowledged before they are on the disk. A
	// parameter of the connection would also weaken a default that is stronger.
	weak = `current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')`
	// isSet is a condition: the settings are in force.
	isSet = `coalesce(current_setting('retrygen.session', true), '') = '1' AND NOT ` + weak
	// planned are the settings for a query whose plan depends on its arguments.
	planned = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'on', true)`
)

// settings returns the statement that makes the settings for a transaction.
func settings() string {
	var text strings.Builder
	text.WriteString("SELECT ")
	for _, name := range slices.Sorted(maps.Keys(session)) {
		text.WriteString("set_config('" + name + "', '" + session[name] + "', true), ")
	}
	text.WriteString(`set_config('synchronous_commit',
	CASE WHEN ` + weak + ` THEN 'on' ELSE current_setting('synchronous_commit') END, true)`)
	return text.String()
}

// set queues the statements that a transaction needs for its settings. query says that
// the plans of its queries depend on their arguments.
func (s *Store) set(b *pgx.Batch, query bool) {
	if s.bySettings.Load() {
		b.Queue(s.texts.settings)
	}
	if query {
		b.Queue(planned)
	}
}

// errSettings is the error of a transaction in a session without the settings.
var errSettings = errors.New("the session lacks the settings of its connection")

// checkSettings returns an error for a transaction whose settings are not in force, and
// lets the next one make them.
func (s *Store) checkSettings(set bool) error {
	if set {
		return nil
	}
	s.bySettings.Store(true)
	return errSettings
}

// startsWith adds the settings to a connection that is to be made.
func (s *Store) startsWith(_ context.Context, c *pgx.ConnConfig) error {
	for name, value := range session {
		if s.bySettings.Load() {
			delete(c.RuntimeParams, name)
		} else {
			c.RuntimeParams[name] = value
		}
	}
	return nil
}

// refusesSettings reports whether a pooler has refused a connection because of its
// parameters, and lets the next one start without them.
func (s *Store) refusesSettings(err error) bool {
	return state(err) == "08P01" && s.bySettings.CompareAndSwap(false, true)
}

// acquire returns a connection of a pool.
func (s *Store) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // a pool returns it, too, but as a failure to connect
	}
	c, err := s.pooled(ctx, pool)
	if s.refusesSettings(err) {
		return s.pooled(ctx, pool)
	}
	return c, err
}
