package durable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

// Two workers with different policy files continue a run in turns. The first step
// under the second file is reported, with both policies, and nothing after that.
func TestPolicyFilesAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := durable.NewMemory()
		files := []*process{startProcess(t, m), startProcess(t, m)}
		var j journal
		for i := range 10 {
			stop := errors.New("the rest later")
			err := files[i%2].run("one", func(ctx context.Context) error {
				for n := range i + 1 { // one more step each time
					s := careful("charge", 3+i%2, time.Second)
					if _, err := callID(ctx, s, n, failing(&j, 0)); err != nil {
						return err
					}
				}
				return stop
			})
			wantError(t, err, stop)
		}
		if events := files[0].saw(durable.EventPolicyChanged); len(events) > 0 {
			t.Errorf("the file with which the run began was reported: %+v", events)
		}
		events := files[1].saw(durable.EventPolicyChanged)
		if len(events) != 1 {
			t.Fatalf("got %d reports, want 1: %+v", len(events), events)
		}
		ev := events[0]
		if ev.Step != "charge/1" || ev.Err == nil || strings.Count(ev.Err.Error(), `"charge"`) != 2 {
			t.Errorf("got %+v, want the step charge/1 and an error with both policies", ev)
		}
	})
}

// A step that is continued under a policy with another name is reported.
func TestPolicyRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := durable.NewMemory()
		first, second := startProcess(t, m), startProcess(t, m)
		var j journal
		s := careful("charge", 3, time.Minute)
		first.killAfter(time.Second)
		_ = first.run("one", oneStep(s, failing(&j, 1)))
		renamed, policy := *s, *s.Policy
		policy.Name = "patient"
		renamed.Policy = &policy
		if err := second.run("one", oneStep(&renamed, failing(&j, 1))); err != nil {
			t.Fatal(err)
		}
		events := second.saw(durable.EventPolicyChanged)
		if len(events) != 1 || !strings.Contains(events[0].Err.Error(), `"charge"`) ||
			!strings.Contains(events[0].Err.Error(), `"patient"`) {
			t.Errorf("got %+v, want one report with both policies", events)
		}
	})
}

// Everything that decides what is retried, when and how often is a change, and a
// default that is written is none.
func TestPolicyChanges(t *testing.T) {
	for name, change := range map[string]func(*retry.Policy){
		"classes":    func(p *retry.Policy) { p.Classes = []retry.ErrorClass{{Class: "busy", HTTP: [][2]int{{409, 409}}}} },
		"hard limit": func(p *retry.Policy) { p.HardLimit = time.Hour },
		"nested":     func(p *retry.Policy) { p.Nested = true },
		"":           func(p *retry.Policy) { p.Base, p.RetryAfter.Max = 2, 5*time.Minute },
	} {
		synctest.Test(t, func(t *testing.T) {
			m := durable.NewMemory()
			first, second := startProcess(t, m), startProcess(t, m)
			var j journal
			s := careful("charge", 3, time.Minute)
			first.killAfter(time.Second)
			_ = first.run("one", oneStep(s, failing(&j, 1)))
			changed, policy := *s, *s.Policy
			change(&policy)
			changed.Policy = &policy
			if err := second.run("one", oneStep(&changed, failing(&j, 1))); err != nil {
				t.Fatal(err)
			}
			if events := second.saw(durable.EventPolicyChanged); len(events) > 0 != (name != "") {
				t.Errorf("change of %q: got %+v", name, events)
			}
		})
	}
}
