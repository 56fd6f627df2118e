package postgres_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/shared"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// schema returns the option for the schema of a folder.
func schema(dir string) postgres.Option {
	digest := sha256.Sum256([]byte(dir))
	return postgres.Schema(hex.EncodeToString(digest[:8]))
}

func TestConformance(t *testing.T) {
	url := pgtest.URL(t)
	durabletest.Run(t, func(t *testing.T, dir string) storage.Store {
		store, err := postgres.Open(t.Context(), url, schema(dir))
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}

func TestSharedBudget(t *testing.T) {
	url := pgtest.URL(t)
	durabletest.RunBudget(t, func(t *testing.T, dir string) shared.Store { return open(t, url, schema(dir)) })
}

func TestSharedBreaker(t *testing.T) {
	url := pgtest.URL(t)
	durabletest.RunBreaker(t, func(t *testing.T, dir string) shared.Store { return open(t, url, schema(dir)) })
}
