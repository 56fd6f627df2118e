package main

import (
	"testing"

	"github.com/retrygen/retrygen/internal/docpages"
)

// TestDocs: the commands and the flags on the pages of docs exist.
func TestDocs(t *testing.T) {
	blocks, err := docpages.Blocks("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	commands := docpages.Commands(blocks, "retrylint")
	if len(commands) == 0 {
		t.Error("there are no commands")
	}
	for _, c := range commands {
		if err := program().Verify(c.Args); err != nil {
			t.Errorf("%s: retrylint %q: %v", c.Place, c.Args, err)
		}
	}
}
