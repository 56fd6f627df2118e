package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

const (
	classConflict retry.Class = "conflict" // with another transaction: it has ended, or will soon
	classServer   retry.Class = "server"   // it is not reachable, or restarts
)

// policy repeats what was not committed. The calls of a store are made in steps,
// whose own policies do not repeat the errors of a store. A server that restarts
// refuses connections at once, so that the time is the limit and not the attempts.
var policy = retry.Policy{
	Name: "postgres",
	Schedule: retry.Schedule{
		MaxAttempts: retry.Unlimited, InitialDelay: 50 * time.Millisecond, MaxDelay: 2 * time.Second,
		Jitter: retry.JitterProportional,
	},
	MaxElapsed: 15 * time.Second,
	RetryOn:    []retry.Class{classConflict, classServer},
	Classes: []retry.ErrorClass{
		{Class: classConflict, As: []func(error) bool{isConflict}},
		{Class: classServer, As: []func(error) bool{isServer}},
	},
	PerError: []retry.Override{{Class: classConflict, Schedule: retry.Schedule{
		MaxAttempts: 100, InitialDelay: 2 * time.Millisecond, MaxDelay: 200 * time.Millisecond, Jitter: retry.JitterFull,
	}}},
	MatchText: retry.MatchNone,
	Nested:    true,
}

// opening is the policy of Open, which tries for about 5s only: the address may be wrong.
var opening = func() retry.Policy {
	p := policy
	p.Schedule.MaxAttempts = 8
	return p
}()

// state returns the SQLSTATE of an error of the server, or "".
func state(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}

// isConflict reports whether another transaction was in the way. None of ours
// violates a unique constraint but by inserting what another has just inserted.
func isConflict(err error) bool {
	switch state(err) {
	case "40001", "40P01", "55P03", "23505": // serialization, deadlock, lock_timeout, unique_violation
		return !isUnknown(err)
	case "57014": // query_canceled: by statement_timeout, or by a late request to cancel an earlier statement
		return !isUnknown(err)
	}
	return errors.Is(err, errMonth) || errors.Is(err, errSettings)
}

// isServer reports whether the server was not reachable, or ended the connection,
// before anything was committed.
func isServer(err error) bool {
	if isUnknown(err) {
		return false
	}
	code := state(err)
	switch code {
	case "57P01", "57P02", "57P03", "53300": // shutdown, crash, starting up; too many connections
		return true
	case "25006": // read-only: the server has become a standby
		return true
	}
	return strings.HasPrefix(code, "08") || code == "" && errors.Is(err, errConnection)
}

// isRefused reports whether the server has refused a statement of a transaction, and
// lives.
func isRefused(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return !errors.Is(err, errConnection) // a value that has no form in PostgreSQL: nothing was sent
	}
	return failure.SeverityUnlocalized == "ERROR" && !strings.HasPrefix(failure.Code, "08")
}

// errConnection marks errors of connections, which have been closed.
var errConnection = errors.New("the connection failed")

// An unknownError is the error of a commit that may have happened.
type unknownError struct{ cause error }

func (e *unknownError) Error() string { return e.cause.Error() }
func (e *unknownError) Unwrap() error { return e.cause }

func isUnknown(err error) bool {
	_, ok := errors.AsType[*unknownError](err)
	return ok
}

// pooled returns a connection of a pool.
func (s *Store) pooled(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	c, err := pool.Acquire(ctx)
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, puddle.ErrClosedPool):
		return nil, os.ErrClosed
	}
	return nil, connecting(err)
}

// connecting returns the error of a connection that was not made. It has no
// password, nor a configuration with one.
func connecting(err error) error {
	if failure, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = failure.Unwrap()
	}
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure
	}
	if errors.Is(err, errRefused) {
		return err
	}
	return fmt.Errorf("%w: %w", errConnection, oneLine{err})
}

// A oneLine is an error without line breaks, such as those between the errors of
// several hosts.
type oneLine struct{ error }

func (e oneLine) Error() string {
	return strings.ReplaceAll(strings.TrimSpace(e.error.Error()), "\n", "; ")
}
func (e oneLine) Unwrap() error { return e.error }

// trip sends the statements of b in one round trip.
func (s *Store) trip(ctx context.Context, c *pgxpool.Conn, b *pgx.Batch) error {
	err := c.SendBatch(ctx, b).Close()
	if err != nil && c.Conn().IsClosed() {
		s.pool.Reset() // the other connections are probably lost, too
		err = fmt.Errorf("%w: %w", errConnection, err)
	}
	return err
}

// waitEnded is the key of the data of a connection that has the notice about a
// commit whose wait for a synchronous standby was canceled.
const waitEnded = "retrygen: wait for a standby"

// notice keeps the notice about a commit that the server no longer waits for, since
// the statement timeout, a request to cancel or an operator has ended the wait. The
// server reports it as a success with a warning: its text is translated and its
// code is that of all warnings, so that it is known by the function that sends it.
func notice(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[waitEnded] = n
	}
}

// unreplicated returns the notice that a connection has kept, as an error, or nil.
func unreplicated(c *pgconn.PgConn) error {
	n, found := c.CustomData()[waitEnded].(*pgconn.Notice)
	if !found {
		return nil
	}
	delete(c.CustomData(), waitEnded)
	return (*pgconn.PgError)(n)
}

// advice maps SQLSTATEs, or their classes, to what is wrong and what to do.
var advice = map[string]string{
	"01000": "no synchronous standby has confirmed the commit: check the standbys and synchronous_standby_names",
	"08":    "the server is not reachable: check its address and whether it runs",
	"25006": "the server is a read-only standby: connect to the primary, as with target_session_attrs=read-write",
	"26000": poolerAdvice,
	"28":    "the server refuses the user: check its name, its password and pg_hba.conf",
	"3D000": "the database does not exist: create it",
	"42501": "permission is denied: let the user create and use the schema and its tables",
	"42P05": poolerAdvice,
	"53100": "the disk of the server is full: free space; the next update continues",
	"53300": "the server has no connection left: lower pool_max_conns or raise max_connections",
	"54":    "a text is too long for an index: use shorter ids",
	"55P03": "a record stayed locked: another transaction is stuck or far away",
	"57P":   "the server is shutting down or starting",
	"XX":    "the database may be damaged: check the log of the server",
}

const poolerAdvice = "a pooler does not keep prepared statements: add default_query_exec_mode=cache_describe to the URL"

func adviceFor(err error) string {
	code := state(err)
	if code == "" && errors.Is(err, errConnection) && !errors.Is(err, context.Canceled) { // else the caller ended it
		code = "08"
	}
	for n := len(code); n >= 2; n-- {
		if text, found := advice[code[:n]]; found {
			return text
		}
	}
	return ""
}

// fail returns an error that matches an error of package durable, with the place of
// the store and what to do.
func (s *Store) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if stopped, ok := errors.AsType[*retry.Error](err); ok && stopped.Err != nil {
		err = stopped.Err
	}
	kind := storage.ErrStore
	switch failure, isFormat := errors.AsType[*formatError](err); {
	case isFormat:
		return fmt.Errorf("%w: %s: %s", storage.ErrFormat, s.name, failure.text)
	case isMissing(err):
		return fmt.Errorf("%w: %s: the tables are missing: restore a backup, or open it again: %w",
			storage.ErrFormat, s.name, err)
	case isUnknown(err):
		kind = storage.ErrUnknown
	case errors.Is(err, storage.ErrStore):
		return err
	}
	if ended := context.Cause(ctx); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	if text := adviceFor(err); text != "" {
		return fmt.Errorf("%w: %s: %s: %w", kind, s.name, text, err)
	}
	return fmt.Errorf("%w: %s: %w", kind, s.name, err)
}

// isMissing reports whether a table or the schema does not exist.
func isMissing(err error) bool {
	code := state(err)
	return code == "42P01" || code == "3F000"
}

// A formatError describes why this version cannot use a database.
type formatError struct{ text string }

func (e *formatError) Error() string { return e.text }

// errRefused marks servers that cannot be used, or not by this URL.
var errRefused = errors.New("the server cannot be used")
