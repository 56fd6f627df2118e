// Package vocab contains the linter's knowledge about functions and types that it
// recognizes by name, and rates how reliable this knowledge is.
package vocab

import "fmt"

// Evidence is the basis of a finding. A larger value is stronger evidence. The evidence
// for a conclusion is the weakest evidence that it is based on.
type Evidence uint8

// The kinds of evidence.
const (
	// Named: the finding assumes that a function does what its name suggests, or that a
	// program is not meant to do what it does.
	Named Evidence = iota
	// Library: the finding follows from the code and from the documented behavior of
	// known packages.
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
