package postgres_test

import (
	"slices"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestCheck: an entry without a record is reported.
func TestCheck(t *testing.T) {
	store := open(t, pgtest.URL(t))
	put(t, store, storage.Record{Key: stepKey("a"), Bucket: month})
	add := func(id string) {
		t.Helper()
		err := store.Update(t.Context(), storage.Select{Keys: []storage.Key{stepKey(id)}},
			func(storage.Tx) (storage.Writes, error) {
				return storage.Writes{Add: []storage.Entry{{Step: stepKey(id), Attempt: 1, Bucket: month, Body: []byte("{}")}}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("a")
	if problems, err := store.Check(t.Context()); len(problems) > 0 || err != nil {
		t.Errorf("got %q, %v, want no problems", problems, err)
	}
	add("b")
	problems, err := store.Check(t.Context())
	want := []string{stepKey("b").String() + " does not exist; entries of its history: 1"}
	if !slices.Equal(problems, want) || err != nil {
		t.Errorf("got %q, %v, want %q", problems, err, want)
	}
}
