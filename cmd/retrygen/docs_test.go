package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/internal/docpages"
)

func TestDocs(t *testing.T) { docpages.TestCommands(t, "../..", program()) }

// TestStarterOnPage: the policy file of docs/getting-started.md is the one that init
// writes, with a binding in place of the comments at its end.
func TestStarterOnPage(t *testing.T) {
	blocks, err := docpages.Blocks("../..")
	if err != nil {
		t.Fatal(err)
	}
	settings, _, _ := strings.Cut(starter, "# Go symbols")
	want := "# retry.yaml\n" + settings + "bind:\n  Client.Temperature: read\n"
	got := ""
	for _, b := range blocks {
		if b.Page == "docs/getting-started.md" && b.File() == "retry.yaml" {
			got = b.Text
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
