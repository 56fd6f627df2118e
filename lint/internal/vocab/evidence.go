// Package vocab holds what the linter knows about code by name, and how far such
// knowledge is to be trusted.
package vocab

import "fmt"

// Evidence is what a finding rests on. A larger value is stronger evidence: the evidence of
// a conclusion is the smallest of what it rests on.
type Evidence uint8

// The kinds of evidence.
const (
	// Named: the finding assumes that a function does what its name suggests, or that a
	// program does not want what it does.
	Named Evidence = iota
	// Library: the finding follows from the code and from what known packages are
	// documented to do.
	Library
	// Proven: the finding follows from the code.
	Proven
)

var evidences = [...]string{Named: "named", Library: "library", Proven: "proven"}

// String returns named, library or proven.
func (e Evidence) String() string { return evidences[e] }

// MarshalText returns the same text as String. It never fails.
func (e Evidence) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads the text that MarshalText writes.
func (e *Evidence) UnmarshalText(text []byte) error {
	for i, name := range evidences {
		if name == string(text) {
			*e = Evidence(i)
			return nil
		}
	}
	return fmt.Errorf("unknown evidence %q: write proven, library or named", text)
}
