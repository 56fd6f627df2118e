//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
)

// program is the first argument that makes the test binary the program.
const program = "-program"

// TestMain lets the test binary be the program and its workers.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == program {
		os.Exit(run(args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(args) > 0 && args[0] == "-worker" {
		os.Exit(run(args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(pgtest.Main(m))
}

// acts are the lines of the report that are always there, in this order. # is any
// number.
var acts = []string{
	"import-1: 200 shards of 4 data centers, 4 workers, STORE",
	"worker # was killed, with kill -9, after 40 shards",
	"data center south disappeared after 100 shards",
	"final result: # of 200 shards, # rows (all_dcs_reported)",
	"the budget granted 40 of 40 retries, and refused #: they would have been a storm",
	"dead letters: # that may succeed now (reprocess), # to look at",
	"data center south is back, and ada has requeued # dead letters",
	"final result: 200 of 200 shards, # rows (all_dcs_reported)",
	"checked: 200 shards, each stored once; # attempts, each recorded and executed once",
	"checked: # attempts lost with the worker; # repeated writes recognized by their key; # retries, each granted",
}

// asides are the lines of workers, in any order. The first two may be missing: when the
// lease of the dead worker ends, the budget may have nothing left, and only on a slow
// machine does one shard use its share before the others have used the rest.
var asides = []string{
	"worker # takes over SHARD: attempt # of database.import.Client.STEP was lost, another one follows",
	"worker #: no retry for SHARD: workflow_budget_exhausted (3/3)",
	"provisional result: 140 of 200 shards, # rows (min_dcs_reached (140/140))",
	"worker #: no retry for SHARD: job_budget_exhausted (40/40)",
}

// matches reports whether a line has the form of a sample, with any numbers where
// that has #.
func matches(line, sample string) bool {
	form := regexp.QuoteMeta(sample)
	for old, now := range map[string]string{
		"#": `\d+`, "STORE": `(SQLite|PostgreSQL)`, "SHARD": `(north|east|south|west)-\d+`, "STEP": `(Read|Write)`,
	} {
		form = strings.ReplaceAll(form, old, now)
	}
	return regexp.MustCompile(`^ *\d+\.\ds  ` + form + `$`).MatchString(line)
}

// TestImport runs the program with its processes on SQLite, and twice in the same
// PostgreSQL database.
func TestImport(t *testing.T) {
	database := pgtest.URL(t)
	for _, store := range []string{"", database, database} {
		var out, errs bytes.Buffer
		if status := run([]string{"-store", store}, strings.NewReader(""), &out, &errs); status != 0 {
			t.Fatalf("store %q: status %d, want 0\n%s%s", store, status, out.String(), errs.String())
		}
		checkReport(t, out.String())
	}
}

// checkReport compares a report with acts and asides.
func checkReport(t *testing.T, report string) {
	t.Helper()
	next, seen := 0, map[string]bool{asides[0]: true, asides[1]: true}
	for line := range strings.Lines(report) {
		line = strings.TrimSuffix(line, "\n")
		if next < len(acts) && matches(line, acts[next]) {
			next++
			continue
		}
		i := slices.IndexFunc(asides, func(sample string) bool { return matches(line, sample) })
		if i < 0 {
			t.Errorf("unexpected line %q", line)
			continue
		}
		seen[asides[i]] = true
	}
	for _, sample := range slices.Concat(acts[next:], asides) {
		if !seen[sample] {
			t.Errorf("the report lacks %q:\n%s", sample, report)
		}
	}
}

// TestInterrupt: Ctrl-C ends the program and its workers, and leaves nothing.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], program)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "was killed") {
	}
	start := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(errs.String(), "interrupt") {
		t.Errorf("status %d, want 1: %s", got, errs.String())
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("ended after %v", took)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}

func TestUsage(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run([]string{"-nosuch"}, nil, &out, &errs); status != 2 {
		t.Errorf("status %d, want 2", status)
	}
	if status := run([]string{"-store", "sqlite:/nosuch/file.db"}, nil, &out, &errs); status != 1 {
		t.Errorf("status %d, want 1: %s", status, errs.String())
	}
}
