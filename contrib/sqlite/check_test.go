package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/contrib/sqlite"
)

// TestCheck: a sound database has no problems; an index that misses a row, and an
// entry without a record, are reported.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retry.db")
	filled(t, path, 100)
	check := func() string {
		t.Helper()
		store, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		problems, err := store.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(problems, "\n")
	}
	if got := check(); got != "" {
		t.Errorf("got %s, want no problems", got)
	}
	db := other(t, path)
	execute(t, db, "INSERT INTO retry_entry VALUES (4, 'test', 'gone', 'step', 1, 0, 0, 0, '{}', NULL)")
	if got, want := check(), "step gone step does not exist; entries of its history: 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	execute(t, db, "PRAGMA writable_schema = ON")
	execute(t, db, "UPDATE sqlite_schema SET sql = replace(sql, 'attention <> 0', 'attention = 0') "+
		"WHERE name = 'retry_attention'")
	if got := check(); !strings.Contains(got, "missing from index retry_attention") {
		t.Errorf("got %s, want rows that are missing from the index", got)
	}
}
