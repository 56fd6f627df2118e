package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
)

// TestRun checks the output of the example; times differ from run to
// run.
func TestRun(t *testing.T) {
	var out strings.Builder
	run(context.Background(), &out)
	for _, want := range []string{
		`forecast for Oslo\n +\S+  done: 4 °C`,
		`attempt 2 failed: weather service: 502 Bad Gateway; retrying in \S+\n +\S+  done: 9 °C`,
		`attempt 1 failed: weather service: 429 Too Many Requests; retrying in 1s\n +1(\.\S+)?s  done: 22 °C`,
		`attempt 1 failed: .*attempt timeout exceeded; retrying in \S+\n +\S+  done: 15 °C`,
		`404 Not Found; stopping: permanent error\n`,
		`failed: fetch: attempts exhausted after 5 attempts`,
		`failed: flush: delay budget exhausted after 3 attempts and 100ms of waiting: disk full`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the output does not match %s", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
