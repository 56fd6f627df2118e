package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary be the worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-worker" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestNoOrderIsChargedTwice(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run([]string{"-orders", "30", "-kills", "6", "-within", "500ms"}, &out, &errs); status != 0 {
		t.Fatalf("status %d, want 0\n%s%s", status, out.String(), errs.String())
	}
	for _, want := range []string{"continues the run", "resumed: order ", "30 orders, each charged once"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
