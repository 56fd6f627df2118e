package postgres_test

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// open opens a store that is closed when the test ends.
func open(t testing.TB, url string, options ...postgres.Option) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func stepKey(id string) storage.Key {
	return storage.Key{Kind: storage.KindStep, Space: "test", Run: "run", ID: id}
}

func runKey(id string) storage.Key {
	return storage.Key{Kind: storage.KindRun, Space: "test", Run: id}
}

// month is the bucket of the records of these tests.
var month = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// put writes whole records.
func put(t testing.TB, store storage.Store, records ...storage.Record) {
	t.Helper()
	if err := tryPut(t, store, records...); err != nil {
		t.Fatal(err)
	}
}

func tryPut(t testing.TB, store storage.Store, records ...storage.Record) error {
	var keys []storage.Key
	for _, r := range records {
		keys = append(keys, r.Key)
	}
	return store.Update(t.Context(), storage.Select{Keys: keys}, func(storage.Tx) (storage.Writes, error) {
		return storage.Writes{Put: records}, nil
	})
}

func get(t testing.TB, store storage.Store, key storage.Key) storage.Record {
	t.Helper()
	records, err := store.Get(t.Context(), []storage.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	return records[0]
}

func TestRecordHasAllFields(t *testing.T) {
	store := open(t, pgtest.URL(t))
	for _, kind := range []storage.Kind{storage.KindRun, storage.KindStep} {
		want := storage.Record{
			Key: storage.Key{Kind: kind, Space: "naïve", Run: "a/b", ID: "c'd"}, Version: 1,
			Status: storage.StatusParked, Owner: "o", Fence: 1<<63 - 1, Handler: "h",
			Due: time.Date(2026, 11, 22, 1, 2, 3, 4000, time.UTC), Attention: true,
			Bucket: month, Body: []byte(`{"text":"ü"}`),
		}
		put(t, store, want)
		if got := get(t, store, want.Key); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		least := storage.Record{Key: storage.Key{Kind: kind}, Version: 1, Body: []byte{}}
		put(t, store, least)
		if got := get(t, store, least.Key); !reflect.DeepEqual(got, least) {
			t.Errorf("got %+v, want %+v", got, least)
		}
	}
}

func TestRepeatWritesNothing(t *testing.T) {
	store := open(t, pgtest.URL(t))
	r := storage.Record{Key: stepKey("a"), Status: storage.StatusOpen, Due: month.Add(1234), Bucket: month,
		Body: []byte("1")}
	put(t, store, r)
	put(t, store, r)
	if got := get(t, store, r.Key).Version; got != 1 {
		t.Errorf("version %d after the same write again, want 1", got)
	}
	r.Body = []byte("2")
	put(t, store, r)
	if got := get(t, store, r.Key).Version; got != 2 {
		t.Errorf("version %d after another write, want 2", got)
	}
}

func TestClosed(t *testing.T) {
	store := open(t, pgtest.URL(t))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, storage.ErrStore) || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	check("Update", tryPut(t, store, storage.Record{Key: stepKey("a")}))
	_, err := store.Get(t.Context(), nil)
	check("Get", err)
	_, err = store.Notifications(t.Context(), "test")
	check("Notifications", err)
}

// secret must not be in any error.
const secret = "Vt6p0.9,secret"

// TestUnreachable opens stores on servers that do not exist, do not answer, or refuse.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	server := strings.TrimPrefix(pgtest.URL(t), "postgres://postgres@")
	for name, test := range map[string]struct{ url, want string }{
		"refused": {"postgres://u:" + secret + "@127.0.0.1:1/db",
			"127.0.0.1:1/db, schema retry: the server is not reachable"},
		"silent": {"postgres://u:" + secret + "@" + silent.Addr().String() + "/db?connect_timeout=1",
			"the server is not reachable"},
		"no database": {"postgres://postgres:" + secret + "@" + strings.Replace(server, "/test_", "/none_", 1),
			"the database does not exist"},
		"no user":   {"postgres://nobody:" + secret + "@" + server, "the server refuses the user"},
		"no URL":    {"postgres://u:" + secret + "@:x:y/%zz", "the URL of the database is not valid"},
		"no number": {"host=localhost password=" + secret + " port=many", "the URL of the database is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			begin := time.Now()
			_, err := postgres.Open(ctx, test.url)
			if !errors.Is(err, storage.ErrStore) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error has the password: %v", err)
			}
			if d := time.Since(begin); d > 30*time.Second {
				t.Errorf("the error came after %v", d)
			}
		})
	}
}

// TestCanceledOpen: the error of a call that its caller has ended does not blame the server.
func TestCanceledOpen(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("the program ends")) })
	_, err = postgres.Open(ctx, "postgres://u:"+secret+"@"+silent.Addr().String()+"/db")
	if err == nil || !strings.Contains(err.Error(), "the program ends") || strings.Contains(err.Error(), "not reachable") {
		t.Errorf("got %v", err)
	}
}

// TestErrorOfSeveralHosts: an error is one line, and names the server of the store.
func TestErrorOfSeveralHosts(t *testing.T) {
	_, err := postgres.Open(t.Context(), "postgres://u:"+secret+"@127.0.0.1:1,127.0.0.2:1/db",
		postgres.Listen("postgres://u:"+secret+"@127.0.0.3:1/other"))
	if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), secret) ||
		!strings.Contains(err.Error(), "127.0.0.1:1/db, schema retry: the server is not reachable") {
		t.Errorf("got %q", err)
	}
}
