package attempt

import (
	"time"

	"golang.org/x/tools/go/ssa"
)

// Retries describes a function that retries one of its parameters.
type Retries struct {
	Op      int           // the index of the parameter
	Context int           // the index of the context that ends the retries, or -1
	Endless bool          // nothing but a success, or Context, ends the retries
	Max     time.Duration // the longest wait between attempts that heeds no context; 0 if there is none
	Delay   int           // the index of the parameter that says how long such a wait is, or -1
}

// findRetries records in the summaries which functions retry a parameter.
func (p *Package) findRetries(fns []*ssa.Function) {}
