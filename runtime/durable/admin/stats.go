package admin

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Stats summarizes the records in a store, across all executions and engines.
type Stats struct {
	Runs  map[storage.Status]int // number of runs by status
	Steps map[storage.Status]int // number of steps by status, including steps in doubt, dead letters and exhausted steps
	Units map[storage.Status]int // number of group units by status; the units are not included in Steps

	Attempts    int // attempts made, including lost ones
	Retries     int // attempts that were not the first of their step
	Failures    int
	Lost        int // attempts whose end is unknown, because their process died or lost the run
	Interrupted int // attempts that were ended by their context
	Late        int // attempts whose end was refused because another engine had claimed the run
	Recoveries  int // executions of a run that had crashed or whose engine had died

	Waited time.Duration // sum of the waits between attempts
	// Success summarizes the durations of successful steps, from the start of the first
	// attempt to the end of the last one, including downtime.
	Success Durations

	// Patterns groups the failures by class and normalized text, most frequent first. At
	// most 1000 patterns are distinguished. All others have the text "…".
	Patterns []Pattern
}

// Durations summarizes durations.
type Durations struct {
	Count      int
	Total, Max time.Duration
}

// A Pattern describes failures that have the same class and normalized text.
type Pattern struct {
	Class retry.Class
	// Text is the text of the errors, in which "#" replaces each word that contains a
	// digit, such as a number, an address or an id.
	Text     string
	Attempts int // attempts that failed with this pattern
	Steps    int // steps with at least one such attempt
	First    time.Time
	Last     time.Time
}

// maxPatterns is the number of patterns that are distinguished.
const maxPatterns = 1000

// Stats summarizes the runs, steps and attempts that a filter selects. It reads their
// records one page at a time. It also reads the history of steps that did not succeed on
// the first attempt. progress, if not nil, is called from time to time with the number of
// steps read so far.
func (c *Client) Stats(ctx context.Context, f Filter, progress ...func(steps int)) (Stats, error) {
	s := &statistics{
		Stats:    Stats{Runs: map[storage.Status]int{}, Steps: map[storage.Status]int{}, Units: map[storage.Status]int{}},
		patterns: map[patternKey]*Pattern{},
	}
	over := map[string]bool{} // the runs whose waiting steps make no further attempt
	q := storage.Query{Kind: storage.KindRun, Space: c.ns.Space, Run: f.Run}
	err := c.view.Each(ctx, q, func(r storage.Record) error {
		if r.Status.IsOver() {
			over[r.Key.Run] = true
		}
		b, err := record.Decode[record.Run](r)
		if f.within(later(b.Ended, r.Created)) {
			s.Runs[r.Status]++
			s.Recoveries += b.Recovered
		}
		return err
	})
	if err != nil {
		return Stats{}, err
	}
	histories := newHistories(c.view)
	for step, err := range c.Steps(ctx, f) {
		if err != nil {
			return Stats{}, err
		}
		if step.Status == storage.StatusWaiting && over[step.Run] {
			step.Status = storage.StatusCanceled
		}
		if step.Group != "" {
			s.Units[step.Status]++ // its steps have the attempts
			continue
		}
		if s.step(&step); s.read%storage.MaxPage == 0 {
			for _, report := range progress {
				report(s.read)
			}
		}
		if step.atOnce() {
			continue
		}
		seen := map[patternKey]bool{}
		for a, err := range attempts(histories.of(ctx, c.ns.Key(storage.KindStep, step.Run, step.Step))) {
			if err != nil {
				return Stats{}, err
			}
			s.attempt(&a, seen)
		}
	}
	s.Patterns = make([]Pattern, 0, len(s.patterns))
	for _, p := range s.patterns {
		s.Patterns = append(s.Patterns, *p)
	}
	slices.SortFunc(s.Patterns, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), cmp.Compare(a.Class, b.Class), strings.Compare(a.Text, b.Text))
	})
	return s.Stats, nil
}

type patternKey struct {
	class retry.Class
	text  string
}

type statistics struct {
	Stats
	read     int // steps
	patterns map[patternKey]*Pattern
}

// atOnce reports whether the only entry in the history of a step is a success. A late
// end is that of an attempt that was lost before.
func (i *StepInfo) atOnce() bool {
	return i.Status == storage.StatusSucceeded && i.Attempts <= 1 && i.Failures == 0 && i.Lost == 0 && !i.operated
}

func (s *statistics) step(i *StepInfo) {
	s.read++
	s.Steps[i.Status]++
	s.Attempts += i.Attempts
	s.Retries += max(i.Attempts-1, 0)
	s.Waited += i.Waited
	if i.Status == storage.StatusSucceeded && i.Pause == "" {
		d := i.Ended.Sub(i.First)
		s.Success.Count++
		s.Success.Total += d
		s.Success.Max = max(s.Success.Max, d)
	}
}

// attempt counts an attempt. seen are the patterns of its step so far.
func (s *statistics) attempt(a *AttemptInfo, seen map[patternKey]bool) {
	switch {
	case a.Late:
		s.Late++
		return
	case a.Outcome == events.OutcomeLost:
		s.Lost++
		return
	case a.Outcome == events.OutcomeInterrupted:
		s.Interrupted++
		return
	case a.Outcome != events.OutcomeFailed && a.Outcome != events.OutcomeTimedOut:
		return
	}
	s.Failures++
	key := patternKey{a.Class, normalize(a.Error)}
	p := s.patterns[key]
	if p == nil && len(s.patterns) >= maxPatterns {
		key = patternKey{text: "…"}
		p = s.patterns[key]
	}
	if p == nil {
		p = &Pattern{Class: key.class, Text: key.text, First: a.Started}
		s.patterns[key] = p
	}
	p.Attempts++
	if !seen[key] {
		seen[key] = true
		p.Steps++
	}
	if a.Started.Before(p.First) {
		p.First = a.Started
	}
	if a.Started.After(p.Last) {
		p.Last = a.Started
	}
}

// numbered matches a word that has a digit, without the punctuation that ends
// it.
var numbered = regexp.MustCompile(`[\pL_.:@%-]*\pN[\pL\pN_.:@%-]*[\pL\pN_@%]|[\pL_.:@%-]*\pN`)

// normalize returns a text with "#" in place of the words that have a digit.
func normalize(text string) string { return numbered.ReplaceAllString(text, "#") }
