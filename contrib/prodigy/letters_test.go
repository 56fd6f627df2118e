package prodigy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// TestImportDeadLetters: a dead letter keeps the type and the text of its last error,
// by which the advice about it is decided. What the other system advised is reported.
func TestImportDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		report, err := Import(t.Context(), e.Admin(), "run", open(t, "testdata/dead-letters.json"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Run: "run", DeadLetter: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s: %q, %s", s.Step, s.Error, s.Eligibility))
			for a, err := range e.Admin().Attempts(t.Context(), "run", s.Step) {
				got = append(got, fmt.Sprintf("attempt %d after %v: %q, %v", a.Attempt, a.Duration, a.Error, err))
			}
		}
		want := []string{
			`item-1: "CommandFailed, exit code 1: boom", unknown`,
			`attempt 3 after 1.5s: "CommandFailed, exit code 1: boom", <nil>`,
			`item-5: "", unknown`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if notes := fmt.Sprint(report.Notes); !strings.Contains(notes, "[1].reprocess_eligible: is false") ||
			!strings.Contains(notes, "[1].manual_review_required: is true") {
			t.Errorf("the report lacks the advice: %s", notes)
		}
	})
}
