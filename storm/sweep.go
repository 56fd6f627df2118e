package storm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
)

// A Sweep describes a setting to vary in a file, and the values to try.
type Sweep struct {
	Path   string // path of the setting, such as budgets.calls.ratio
	Values []string
}

// sweepSteps is the number of values of a range.
const sweepSteps = 8

// ParseSweep parses a path and its values, such as budgets.calls.ratio=0.02..0.5 or
// policies.read.max_attempts=1,2,3. A range has eight values, or all whole numbers in it
// if there are fewer. If the last value is at least four times the first one, the values
// grow by a constant factor.
func ParseSweep(text string) (*Sweep, error) {
	path, values, ok := strings.Cut(text, "=")
	s := &Sweep{Path: strings.TrimSpace(path)}
	if !ok || s.Path == "" || strings.TrimSpace(values) == "" {
		return nil, errors.New("write a path and its values, as budgets.calls.ratio=0.02..0.5")
	}
	first, last, isRange := strings.Cut(values, "..")
	if !isRange {
		for v := range strings.SplitSeq(values, ",") {
			s.Values = append(s.Values, strings.TrimSpace(v))
		}
		return s, nil
	}
	list, err := steps(strings.TrimSpace(first), strings.TrimSpace(last))
	if err != nil {
		return nil, err
	}
	s.Values = list
	return s, nil
}

// steps returns the values of a range.
func steps(first, last string) (list []string, err error) {
	if from, to, ok := both(first, last, strconv.Atoi); ok && from < to && to-from < sweepSteps {
		for v := from; v <= to; v++ {
			list = append(list, strconv.Itoa(v))
		}
		return list, nil
	}
	format := func(v float64) string { return strconv.FormatFloat(v, 'g', 2, 64) }
	parse := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	if _, _, ok := both(first, last, strconv.Atoi); ok {
		format = func(v float64) string { return strconv.Itoa(int(math.Round(v))) }
	}
	from, to, ok := both(first, last, parse)
	if !ok {
		from, to, ok = both(first, last, parseSeconds)
		format = func(v float64) string {
			d := time.Duration(v * 1e9)
			unit := time.Duration(math.Pow10(max(int(math.Log10(float64(max(d, 1))))-1, 0)))
			return duration.Format(d.Round(unit))
		}
	}
	if !ok || !(from < to) || math.IsInf(from, -1) || math.IsInf(to, 1) { // NaN fails these comparisons, too
		return nil, fmt.Errorf("%s..%s is no range: write two numbers or durations, the lesser first", first, last)
	}
	for i := range sweepSteps {
		share := float64(i) / (sweepSteps - 1)
		v := from + share*(to-from)
		if from > 0 && to/from >= 4 {
			v = from * math.Pow(to/from, share)
		}
		list = append(list, format(v))
	}
	list[0], list[sweepSteps-1] = first, last
	return slices.Compact(list), nil
}

// both parses two texts, and reports whether both can be parsed.
func both[T any](first, last string, parse func(string) (T, error)) (from, to T, ok bool) {
	from, err := parse(first)
	to, other := parse(last)
	return from, to, err == nil && other == nil
}

// IsOfScenario reports whether the path belongs to a scenario rather than a policy file.
func (s *Sweep) IsOfScenario() bool {
	first, _, _ := strings.Cut(s.Path, ".")
	return slices.Contains([]string{"services", "loads", "events", "length"}, first)
}

// Apply returns the text of a file with a different value at the path, which must exist
// in the file.
func (s *Sweep) Apply(name string, text []byte, value string) ([]byte, error) {
	n := syntax.Parse(text, func(syntax.Problem) {})
	if n == nil {
		return nil, fmt.Errorf("%s cannot be read", name)
	}
	for key := range strings.SplitSeq(s.Path, ".") {
		if n = n.Child(key); n == nil {
			return nil, fmt.Errorf("%s has no %s: write it, with any value", name, s.Path)
		}
	}
	source := syntax.NewSource(text)
	start, ok := source.Start(n)
	end, known := source.End(n)
	if !ok || !known || n.IsMap() || n.IsList() {
		return nil, fmt.Errorf("%s of %s is not a single value", s.Path, name)
	}
	return slices.Concat(text[:start], []byte(value), text[end:]), nil
}
