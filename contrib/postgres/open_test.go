package postgres_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestConcurrentOpen: many processes create the schema at once.
func TestConcurrentOpen(t *testing.T) {
	url := pgtest.URL(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			store, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			if err := tryPut(t, store, storage.Record{Key: stepKey(fmt.Sprint(i)), Bucket: month}); err != nil {
				t.Error(err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	steps, _, err := open(t, url).List(t.Context(), storage.Query{Kind: storage.KindStep, Space: "test"})
	if len(steps) != 16 || err != nil {
		t.Errorf("got %d steps and error %v, want 16", len(steps), err)
	}
}

// TestSchemas: stores in two schemas of a database share nothing. Names need not be
// identifiers.
func TestSchemas(t *testing.T) {
	url := pgtest.URL(t)
	names := []string{"a", `B "quoted"; DROP TABLE x`, "ü.ü", strings.Repeat("n", 50)}
	for i, name := range names {
		store := open(t, url, postgres.Schema(name))
		put(t, store, storage.Record{Key: stepKey("a"), Status: storage.Status(i + 1), Bucket: month})
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	for i, name := range names {
		store := open(t, url, postgres.Schema(name))
		if got := get(t, store, stepKey("a")); got.Status != storage.Status(i+1) || got.Version != 1 {
			t.Errorf("schema %q: got %+v", name, got)
		}
	}
	for _, name := range []string{"", "pg_retry", "a\x00b", "a\xff", strings.Repeat("n", 51)} {
		if _, err := postgres.Open(t.Context(), url, postgres.Schema(name)); !errors.Is(err, storage.ErrStore) ||
			!strings.Contains(err.Error(), "use a name of 1 to 50 bytes without pg_") {
			t.Errorf("schema %q: got error %v", name, err)
		}
	}
}

// TestRefused opens schemas that are not usable, and changes nothing.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ name, change, want string }{
		{
			"newer format", "UPDATE retry.retry_meta SET value = '8' WHERE key = 'oldest_writer'",
			"written by a newer version, format 8: this program knows formats up to 6; upgrade it",
		}, {
			"older format", "UPDATE retry.retry_meta SET value = '5' WHERE key IN ('format', 'oldest_writer')",
			"written by an older version, format 5, and this program knows 6: use the version of the program that writes it",
		}, {
			"format is no number", "UPDATE retry.retry_meta SET value = 'x' WHERE key = 'format'",
			`format in retry_meta is "x" and not a number: restore a backup`,
		}, {
			"no format", "DELETE FROM retry.retry_meta", "retry_meta has no oldest_writer: restore a backup",
		}, {
			"no tables", "DROP TABLE retry.retry_step", "the tables are missing: restore a backup",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := pgtest.URL(t)
			store := open(t, url)
			put(t, store, storage.Record{Key: stepKey("a"), Bucket: month})
			pgtest.Exec(t, url, test.change)
			_, err := postgres.Open(t.Context(), url)
			if test.name == "no tables" { // noticed when they are used
				err = tryPut(t, store, storage.Record{Key: stepKey("b"), Bucket: month})
			}
			if !errors.Is(err, storage.ErrFormat) || !strings.Contains(err.Error(), "schema retry: "+test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

// TestPrivileges: a user without privileges can use the tables that another has
// created, as far as it is allowed to, and gets an advice.
func TestPrivileges(t *testing.T) {
	owner := pgtest.URL(t)
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	pgtest.Exec(t, owner, "CREATE USER "+name+" PASSWORD '"+secret+"'")
	t.Cleanup(func() { pgtest.Exec(t, owner, "DROP OWNED BY "+name+"; DROP USER "+name) })
	u.User = url.UserPassword(name, secret)
	if _, err := postgres.Open(t.Context(), u.String()); !errors.Is(err, storage.ErrStore) ||
		!strings.Contains(err.Error(), "permission is denied: let the user create") {
		t.Errorf("got error %v", err)
	}
	admin := open(t, owner)
	pgtest.Exec(t, owner, "GRANT USAGE ON SCHEMA retry TO "+name+
		"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA retry TO "+name)
	user := open(t, u.String())
	r := storage.Record{Key: stepKey("a"), Bucket: month}
	var now string
	pgtest.Scan(t, owner, "SELECT to_char(now(), 'YYYY-MM')", &now)
	put(t, admin, r)
	r.Status = storage.StatusOpen
	put(t, user, r)
	if got := get(t, admin, r.Key); got.Version != 2 {
		t.Errorf("got %+v", got)
	}
	if got, want := user.Guarantee(), admin.Guarantee(); got != want {
		t.Errorf("got the guarantee %+v, want %+v as for the owner", got, want)
	}
}

// TestEncoding: a database that cannot hold all texts is refused.
func TestEncoding(t *testing.T) {
	admin := pgtest.URL(t)
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/") + "_latin"
	pgtest.Exec(t, admin, "CREATE DATABASE "+name+" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	t.Cleanup(func() { pgtest.Exec(t, admin, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	if _, err := postgres.Open(t.Context(), u.String()); !errors.Is(err, storage.ErrStore) ||
		!strings.Contains(err.Error(), "the database has the encoding LATIN1: create one with ENCODING 'UTF8'") {
		t.Errorf("got error %v", err)
	}
}

// TestIncarnation: it is the same for all programs, and changes with the timeline of
// the server and with the mark of the schema.
func TestIncarnation(t *testing.T) {
	server := pgtest.Start(t, "fsync=off")
	url := server.URL(t)
	store := open(t, url)
	first := store.Guarantee()
	want := storage.Guarantee{SurvivesProcess: true, Shared: storage.SharedByCluster, Incarnation: first.Incarnation}
	if first != want || first.Incarnation == "" {
		t.Errorf("got %+v", first)
	}
	if again := open(t, url).Guarantee(); again != first {
		t.Errorf("got %+v after opening it again, %+v before", again, first)
	}
	server.Kill()
	server.Restart(t)
	put(t, store, storage.Record{Key: stepKey("a"), Bucket: month})
	if got := store.Guarantee(); got != first {
		t.Errorf("got %+v after a restart, %+v before", got, first)
	}
	server.Promote(t)
	put(t, store, storage.Record{Key: stepKey("b"), Bucket: month})
	second := store.Guarantee().Incarnation
	if second == first.Incarnation {
		t.Errorf("got %s on another timeline, too", second)
	}
	pgtest.Exec(t, url, "UPDATE retry.retry_meta SET value = gen_random_uuid() WHERE key = 'incarnation'")
	if got := open(t, url).Guarantee().Incarnation; got == second {
		t.Errorf("got %s after the mark was changed, too", got)
	}
}

// TestFsync: a server without fsync does not survive a power failure, and says so.
func TestFsync(t *testing.T) {
	if got := open(t, pgtest.Start(t, "fsync=on").URL(t)).Guarantee(); !got.SurvivesPower || got.SurvivesNode {
		t.Errorf("got %+v", got)
	}
}

// TestReadme runs the SQL of the README.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.URL(t)
	store := open(t, url)
	put(t, store, storage.Record{Key: stepKey("a"), Attention: true, Bucket: month, Body: []byte(`{}`)})
	before := store.Guarantee()
	blocks := strings.Split(string(readme), "```sql\n")[1:]
	if len(blocks) < 7 {
		t.Errorf("the README has %d blocks of SQL", len(blocks))
	}
	for _, block := range blocks {
		statement, _, _ := strings.Cut(block, "```")
		pgtest.Exec(t, url, statement)
	}
	if after := open(t, url).Guarantee(); before == after {
		t.Error("the incarnation did not change")
	}
}

// TestExisting opens a database without a store, and one with it.
func TestExisting(t *testing.T) {
	url := pgtest.URL(t)
	store, err := postgres.Open(t.Context(), url, postgres.Existing())
	if err == nil {
		store.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "it has no store yet") {
		t.Errorf("got %v, want one that matches fs.ErrNotExist", err)
	}
	if err := open(t, url).Close(); err != nil {
		t.Error(err)
	}
	if store, err = postgres.Open(t.Context(), url, postgres.Existing()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
