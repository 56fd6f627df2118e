package postgres_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
)

func TestConformance(t *testing.T) {
	url := pgtest.URL(t)
	durabletest.Run(t, func(t *testing.T, dir string) durable.Store {
		digest := sha256.Sum256([]byte(dir))
		store, err := postgres.Open(t.Context(), url, postgres.Schema(hex.EncodeToString(digest[:8])))
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}
