package breaker

import "sync/atomic"

// lastCalls are the last samples of a closed breaker, a ring of as many as
// [Policy.WindowCalls]. Samples are added without a lock. Of two that are
// added while all others are replaced, either may come first.
type lastCalls struct {
	added        atomic.Uint64 // the number of samples that were added
	failed, slow atomic.Int64  // the numbers of those in the ring
	ring         []atomic.Uint32
}

// The bits of a sample in the ring. Zero is none.
const (
	sampled = 1 << iota
	sampledFailure
	sampledSlow
)

// sampleLetters are the letters of samples in a snapshot, by their bits.
const sampleLetters = "\x00s\x00f\x00S\x00F"

func sampleBits(failed, slow bool) uint32 {
	bits := uint32(sampled)
	if failed {
		bits |= sampledFailure
	}
	if slow {
		bits |= sampledSlow
	}
	return bits
}

func newLastCalls(n int) *lastCalls { return &lastCalls{ring: make([]atomic.Uint32, n)} }

// add adds a sample, in place of the oldest one if the ring is full.
func (l *lastCalls) add(bits uint32) {
	at := &l.ring[(l.added.Add(1)-1)%uint64(len(l.ring))]
	if at.Load() == bits {
		return // as is usual: it need not be written
	}
	before := at.Swap(bits)
	if d := int64(bits&sampledFailure) - int64(before&sampledFailure); d != 0 {
		l.failed.Add(d / sampledFailure)
	}
	if d := int64(bits&sampledSlow) - int64(before&sampledSlow); d != 0 {
		l.slow.Add(d / sampledSlow)
	}
}

// full reports whether the next sample replaces another one.
func (l *lastCalls) full() bool { return l.added.Load() >= uint64(len(l.ring)) }

// calls returns the number of samples in the ring.
func (l *lastCalls) calls() int64 { return int64(min(l.added.Load(), uint64(len(l.ring)))) }

// save returns the samples as letters, the latest at the end.
func (l *lastCalls) save() string {
	n, added := uint64(l.calls()), l.added.Load()
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = sampleLetters[l.ring[(added-n+uint64(i))%uint64(len(l.ring))].Load()]
	}
	return string(letters)
}

// load adds the samples that save has returned. Other letters are no samples.
func (l *lastCalls) load(letters string) {
	for _, letter := range []byte(letters[max(len(letters)-len(l.ring), 0):]) {
		for bits := uint32(sampled); bits < uint32(len(sampleLetters)); bits += 2 {
			if sampleLetters[bits] == letter {
				l.add(bits)
			}
		}
	}
}
