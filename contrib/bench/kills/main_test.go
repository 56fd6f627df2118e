//go:build unix

package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain lets the test be the workers that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == workerArg {
		os.Exit(worker(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func TestKills(t *testing.T) {
	for _, on := range []string{"sqlite", "postgres"} {
		t.Run(on, func(t *testing.T) {
			var out, errs strings.Builder
			if status := run([]string{"-on", on, "-n", "6"}, &out, &errs); status != 0 {
				t.Errorf("status %d: %s", status, errs.String())
			}
			if !strings.Contains(out.String(), "\n6 SIGKILL, 1 SIGSTOP") {
				t.Errorf("got\n%s\nwant 6 kills", out.String())
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-on", "mysql"}, {"-n", "0"}, {"more"}, {"-x"}} {
		var out, errs strings.Builder
		if status := run(args, &out, &errs); status != 2 || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: status %d, %q and %q; want 2, nothing and a message", args, status, out.String(), errs.String())
		}
	}
}
