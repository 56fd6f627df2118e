package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestCollectLater: after the first collection, GOGC and GOMEMLIMIT decide as before.
func TestCollectLater(t *testing.T) {
	const wantLimit = 1 << 40
	before := debug.SetMemoryLimit(wantLimit)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
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
	if limit := debug.SetMemoryLimit(-1); limit != wantLimit {
		t.Errorf("the memory limit is %d after the first collection, want %d", limit, int64(wantLimit))
	}
}
