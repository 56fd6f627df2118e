package vectors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWalkers checks that every vector is walked: its kind is in the table, and
// the tests of the packages in the table call Walk.
func TestWalkers(t *testing.T) {
	kinds, dirs := map[string]bool{}, map[string]bool{}
	for i, v := range load(t) {
		if v.required() {
			kinds[v.Kind] = true
			if len(walkers[v.Kind]) == 0 {
				t.Errorf("vector %d: no package walks kind %s", i, v.Kind)
			}
		}
	}
	for kind, list := range walkers {
		if !kinds[kind] {
			t.Errorf("no vector of kind %s", kind)
		}
		for _, dir := range list {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		if !callsWalk(t, dir) {
			t.Errorf("no test in %s calls vectors.Walk", dir)
		}
	}
}

func callsWalk(t *testing.T, dir string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), fmt.Sprintf("vectors.Walk(t, %q, ", dir)) {
			return true
		}
	}
	return false
}
