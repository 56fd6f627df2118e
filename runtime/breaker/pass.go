package breaker

// A Pass is a closed breaker's permission for one attempt. Using a Pass takes no lock and
// reads no clock. The zero Pass gives no permission. Passes are for generated code. Other
// code calls [Breaker.Admit].
type Pass uint64

// Permit returns the permit for the attempt admitted with p.
func (p Pass) Permit() Permit {
	if p&admits == 0 {
		return Permit{}
	}
	return Permit{Generation: uint64(p) >> generationBit}
}

// Ready returns a Pass and true if the breaker can admit an attempt without taking a
// lock. Otherwise the caller must use [Breaker.Admit].
func (b *Breaker) Ready() (Pass, bool) {
	p := Pass(b.word.Load())
	return p, p&admits != 0
}

// IsClosed reports whether the breaker is closed. It takes a lock only if the breaker
// measures the durations of attempts or is not closed.
func (b *Breaker) IsClosed() bool {
	_, ready := b.Ready()
	return ready || b.State() == Closed
}

// Calm reports whether another success would leave the breaker unchanged. This is the
// case if the breaker is closed, no attempt has failed since the last success, and either
// no rate is set or the last WindowCalls attempts have all succeeded.
func (b *Breaker) Calm() bool { return b.word.Load()&quiet != 0 }

// Succeed reports that the attempt admitted with p has succeeded.
func (b *Breaker) Succeed(p Pass) {
	if !b.Calm() {
		b.Record(p.Permit(), Success)
	}
}
