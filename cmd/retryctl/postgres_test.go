//go:build unix

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/durabletest/bigstore"
)

// TestPostgres: commands on PostgreSQL, in a schema that the URL names.
func TestPostgres(t *testing.T) {
	url := pgtest.URL(t)
	store, err := postgres.Open(t.Context(), url, postgres.Schema("pay"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := bigstore.Fill(t.Context(), store, bigstore.Size{Runs: 50, Steps: 1000, Until: time.Now()}); err != nil {
		t.Fatal(err)
	}
	schema := url + "?schema=pay"
	if strings.Contains(url, "?") {
		schema = url + "&schema=pay"
	}
	for _, test := range []struct {
		store, command string
		status         int
		want           string // in the output
	}{
		{url, "runs", 2, "it has no store yet: start the program that creates it, or name its schema"},
		{schema, "runs -limit 3", 0, "there are more: add -after "},
		{schema, "dead list -limit 1", 0, "dead letter"},
		{schema, "stats", 0, "runs:        50: "},
		{schema, "dead requeue -all -yes -rate 0", 0, "requeued "},
		{schema, "breakers reset server-03", 0, "reset server-03"},
		{schema, "verify", 0, "the store is sound"},
		{schema, "run nothing", 1, "not found"},
	} {
		t.Setenv("RETRYCTL_STORE", test.store)
		var output bytes.Buffer
		status := run(strings.Fields(test.command), &output, &output)
		if status != test.status || !strings.Contains(output.String(), test.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", test.command, status, test.status, test.want, &output)
		}
	}
}

// TestUnreachable: the store waits some seconds for a server that may be restarting.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	status := run([]string{"runs", "-store", "postgres://ada:secret@127.0.0.1:1/x?connect_timeout=1"}, &output, &output)
	if status != 2 || !strings.Contains(output.String(), "the server is not reachable: check its address") {
		t.Errorf("status %d, want 2:\n%s", status, &output)
	}
	if strings.Contains(output.String(), "secret") {
		t.Errorf("it prints the password:\n%s", &output)
	}
}
