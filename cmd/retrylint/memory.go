package main

import (
	"math"
	"runtime"
	"runtime/debug"
)

// startingHeap is how much memory, in bytes, the process uses before it collects garbage. Most
// packages need less, so that their processes end before the first collection.
const startingHeap = 128 << 20

// collectLater puts off the first garbage collection until the process uses startingHeap. The
// following collections run when GOGC says, by default at twice the memory that is in use.
func collectLater() {
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(startingHeap)
	type sentinel struct{ next *sentinel } // nothing refers to it, so that the first collection finds it
	runtime.AddCleanup(new(sentinel), func(percent int) {
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(percent)
	}, percent)
}
