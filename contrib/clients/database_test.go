package clients

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"reflect"
	"testing"
	"unsafe"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-sql-driver/mysql"
	"github.com/gocql/gocql"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
	"github.com/mattn/go-sqlite3"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	mongo1 "go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"modernc.org/sqlite"
)

// databaseClients are clients of databases.
func databaseClients(t *testing.T) []client {
	postgres := func(code string) error { return &pgconn.PgError{Code: code, Message: "m"} }
	_, refused := pgconn.Connect(t.Context(), "postgres://u@127.0.0.1:1/db?connect_timeout=1")
	my := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: "m"} }
	return []client{
		{"database/sql", []failure{
			{"ErrNoRows", permanent, sql.ErrNoRows},
			{"ErrBadConn", transient, driver.ErrBadConn},
			{"ErrTxDone", permanent, sql.ErrTxDone},
			{"ErrConnDone", permanent, sql.ErrConnDone},
		}},
		{"pgx", []failure{
			{"23505 unique", permanent, postgres("23505")},
			{"42P01 undefined table", permanent, postgres("42P01")},
			{"40001 serialization", conflict, postgres("40001")},
			{"57P01 admin shutdown", transient, postgres("57P01")},
			{"53300 too many connections", transient, postgres("53300")},
			{"28P01 password", permanent, postgres("28P01")},
			{"57014 canceled", permanent, postgres("57014")},
			{"connect refused", transient, refused},
			{"ErrNoRows", permanent, pgx.ErrNoRows},
		}},
		{"lib/pq", []failure{
			{"23505", permanent, &pq.Error{Code: "23505"}},
			{"57P01", transient, &pq.Error{Code: "57P01"}},
			{"40P01", conflict, &pq.Error{Code: "40P01"}},
			{"08006", transient, &pq.Error{Code: "08006"}},
		}},
		{"go-sql-driver/mysql", []failure{
			{"1062 duplicate", permanent, my(1062)},
			{"1213 deadlock", conflict, my(1213)},
			{"1040 too many connections", transient, my(1040)},
			{"1205 lock wait", conflict, my(1205)},
			{"1053 shutdown", transient, my(1053)},
			{"1045 access denied", permanent, my(1045)},
			{"1290 read-only", transient, my(1290)},
			{"ErrInvalidConn", transient, mysql.ErrInvalidConn},
		}},
		{"modernc.org/sqlite", []failure{
			{"5 BUSY", transient, sqliteBusy(t)},
			{"1555 constraint", permanent, sqliteConstraint(t)},
		}},
		{"mattn/go-sqlite3", []failure{
			{"BUSY", transient, sqlite3.Error{Code: sqlite3.ErrBusy}},
			{"LOCKED", transient, sqlite3.Error{Code: sqlite3.ErrLocked}},
			{"CONSTRAINT", permanent, sqlite3.Error{Code: sqlite3.ErrConstraint}},
		}},
		{"go-mssqldb", []failure{
			{"2627 duplicate", permanent, mssql.Error{Number: 2627}},
			{"1205 deadlock", conflict, mssql.Error{Number: 1205}},
			{"40613 unavailable", transient, mssql.Error{Number: 40613}},
			{"40501 busy", throttled, mssql.Error{Number: 40501}},
			{"18456 login", permanent, mssql.Error{Number: 18456}},
		}},
		{"mongo-driver v1", mongoFailures(mongo1.ErrNoDocuments, func(code int32, labels ...string) error {
			return mongo1.CommandError{Code: code, Labels: labels, Message: "m"}
		})},
		{"mongo-driver v2", mongoFailures(mongo.ErrNoDocuments, func(code int32, labels ...string) error {
			return mongo.CommandError{Code: code, Labels: labels, Message: "m"}
		})},
		{"gocql", []failure{
			{"unavailable", transient, cassandra[gocql.RequestErrUnavailable](gocql.ErrCodeUnavailable)},
			{"read timeout", transient, cassandra[gocql.RequestErrReadTimeout](gocql.ErrCodeReadTimeout)},
			{"already exists", permanent, cassandra[gocql.RequestErrAlreadyExists](gocql.ErrCodeAlreadyExists)},
			{"ErrNotFound", permanent, gocql.ErrNotFound},
			{"ErrTimeoutNoResponse", transient, gocql.ErrTimeoutNoResponse},
			{"ErrNoConnections", transient, gocql.ErrNoConnections},
			{"ErrConnectionClosed", transient, gocql.ErrConnectionClosed},
		}},
		{"clickhouse-go", []failure{
			{"60 unknown table", permanent, &clickhouse.Exception{Code: 60}},
			{"202 too many queries", throttled, &clickhouse.Exception{Code: 202}},
			{"159 timeout", transient, &clickhouse.Exception{Code: 159}},
			{"516 auth", permanent, &clickhouse.Exception{Code: 516}},
			{"pool", transient, clickhouse.ErrAcquireConnTimeout},
		}},
		{"go-redis v9", []failure{
			{"LOADING", transient, goRedis(t, "-LOADING Redis is loading")},
			{"READONLY", transient, goRedis(t, "-READONLY You can't write")},
			{"CLUSTERDOWN", transient, goRedis(t, "-CLUSTERDOWN The cluster is down")},
			{"Nil", permanent, goRedis(t, "$-1")},
			{"WRONGTYPE", permanent, goRedis(t, "-WRONGTYPE Operation")},
			{"NOAUTH", permanent, goRedis(t, "-NOAUTH Authentication required.")},
			{"pool timeout", transient, redis.ErrPoolTimeout},
		}},
		{"redigo", []failure{
			{"LOADING", transient, redigoGet(t, "-LOADING Redis is loading")},
			{"nil", permanent, redigoGet(t, "$-1")},
			{"WRONGTYPE", permanent, redigoGet(t, "-WRONGTYPE Operation")},
			{"pool", transient, redigo.ErrPoolExhausted},
		}},
		{"rueidis", []failure{
			{"LOADING", transient, rueidisGet(t, "-LOADING Redis is loading")},
			{"nil", permanent, rueidisGet(t, "$-1")},
			{"WRONGTYPE", permanent, rueidisGet(t, "-WRONGTYPE Operation")},
		}},
	}
}

// mongoFailures returns the failures of a driver of MongoDB. command returns an
// error of a command.
func mongoFailures(none error, command func(code int32, labels ...string) error) []failure {
	return []failure{
		{"11600 RetryableWriteError", transient, command(11600, "RetryableWriteError")},
		{"NetworkError", transient, command(0, "NetworkError")},
		{"112 TransientTransactionError", conflict, command(112, "TransientTransactionError")},
		{"13 Unauthorized", permanent, command(13)},
		{"no documents", permanent, none},
	}
}

// cassandra returns a *T with a code. Only the decoder of gocql can set it.
func cassandra[T any](code int) error {
	e := new(T)
	field := reflect.ValueOf(e).Elem().FieldByName("errorFrame").FieldByName("code")
	*(*int)(unsafe.Pointer(field.UnsafeAddr())) = code
	return any(e).(error)
}

// sqliteBusy returns the error of a write while another connection writes.
func sqliteBusy(t *testing.T) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db := sqliteOpen(t, path, "create table t(x primary key)")
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.ExecContext(t.Context(), "begin exclusive"); err != nil {
		t.Fatal(err)
	}
	_, err = sqliteOpen(t, path).Exec("insert into t values(1)")
	return err
}

// sqliteConstraint returns the error of a row that exists already.
func sqliteConstraint(t *testing.T) error {
	t.Helper()
	db := sqliteOpen(t, ":memory:", "create table t(x primary key)", "insert into t values(1)")
	_, err := db.Exec("insert into t values(1)")
	return err
}

// sqliteOpen opens a database with one connection, and executes statements.
func sqliteOpen(t *testing.T, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

var _ error = (*sqlite.Error)(nil) // the driver is registered by its import

func goRedis(t *testing.T, reply string) error {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: redisServer(t, reply), MaxRetries: -1})
	defer func() { _ = c.Close() }()
	return c.Get(t.Context(), "k").Err()
}

func redigoGet(t *testing.T, reply string) error {
	t.Helper()
	c, err := redigo.Dial("tcp", redisServer(t, reply))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, err = redigo.String(c.Do("GET", "k"))
	return err
}

func rueidisGet(t *testing.T, reply string) error {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{redisServer(t, reply)}, AlwaysRESP2: true, DisableCache: true, DisableRetry: true,
		ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Do(context.Background(), c.B().Get().Key("k").Build()).Error()
}
