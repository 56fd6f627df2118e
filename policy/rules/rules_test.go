package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/internal/docpages"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// TestExamples: each rule reports the example of its page with its severity, and not
// the fixed one.
func TestExamples(t *testing.T) {
	for _, r := range rules.All {
		for section, want := range map[string]bool{"Example": true, "Fixed": false} {
			text := docpages.Code(docs.Rule(r.ID), section)
			_, problems := policy.Check("example", []byte("version: 1\n"+text))
			got := slices.ContainsFunc(problems, func(p policy.Problem) bool {
				return p.Rule == r.ID && p.Severity == r.Severity
			})
			if got != want {
				t.Errorf("%s: %s is reported: %v, want %v; problems %v", r.ID, text, got, want, problems)
			}
			if problems = policy.AtLeast(rules.Warning, problems); !want && len(problems) > 0 {
				t.Errorf("%s: the fixed example %s has problems %v", r.ID, text, problems)
			}
		}
	}
}

func TestTable(t *testing.T) {
	if !slices.IsSortedFunc(rules.All, func(a, b rules.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not sorted by id")
	}
	for _, r := range rules.All {
		if rules.ByID(r.ID) == nil {
			t.Errorf("ByID does not find %s", r.ID)
		}
	}
	if rules.ByID("P999") != nil {
		t.Error("there is a P999")
	}
}

// TestUnknown: a rule is silent when a field that it reads is not known.
func TestUnknown(t *testing.T) {
	p := &retry.Policy{Name: "p", Schedule: retry.Schedule{MaxAttempts: retry.Unlimited}}
	if got := rules.Check(p, nil); len(got) != 1 || got[0].Rule != "P300" || got[0].Policy != "p" {
		t.Fatalf("got %v, want P300", got)
	}
	if got := rules.Check(p, func(rules.Field) bool { return true }); len(got) != 1 {
		t.Errorf("with every field known: got %v, want P300", got)
	}
	for _, field := range rules.ByID("P300").Reads {
		if got := rules.Check(p, func(f rules.Field) bool { return f != field }); len(got) > 0 {
			t.Errorf("without %s: got %v, want none", field, got)
		}
	}
}

// TestValuesOfCode checks policies that Go code can have and policy files
// cannot.
func TestValuesOfCode(t *testing.T) {
	custom := []time.Duration{time.Second}
	many := func(last time.Duration) []time.Duration {
		return append(slices.Repeat([]time.Duration{time.Microsecond}, 149), last)
	}
	for _, tt := range []struct {
		schedule retry.Schedule
		want     []string
	}{
		{retry.Schedule{Base: 0.99}, []string{"P106"}},
		{retry.Schedule{Base: 1}, []string{"P209"}},
		{retry.Schedule{Base: 0.99, Backoff: retry.BackoffFixed}, nil},
		{retry.Schedule{MaxAttempts: -1, Backoff: retry.BackoffCustom, Delays: custom}, nil},
		{retry.Schedule{MaxAttempts: 1, Backoff: retry.BackoffCustom, Delays: custom}, []string{"P206"}},
		{retry.Schedule{Delays: []time.Duration{1, 2, 3, 4}}, nil},
		{retry.Schedule{Backoff: retry.BackoffFixed, MaxAttempts: 9, Delays: custom}, nil},
		{retry.Schedule{Backoff: retry.BackoffFixed, Base: 1}, nil},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 2, Delays: custom, InitialDelay: 5, MaxDelay: 5},
			[]string{"P201"}},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 151, Delays: many(time.Millisecond)}, nil},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 151, Delays: many(999 * time.Microsecond)},
			[]string{"P204"}},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 150, Delays: many(time.Millisecond)},
			[]string{"P204", "P206"}},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 151, Delays: many(time.Hour), MaxDelay: retry.None}, nil},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 151, Delays: many(time.Hour + 1), MaxDelay: retry.None},
			[]string{"P205"}},
		{retry.Schedule{Backoff: retry.BackoffFibonacci, InitialDelay: retry.None, MaxDelay: retry.None}, nil},
		{retry.Schedule{MaxAttempts: 1, InitialDelay: time.Hour}, nil},
		{retry.Schedule{Backoff: retry.BackoffCustom, Delays: custom, MaxDelay: retry.None}, []string{"P207"}},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 2, MaxDelay: retry.None}, []string{"P207"}},
		{retry.Schedule{Backoff: retry.BackoffCustom, MaxAttempts: 2, Delays: custom, MaxDelay: retry.None}, nil},
		{retry.Schedule{MaxAttempts: 13, MaxDelay: retry.None}, nil},
		{retry.Schedule{MaxAttempts: 14, MaxDelay: retry.None}, []string{"P205"}},
	} {
		var got []string
		for _, f := range rules.Check(&retry.Policy{Schedule: tt.schedule}, nil) {
			got = append(got, f.Rule)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %v, want %v", tt.schedule, got, tt.want)
		}
	}
}
