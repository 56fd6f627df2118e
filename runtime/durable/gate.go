package durable

import (
	"math"
	"sync/atomic"
)

// A gate counts the steps that an execution is executing, until it is closed. Create it with
// newGate.
type gate struct {
	inside  atomic.Int64  // the number of steps, plus gateClosed if the gate is closed
	changed chan struct{} // receives an element when the last step has left a closed gate
}

const gateClosed = math.MinInt64

func newGate() *gate { return &gate{changed: make(chan struct{}, 1)} }

// enter reports whether the gate is open. If it is, the caller must call leave later.
func (g *gate) enter() bool {
	if g.inside.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

// leave reverts enter.
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

// close prevents further steps from entering. It must be called exactly once.
func (g *gate) close() { g.inside.Add(gateClosed) }

// wait waits until all steps have left the gate, which must be closed. Only one goroutine may
// call it.
func (g *gate) wait() {
	for g.inside.Load() != gateClosed {
		<-g.changed
	}
}
