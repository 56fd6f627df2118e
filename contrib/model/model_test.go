package main

import (
	"strings"
	"testing"
)

// TestHistories executes random histories, which must cover what the model has.
func TestHistories(t *testing.T) {
	total, broken := histories(0, 5000, "")
	if broken != nil {
		t.Fatalf("seed %d: %s", broken.seed, broken.problem)
	}
	for _, n := range total.fields() {
		if *n < 100 {
			t.Fatalf("the histories hardly cover something:\n%s", total.String())
		}
	}
}

// TestBugs: without one of the rules, a history breaks a promise.
func TestBugs(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if _, broken := histories(0, 20_000, b.name); broken == nil {
				t.Errorf("no history shows that %s", b.rule)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]int{
		"-n 10": 0, "-bug list": 0, "-bug nofence -n 20000": 1, "-bug none": 2, "-n 0": 2, "more": 2,
	} {
		var out, errs strings.Builder
		if got := run(strings.Fields(args), &out, &errs); got != want || (got == 2) != (errs.Len() > 0) {
			t.Errorf("%s: got status %d, want %d: %q and %q", args, got, want, out.String(), errs.String())
		}
	}
}
