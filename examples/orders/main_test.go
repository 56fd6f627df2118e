package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestRun checks the output of the example.
func TestRun(t *testing.T) {
	DefaultShared = NewShared()
	var out strings.Builder
	run(t.Context(), &out)
	for _, want := range []string{
		`attempt 1: orders: 502 Bad Gateway, retrying in \S+ \(breaker closed\)\n  order 1 of tea, error <nil>; the shop has 1\n`,
		`orders: rejected: an order needs an item\n`,
		`order 1 of tea, stale: false, error <nil>\n`,
		`attempt 5: orders: 503 Service Unavailable, stopping: attempts exhausted \(breaker closed\)\n  order 1 of tea, stale: true, error <nil>\n`,
		`attempt 5: orders: 503 Service Unavailable, stopping: attempts exhausted \(breaker open\)\n  order 1 of tea, stale: true, error <nil>\n`,
		`14 calls reached the shop`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the output does not match %s", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
