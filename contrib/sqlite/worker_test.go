//go:build unix

package sqlite_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/durabletest/kills"
	"github.com/retrygen/retrygen/runtime/durable/events"
)

func childWork(args []string) {
	must(kills.Work(context.Background(), must1(sqlite.Open(args[0])), os.Stdout))
}

// TestWorkers lets processes work on one file, while they are killed and stopped for
// longer than their lease. contrib/bench/kills does so for longer.
func TestWorkers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	trial := kills.Trial{
		Store: open(t, path), Worker: func() *exec.Cmd { return child("work", path) }, Kills: 20,
	}
	report, err := trial.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(report); len(report.Violations) > 0 || report.Outcomes[events.OutcomeLost] == 0 {
		t.Error("want no violations, and attempts that are lost")
	}
}
