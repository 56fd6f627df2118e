package retrytest

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A TB is a test: *testing.T and *testing.B have these methods.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Expect reports an error if the steps of r differ from want. The error shows both
// sequences. A step is written as
//
//   - attempt 503: the outcome of an attempt, written as in the script;
//   - wait 1s or, if the wait has jitter, wait 500ms-1s;
//   - stop attempts exhausted: no attempt follows, with the [retry.Reason];
//   - event hedge: another event, with its [retry.EventKind].
//
// A kind alone, such as wait, matches any step of this kind. A string may have several
// lines, with one step per line.
func Expect(t TB, r *Recorder, want ...string) {
	t.Helper()
	var expected []string
	for line := range strings.SplitSeq(strings.Join(want, "\n"), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			expected = append(expected, line)
		}
	}
	steps := r.Steps()
	first := -1 // the first difference
	for i := range max(len(steps), len(expected)) {
		if i >= len(steps) || i >= len(expected) || !steps[i].is(expected[i]) {
			first = i
			break
		}
	}
	if first < 0 {
		return
	}
	t.Errorf("step %d is not the expected one:\n%s", first+1, compared(r.lines(), expected, first))
}

// is reports whether the step is the expected one.
func (s Step) is(want string) bool {
	if want == s.String() || want == string(s.Kind) {
		return true
	}
	span, ok := strings.CutPrefix(want, "wait ")
	if !ok || s.Kind != Waited {
		return false
	}
	low, high, ranged := strings.Cut(span, "-")
	if !ranged {
		high = low
	}
	least, err := time.ParseDuration(low)
	if err != nil {
		return false
	}
	greatest, err := time.ParseDuration(high)
	return err == nil && s.Wait >= least && s.Wait <= greatest
}

// compared prints two sequences next to each other, with a mark at the step first.
func compared(got, want []string, first int) string {
	width := len("got")
	for _, line := range got {
		width = max(width, utf8.RuneCountInString(line))
	}
	at := func(list []string, i int) string {
		if i < len(list) {
			return list[i]
		}
		return "-"
	}
	var b strings.Builder
	row := func(mark, left, right string) {
		gap := strings.Repeat(" ", width-utf8.RuneCountInString(left)+3)
		fmt.Fprintf(&b, "  %s %s%s%s\n", mark, left, gap, right)
	}
	row(" ", "got", "want")
	for i := range max(len(got), len(want)) {
		mark := " "
		if i == first {
			mark = ">"
		}
		row(mark, at(got, i), at(want, i))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
