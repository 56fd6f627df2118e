package main

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []string
		var verbose bytes.Buffer
		w := &watch{
			step: func(what string) { steps = append(steps, what) }, verbose: &verbose,
			total: func() int { return 3 },
		}
		w.start()
		w.packageDone() // from the build cache
		for _, line := range []string{
			"go: downloading example.com/kept v1.0.0",
			"# example.com/kept", "retrylint:types example.com/kept",
			"# example.com/shop", "retrylint:analyze example.com/shop",
		} {
			w.line(line)
			synctest.Wait() // for the count of packages
		}
		w.packageDone()
		w.line("retrylint:analyze example.com/shop/warehouse/internal/store [example.com/shop/warehouse/internal/store.test]")
		w.line("vet: store.go:3:1: undefined: x")
		w.end()

		wantSteps := []string{
			"downloading example.com/kept v1.0.0",
			"packages checked: 1; now example.com/kept",
			"packages checked: 1 of 3; now example.com/kept",
			"packages checked: 1 of 3; now example.com/shop",
			"packages checked: 2 of 3; now example.com/shop",
			"packages checked: 2 of 3; now …e.com/shop/warehouse/internal/store",
		}
		if !slices.Equal(steps, wantSteps) {
			t.Errorf("progress\n%q, want\n%q", steps, wantSteps)
		}
		wantVerbose := `retrylint: analyzing example.com/shop
retrylint: analyzing example.com/shop/warehouse/internal/store [example.com/shop/warehouse/internal/store.test]
retrylint: packages analyzed: 2
`
		if got := verbose.String(); got != wantVerbose {
			t.Errorf("with -v\n%s, want\n%s", got, wantVerbose)
		}
		if got := w.err(); got == nil || got.Error() != "vet: store.go:3:1: undefined: x" {
			t.Errorf("error %v", got)
		}
	})
}
