package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestEndedContext: a call whose context had ended before does not blame the server.
func TestEndedContext(t *testing.T) {
	s, err := postgres.Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	keys := []storage.Key{{Kind: storage.KindRun, Run: "one"}}
	none := func(storage.Tx) (storage.Writes, error) { return storage.Writes{}, nil }
	_, read := s.Get(ctx, keys)
	for name, err := range map[string]error{"Get": read, "Update": s.Update(ctx, storage.Select{Keys: keys}, none)} {
		if !errors.Is(err, context.Canceled) || !errors.Is(err, storage.ErrStore) ||
			strings.Contains(err.Error(), "reachable") {
			t.Errorf("%s: %v, want context.Canceled alone", name, err)
		}
	}
}
