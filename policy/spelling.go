package policy

import "time"

// Spellings are the parts of a policy file that the language can write in more
// than one way, as the decoder has understood them.
type Spellings struct {
	Names     []Name
	Durations []Duration
	Backoffs  []Backoff
	Jitters   []Jitter
}

// A Name is an entry of a map with an earlier spelling of its key or its value.
type Name struct {
	Map   *node
	Entry *entry
	Key   string // the canonical key
	Word  string // the canonical value; "": as it is written
}

// A Duration is a duration, as text or as a map of seconds and nanoseconds.
type Duration struct {
	Node  *node
	Value time.Duration
}

// A Backoff is a strategy that is written as a map.
type Backoff struct {
	Map      *node  // of which backoff is an entry
	Entry    *entry // backoff
	Strategy string
	At       span      // where the strategy is named
	Settings []Setting // that no other key of Map has
	Initial  *entry    // the first delay, which is initial_delay canonically; or nil
	Plain    bool      // Settings is all that the map contains
}

// A Setting is a setting of a strategy.
type Setting struct {
	Key   string // the canonical key
	Entry *entry
}

// A Jitter is jitter, with its factor.
type Jitter struct {
	Map           *node
	Entry, Factor *entry // jitter, and jitter_factor or nil
	Mode          string
	Width         string // the factor as it is written, or ""
}
