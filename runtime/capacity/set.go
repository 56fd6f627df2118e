package capacity

// A Set contains all limits of a program, for metrics. The Capacity method of generated
// code returns a Set. The metrics are read on request, so they cost nothing in a call
// that is not refused.
type Set struct {
	Limiters  []*Limiter
	Rates     []*Rate
	Throttles []*Throttle
}
