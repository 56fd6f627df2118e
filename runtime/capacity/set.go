package capacity

// A Set has all limits of a program, for metrics. The method Capacity of generated code
// returns it. Its values are read on request, so a call that is not refused pays nothing
// for them.
type Set struct {
	Limiters  []*Limiter
	Rates     []*Rate
	Throttles []*Throttle
}
