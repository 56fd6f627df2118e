//go:build unix

// Package pgtest starts PostgreSQL servers for tests, and a proxy that can break
// connections.
//
// The server's programs, initdb and postgres, are looked up in PATH and in the folder of
// Debian's postgresql package. If the test runs as root, they are executed as the user
// postgres or nobody. The test binary should contain
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// [URL] returns a separate database for each test.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable is the environment variable that may contain the URL of a server for [URL].
// The user in the URL must be allowed to create databases. If the variable is not set, a
// server is started.
const Variable = "RETRYGEN_POSTGRES"

// shared is the server of a test binary, which the first test starts.
var shared struct {
	once   sync.Once
	server *Server
	url    string
	err    error
}

// Main runs the tests and then stops the server that [URL] has started. It returns the
// exit status.
func Main(m *testing.M) int {
	defer func() {
		if shared.server != nil {
			shared.server.Remove()
		}
	}()
	return m.Run()
}

// URL returns the URL of an empty database, which is dropped when the test ends. All
// tests of a test binary share one server, which has fsync=off. Tests that stop a server
// call [Start].
func URL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if shared.url = os.Getenv(Variable); shared.url == "" {
			if shared.server, shared.err = New("fsync=off"); shared.err == nil {
				shared.url = shared.server.DatabaseURL("postgres")
			}
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return newDatabase(t, shared.url)
}

// newDatabase creates a database on a server, and drops it when the test ends.
func newDatabase(t testing.TB, server string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:12])
	execute := func(text string) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn, err := pgx.Connect(ctx, server)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, text)
		return err
	}
	if err := execute("CREATE DATABASE " + name + " ENCODING 'UTF8' TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Logf("dropping the database of the test: %v", err) // the test may have killed the server
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// Exec executes statements in the database at url, as a separate program would.
func Exec(t testing.TB, url, statements string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

// Scan executes a statement in the database at url and scans its only row.
func Scan(t testing.TB, url, statement string, into ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, statement).Scan(into...); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}
