package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestCollectLater: after the first collection, GOGC decides as before.
func TestCollectLater(t *testing.T) {
	want := debug.SetGCPercent(100)
	debug.SetGCPercent(want)
	collectLater()
	got := -1
	for ; got < 0; got = debug.SetGCPercent(-1) {
		runtime.GC()
	}
	debug.SetGCPercent(want)
	if got != want {
		t.Errorf("GOGC is %d after the first collection, want %d", got, want)
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		t.Errorf("the memory limit is %d after the first collection, want none", limit)
	}
}
