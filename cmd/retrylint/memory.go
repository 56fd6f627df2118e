package main

import (
	"runtime"
	"runtime/debug"
)

// startingHeap is how much memory, in bytes, the process uses before it collects garbage. Most
// packages need less, so that their processes end before the first collection.
const startingHeap = 128 << 20

// collectLater puts off the first garbage collection until the process uses startingHeap. The
// following collections run when GOGC and GOMEMLIMIT say, by default at twice the memory that is in use.
func collectLater() {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(-1)
	debug.SetMemoryLimit(min(limit, startingHeap))
	type sentinel struct{ next *sentinel } // nothing refers to it, so that the first collection finds it
	runtime.AddCleanup(new(sentinel), func(percent int) {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}, percent)
}
