package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// other opens the database at path as another program does.
func other(t testing.TB, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func execute(t testing.TB, conn *sql.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// filled creates a database with n records, and closes it.
func filled(t testing.TB, path string, n int) {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var records []storage.Record
	for i := range n {
		records = append(records, storage.Record{Key: stepKey(fmt.Sprint(i)), Body: bytes.Repeat([]byte("1"), 300)})
	}
	put(t, store, records...)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// change changes the bytes of a closed database.
func change(t testing.TB, path string, edit func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, edit(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fileNames returns the names of the files in a folder.
func fileNames(t testing.TB, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestRefused opens files that are not usable. They must not change.
func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"newer format", func(t *testing.T, path string) {
			filled(t, path, 1)
			execute(t, other(t, path), "UPDATE retry_meta SET value = '7' WHERE key = 'oldest_writer'")
		}, "written by a newer version, format 7: this program knows formats up to 5; upgrade it"},
		{"older format", func(t *testing.T, path string) {
			filled(t, path, 1)
			execute(t, other(t, path), "UPDATE retry_meta SET value = '4' WHERE key IN ('format', 'oldest_writer')")
		}, "written by an older version, format 4, and this program knows 5: use the version of the program that writes it"},
		{"format is no number", func(t *testing.T, path string) {
			filled(t, path, 1)
			execute(t, other(t, path), "UPDATE retry_meta SET value = 'x' WHERE key = 'format'")
		}, `format in retry_meta is "x" and not a number: restore a backup`},
		{"no format", func(t *testing.T, path string) {
			filled(t, path, 1)
			execute(t, other(t, path), "DELETE FROM retry_meta")
		}, "retry_meta has no oldest_writer: restore a backup"},
		{"another program", func(t *testing.T, path string) {
			execute(t, other(t, path), "CREATE TABLE theirs (x)")
		}, "the database of another program: choose another path"},
		{"another empty program", func(t *testing.T, path string) {
			execute(t, other(t, path), "PRAGMA application_id = 5")
		}, "the database of another program: choose another path"},
		{"text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("policies:\n"), 1000), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not a SQLite database, or damaged: choose another path or restore a backup"},
		{"short text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("hello"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not a SQLite database, or damaged: choose another path or restore a backup"},
		{"truncated", func(t *testing.T, path string) {
			filled(t, path, 100)
			change(t, path, func(data []byte) []byte { return data[:len(data)/2] })
		}, "damaged: keep a copy of the file and its -wal, and restore a backup"},
		{"scribbled header", func(t *testing.T, path string) {
			filled(t, path, 100)
			change(t, path, func(data []byte) []byte { copy(data, "scribbled"); return data })
		}, "not a SQLite database, or damaged: choose another path or restore a backup"},
		{"scribbled schema", func(t *testing.T, path string) {
			filled(t, path, 100)
			change(t, path, func(data []byte) []byte { copy(data[100:4096], strings.Repeat("x", 3996)); return data })
		}, "damaged: keep a copy of the file and its -wal, and restore a backup"},
		{"lost, except the WAL", func(t *testing.T, path string) {
			filled(t, path, 1)
			change(t, path, func([]byte) []byte { return nil })
			if err := os.WriteFile(path+"-wal", []byte("frames"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "the database is lost, but not its -wal: restore a backup, or move the -wal away"},
		{"folder", func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Join(path, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file: choose another path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			test.make(t, path)
			before, _ := os.ReadFile(path)
			files := fileNames(t, filepath.Dir(path))
			_, err := sqlite.Open(path)
			if !errors.Is(err, storage.ErrFormat) {
				t.Fatalf("got %v", err)
			}
			if got := err.Error(); !strings.Contains(got, path+": "+test.want) {
				t.Errorf("got %q, want the path and %q", got, test.want)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file has changed")
			}
			if left := fileNames(t, filepath.Dir(path)); !slices.Equal(files, left) {
				t.Errorf("left the files %q, there were %q", left, files)
			}
		})
	}
}

// TestEmptyFiles opens files that nobody has written to.
func TestEmptyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, open(t, path), storage.Record{Key: stepKey("a"), Body: body(1)})

	// As a process leaves it that was killed before it wrote the schema.
	path = filepath.Join(t.TempDir(), "state.db")
	execute(t, other(t, path), "PRAGMA journal_mode = WAL")
	put(t, open(t, path), storage.Record{Key: stepKey("a"), Body: body(1)})
}

func TestNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "state.db")
	if _, err := sqlite.Open(path); !errors.Is(err, storage.ErrStore) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := sqlite.Open(""); !errors.Is(err, storage.ErrStore) {
		t.Errorf("got %v", err)
	}
}

// TestNewerFormatWhileOpen migrates the database as a newer process would:
// the older one stops.
func TestNewerFormatWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	r := storage.Record{Key: stepKey("a"), Body: body(1)}
	put(t, store, r)
	conn := other(t, path)
	execute(t, conn, "UPDATE retry_meta SET value = '6' WHERE key = 'format'")
	r.Body = body(2)
	put(t, store, r) // the oldest writer is still format 5
	execute(t, conn, "UPDATE retry_meta SET value = '6' WHERE key = 'oldest_writer'")
	if err := tryPut(t, store, r); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("Update: got %v", err)
	}
	if _, err := store.Get(t.Context(), []storage.Key{r.Key}); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("Get: got %v", err)
	}
	execute(t, conn, "UPDATE retry_meta SET value = '4' WHERE key = 'oldest_writer'")
	if got := get(t, store, r.Key); got.Version != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestDamageWhileOpen scribbles over the leaves of a table. The store stops
// writing for good.
func TestDamageWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	filled(t, path, 1000)
	change(t, path, func(data []byte) []byte {
		for page := 20 * 4096; page < 60*4096; page += 4096 {
			copy(data[page:], bytes.Repeat([]byte{0xff}, 64))
		}
		return data
	})
	store := open(t, path)
	var damage error
	for i := 0; i < 1000 && damage == nil; i++ {
		damage = tryPut(t, store, storage.Record{Key: stepKey(fmt.Sprint(i)), Body: body(i)})
	}
	if !errors.Is(damage, storage.ErrFormat) || !strings.Contains(damage.Error(), path+": damaged: keep a copy") {
		t.Fatalf("got %v", damage)
	}
	err := tryPut(t, store, storage.Record{Key: storage.Key{Kind: storage.KindRun, Run: "new"}, Body: body(1)})
	if err == nil || err.Error() != damage.Error() {
		t.Errorf("got %v, want the same error again", err)
	}
}

// TestReplacedWhileOpen deletes and replaces the database of an open store.
func TestReplacedWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	r := storage.Record{Key: stepKey("a"), Body: body(1)}
	put(t, store, r)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	r.Body = body(2)
	if err := tryPut(t, store, r); !errors.Is(err, storage.ErrStore) {
		t.Errorf("deleted: got %v", err)
	}
	if _, err := store.Get(t.Context(), []storage.Key{r.Key}); !errors.Is(err, storage.ErrStore) {
		t.Errorf("deleted: got %v", err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tryPut(t, store, r); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("replaced by an empty file: got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	filled(t, path, 1)
	put(t, store, r)
	if got := get(t, store, stepKey("0")); got.Version != 1 {
		t.Errorf("restored: got %+v", got)
	}
}

func TestContextEnded(t *testing.T) {
	store := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := store.Update(ctx, storage.Select{Keys: []storage.Key{stepKey("0")}}, func(storage.Tx) (storage.Writes, error) {
		t.Error("decide was called")
		return storage.Writes{}, nil
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, storage.ErrStore) {
		t.Errorf("got %v", err)
	}
}

// TestExisting opens databases that are missing, empty, older and current: nothing
// is created or migrated.
func TestExisting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retry.db")
	refused := func(want string) error {
		t.Helper()
		store, err := sqlite.Open(path, sqlite.Existing())
		if err == nil {
			store.Close()
			t.Fatalf("opened, want an error with %q", want)
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		return err
	}
	if err := refused("there is no database"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, storage.ErrStore) {
		t.Errorf("got %v, want one that matches fs.ErrNotExist and storage.ErrStore", err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); len(files) > 0 || err != nil {
		t.Errorf("the folder has %v, %v: want nothing", files, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("not a database yet")
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		t.Errorf("the empty file has changed: %v, %v", info, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	filled(t, path, 1)
	execute(t, other(t, path), "UPDATE retry_meta SET value = '0' WHERE key = 'format'")
	refused("not a database yet")
	execute(t, other(t, path), "UPDATE retry_meta SET value = '4' WHERE key = 'format'")
	refused("written by an older version, format 4")
	execute(t, other(t, path), "UPDATE retry_meta SET value = '5' WHERE key = 'format'")
	store, err := sqlite.Open(path, sqlite.Existing())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
