package main

import (
	"strings"
	"testing"
)

// TestRun checks the output of the example.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	const want = `200 transfers, 0 failed, bob has 200
the database was busy: true
transfer of more than the balance: insufficient funds
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
