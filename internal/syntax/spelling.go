package syntax

import "time"

// Spellings lists the parts of a policy file for which the language has more than
// one spelling, with their values. Package policy records them while it decodes a
// file, and package policy/format rewrites them.
type Spellings struct {
	Names     []Name
	Durations []Duration
	Rates     []*Node // numbers of events for each period
	Backoffs  []Backoff
	Jitters   []Jitter
}

// A Name is an entry of a map with an earlier spelling of its key or its value.
type Name struct {
	Map   *Node
	Entry *Entry
	Key   string // the canonical key
	Word  string // the canonical value; "": as it is written
}

// A Duration is a duration, as text or as a map of seconds and nanoseconds.
type Duration struct {
	Node  *Node
	Value time.Duration
}

// A Backoff is a strategy that is written as a map.
type Backoff struct {
	Map      *Node  // the map with the entry backoff
	Entry    *Entry // backoff
	Strategy string
	At       Span      // of the name of the strategy
	Settings []Setting // without the first delay
	Initial  *Entry    // the first delay, whose canonical key is initial_delay; or nil
	Plain    bool      // the map contains the strategy with its Settings and nothing else
}

// A Setting is a setting of a strategy.
type Setting struct {
	Key   string // the canonical key
	Entry *Entry
}

// A Jitter is jitter, with its factor.
type Jitter struct {
	Map           *Node
	Entry, Factor *Entry // jitter, and jitter_factor or nil
	Mode          string
	Width         string // the factor as it is written, or ""
}
