package durable

import (
	"math"
	"sync/atomic"
)

// A gate counts the steps that an execution executes, until it is closed. Use
// newGate.
type gate struct {
	inside  atomic.Int64  // plus gateClosed
	changed chan struct{} // has an element once the last one has left a closed gate
}

const gateClosed = math.MinInt64

func newGate() *gate { return &gate{changed: make(chan struct{}, 1)} }

// enter reports whether the gate is open. If so, the caller calls leave later.
func (g *gate) enter() bool {
	if g.inside.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

// leave undoes enter.
func (g *gate) leave() {
	if g.inside.Add(-1) == gateClosed {
		select {
		case g.changed <- struct{}{}:
		default:
		}
	}
}

// alone reports whether the gate is open and exactly one step is inside.
func (g *gate) alone() bool { return g.inside.Load() == 1 }

// close lets nobody in any more. It must be called once.
func (g *gate) close() { g.inside.Add(gateClosed) }

// wait waits until everybody has left the gate, which is closed. One goroutine may
// call it.
func (g *gate) wait() {
	for g.inside.Load() != gateClosed {
		<-g.changed
	}
}
