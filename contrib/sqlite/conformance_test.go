package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestConformance(t *testing.T) {
	durabletest.Run(t, func(t *testing.T, dir string) storage.Store {
		store, err := sqlite.Open(filepath.Join(dir, "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}
