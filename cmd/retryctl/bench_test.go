package main

import (
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest/bigstore"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var (
	bigRuns  = flag.Int("runs", 1_000, "runs of the store of BenchmarkCommands")
	bigSteps = flag.Int("steps", 100_000, "steps of the store of BenchmarkCommands")
)

// BenchmarkCommands measures commands on a large SQLite store, opening included:
//
//	go test -run '^$' -bench Commands -runs 10000 -steps 1000000 -benchtime 3x .
func BenchmarkCommands(b *testing.B) {
	path := filepath.Join(b.TempDir(), "retry.db")
	store, err := sqlite.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	size := bigstore.Size{Runs: *bigRuns, Steps: *bigSteps, Until: time.Now()}
	begun := time.Now()
	if err := bigstore.Fill(b.Context(), store, size); err != nil {
		b.Fatal(err)
	}
	b.Logf("filled in %v", time.Since(begun).Round(time.Second))
	largest := ""
	e, err := durable.New(store)
	if err != nil {
		b.Fatal(err)
	}
	q := storage.Query{Status: []storage.Status{storage.StatusFailed}, Limit: 1}
	for r, err := range e.Admin().List(b.Context(), q) {
		if err != nil {
			b.Fatal(err)
		}
		largest = r.ID
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	b.Setenv("RETRYCTL_STORE", "sqlite:"+path)
	for _, command := range []string{
		"runs", "runs -order oldest", "runs -status paused", "runs -handler settle -status failed",
		"runs -prefix settle-2026", "run " + largest, "dead list", "dead list -class timeout",
		"dead list -class " + string(bigstore.Rare), "dead list -class other", "breakers", "budgets",
		"stats -patterns 5", "verify", "export",
	} {
		b.Run(strings.ReplaceAll(command, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				var problems strings.Builder
				if status := run(strings.Fields(command), io.Discard, &problems); status != 0 {
					b.Fatalf("status %d: %s", status, &problems)
				}
			}
		})
	}
}
