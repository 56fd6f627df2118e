package capacity

// A Set is what limits the calls of a program, for metrics. The method Capacity of
// generated code returns one. What it shows is read when somebody asks: a call that
// nothing refuses pays nothing for it.
type Set struct {
	Limiters  []*Limiter
	Rates     []*Rate
	Throttles []*Throttle
}
