// Package postgres keeps the state of durable steps in a PostgreSQL database that any
// number of processes on any number of machines can share.
//
//	store, err := postgres.Open(ctx, "postgres://payments@db.example.com/payments")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	engine, err := durable.New(store)
//
// When an update has returned nil, it is on the server's disk and, if there is a
// synchronous standby, on the standby's disk. This does not depend on the database's
// defaults. The tables are in a separate schema, which Open creates and migrates: see
// [Schema]. Steps and their history are in one partition per month.
//
// An update takes two round trips. If an update was not committed, because of a conflict,
// a lost connection or a restart of the server, it is repeated for about 15s. If the
// reply to a commit was lost, the store does not repeat the update. It returns an error
// that matches [storage.ErrUnknown], and the engine reads the records to find out.
//
// The store works with a pooler that may give each transaction a different session, such
// as PgBouncer in transaction mode, because prepared statements are its only state in a
// session. If the pooler does not support prepared statements, add
// default_query_exec_mode=cache_describe to the URL. If the pooler does not pass on
// startup parameters, each transaction takes one more statement. Notifications need a
// connection that keeps its session: see [Listen].
//
// If the schema was written by a newer version of this module, Open changes nothing and
// returns an error that matches [storage.ErrFormat].
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Store is a [storage.Store] and a [storage.Notifier] in a PostgreSQL database.
// Its methods may be called concurrently. Their errors match [storage.ErrStore],
// [storage.ErrUnknown] or [storage.ErrFormat], and never contain a password.
type Store struct {
	name    string // for messages: the server, the database and the schema
	schema  string
	channel string // of notifications
	texts   *texts

	pool        *pgxpool.Pool
	leases      *pgxpool.Pool // of one connection, for the renewals of leases
	maintenance *pgxpool.Pool // of one connection without the settings of updates, for what may take long
	server      atomic.Pointer[server]
	// bySettings says that each transaction makes its settings: see session.go.
	bySettings atomic.Bool

	closing sync.Once
	ctx     context.Context // until Close
	cancel  context.CancelFunc
	running sync.WaitGroup // goroutines that end with ctx
	hub     hub
}

var (
	_ storage.Store    = (*Store)(nil)
	_ storage.Notifier = (*Store)(nil)
)

// An Option changes a default of [Open].
type Option func(*options)

type options struct {
	schema   string
	listen   string
	existing bool
}

// Schema sets the name of the schema that contains the store's tables. The default is
// "retry". Open creates the schema if it does not exist. Stores in different schemas of a
// database are independent. A name may be at most 50 bytes long.
func Schema(name string) Option { return func(o *options) { o.schema = name } }

// Listen sets the URL of the connection that receives notifications. The default is the
// store's URL. If this is the URL of a pooler that may give each transaction a different
// session, set the URL of the server itself.
func Listen(url string) Option { return func(o *options) { o.listen = url } }

// Existing makes [Open] return an error if the schema contains no store tables, or if its
// tables have an older format. In both cases, Open neither creates nor migrates tables.
// The error for missing tables matches [io/fs.ErrNotExist]. Use it in programs that read
// another program's store.
func Existing() Option { return func(o *options) { o.existing = true } }

const (
	maxSchema      = 50              // bytes: the names of channels have at most 63
	maxConns       = 16              // of a pool whose URL does not set pool_max_conns
	connectTimeout = 5 * time.Second // for a server, unless the URL sets connect_timeout
	oldestServer   = 13_00_00        // the oldest version that the PostgreSQL project maintained in 2025
)

// Open connects to a database. url has one of libpq's formats
// (postgres://user@host:5432/database or host=… user=…). The environment variables,
// service files and password files of libpq are also read. If the store's tables do not
// exist, Open creates them. If they have an older format, Open migrates them. Several
// processes may call Open at the same time.
//
// pool_max_conns in the URL limits the store's connections. The default is 16. The
// store opens two more connections, one for lease renewals and one for notifications, and
// occasionally a third one for maintenance.
//
// If the server does not respond, Open returns an error within about 20s, or when ctx
// ends. The caller must call [Store.Close].
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	return open(ctx, url, nil, opts)
}

// open opens a store that is alone, or has a place among shards.
func open(ctx context.Context, url string, place *shard, opts []Option) (*Store, error) {
	o := options{schema: "retry"}
	for _, option := range opts {
		option(&o)
	}
	if o.schema == "" || len(o.schema) > maxSchema || !isText(o.schema) || strings.HasPrefix(o.schema, "pg_") {
		return nil, fmt.Errorf("%w: the schema %.60q is not possible: use a name of 1 to %d bytes without pg_",
			storage.ErrStore, o.schema, maxSchema)
	}
	s := &Store{schema: o.schema, channel: "retrygen:" + o.schema, texts: newTexts(o.schema)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	config, err := s.configure(url)
	if err != nil {
		return nil, err
	}
	c := config.ConnConfig
	s.name = fmt.Sprintf("%s/%s, schema %s", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database, s.schema)
	if err := s.hub.configure(s, cmp.Or(o.listen, url)); err != nil {
		return nil, err
	}
	if err = s.connect(config); err == nil {
		err = s.migrate(ctx, o.existing, place)
	}
	if err != nil {
		return nil, errors.Join(s.fail(ctx, err), s.Close())
	}
	s.running.Go(s.maintain)
	return s, nil
}

// connect makes the pools, which connect when they are used.
func (s *Store) connect(config *pgxpool.Config) (err error) {
	if s.pool, err = pgxpool.NewWithConfig(s.ctx, config); err != nil {
		return err
	}
	config = config.Copy()
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	if s.leases, err = pgxpool.NewWithConfig(s.ctx, config); err != nil {
		return err
	}
	config = config.Copy()
	config.BeforeConnect, config.MaxConnIdleTime = nil, time.Minute
	s.maintenance, err = pgxpool.NewWithConfig(s.ctx, config)
	return err
}

// configure returns the configuration of a pool for url.
func (s *Store) configure(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil { // which may contain the password
		return nil, fmt.Errorf("%w: the URL of the database is not valid: "+
			"write postgres://user:password@host:5432/database?sslmode=verify-full", storage.ErrStore)
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = maxConns
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "retrygen"
	}
	// A statement whose context ends is canceled, and its connection is kept.
	c.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	c.OnNotice = notice
	config.BeforeConnect, config.AfterConnect = s.startsWith, s.identify
	return config, nil
}

// A server is what is known about the server since the latest connection.
type server struct {
	fsync       bool
	standby     bool   // a synchronous one exists
	incarnation string // system identifier, timeline, and mark
	database    string
	mark        string // of the schema; "" while there is none
}

// identify checks that the server can be used, and whether it is still the same.
func (s *Store) identify(ctx context.Context, c *pgx.Conn) error {
	var now server
	var version int
	var encoding string
	var recovering bool
	err := c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
	pg_is_in_recovery(), current_setting('fsync') = 'on', current_setting('synchronous_standby_names') <> '',
	current_database()`,
		pgx.QueryExecModeExec).Scan(&version, &encoding, &recovering, &now.fsync, &now.standby, &now.database)
	switch {
	case err != nil:
		return err
	case version < oldestServer:
		return fmt.Errorf("%w: it has version %d: use PostgreSQL %d or newer", errRefused, version/10000, oldestServer/10000)
	case encoding != "UTF8":
		return fmt.Errorf("%w: the database has the encoding %s: create one with ENCODING 'UTF8'", errRefused, encoding)
	case recovering:
		return &pgconn.PgError{Severity: "ERROR", Code: "25006", Message: "recovery is in progress"}
	}
	err = c.QueryRow(ctx, s.texts.mark, pgx.QueryExecModeExec).Scan(&now.mark)
	if err != nil && !isMissing(err) && !errors.Is(err, pgx.ErrNoRows) { // it is created soon
		return err
	}
	if now.incarnation, err = s.incarnation(ctx, c, now.mark); err == nil {
		s.server.Store(&now)
	}
	return err
}

// incarnation returns what changes when the database may have lost updates: the
// system identifier, the timeline, and a mark that an operator may change. It is
// empty if the server does not reveal them.
func (s *Store) incarnation(ctx context.Context, c *pgx.Conn, mark string) (incarnation string, err error) {
	err = c.QueryRow(ctx, `SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM pg_control_system()`, pgx.QueryExecModeExec).Scan(&incarnation)
	switch {
	case err != nil && isRefused(err):
		return "", nil
	case err == nil && mark != "":
		incarnation += "/" + mark
	}
	return incarnation, err
}

// Guarantee describes the store's guarantees. Acknowledged updates survive the process.
// They survive a power failure, unless the server runs with fsync=off. If there is a
// synchronous standby, they also survive the loss of the machine. The incarnation changes
// after a failover and when a backup is restored. It is read for each new connection.
func (s *Store) Guarantee() storage.Guarantee {
	now := s.server.Load()
	return storage.Guarantee{
		SurvivesProcess: true,
		SurvivesPower:   now.fsync,
		SurvivesNode:    now.fsync && now.standby,
		Shared:          storage.SharedByCluster,
		Incarnation:     now.incarnation,
	}
}

// Close waits for the updates and reads in progress and then closes all connections.
// Later calls return an error. Closing a closed Store does nothing.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.hub.mu.Lock() // nobody starts a goroutine now
		s.cancel()
		s.hub.mu.Unlock()
		s.running.Wait()
		for _, pool := range []*pgxpool.Pool{s.maintenance, s.leases, s.pool} {
			if pool != nil {
				pool.Close()
			}
		}
	})
	return nil
}
