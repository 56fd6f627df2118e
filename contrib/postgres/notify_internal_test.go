package postgres

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestNotificationsEnd: when the connection cannot be made again, the channels are
// closed. Another call makes it again as soon as the server allows it.
func TestNotificationsEnd(t *testing.T) {
	saved := again
	t.Cleanup(func() { again = saved })
	again.Schedule.MaxAttempts, again.Schedule.InitialDelay = 2, time.Millisecond
	address := pgtest.URL(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	database := u.Path[1:]
	u.Path = "/postgres" // the server refuses to do it from within
	allow := func(allowed bool) {
		t.Helper()
		pgtest.Exec(t, u.String(), fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", database, allowed))
	}
	s, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // before the policy is restored
	wakes, err := s.Notifications(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	allow(false)
	pgtest.Exec(t, u.String(), fmt.Sprintf(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = '%s' AND query LIKE 'LISTEN %%'`, database))
	select {
	case _, open := <-wakes:
		if open {
			t.Error("got a notification, want that the channel is closed")
		}
	case <-time.After(time.Minute):
		t.Fatal("the channel is open although nothing is received")
	}
	if _, err := s.Notifications(t.Context(), "test"); err == nil {
		t.Error("got no error of a database that allows no connections")
	}
	allow(true)
	if wakes, err = s.Notifications(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	month := monthOf(time.Now().UTC())
	apply(t, s, storage.Writes{Put: []storage.Record{
		{Key: key(storage.KindRun, "r", ""), Status: storage.StatusOpen, Due: month, Bucket: month},
	}})
	select {
	case _, open := <-wakes:
		if !open {
			t.Error("the channel is closed")
		}
	case <-time.After(time.Minute):
		t.Error("no notification")
	}
}
