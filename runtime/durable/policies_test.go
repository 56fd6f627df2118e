package durable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// Two workers with different policy files continue a run in turns. The first step
// under the second file is reported, with what has changed, and nothing after that. The
// run has the settings of both, and each step those that have decided about it.
func TestPolicyFilesAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
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
		if events := files[0].saw(events.EventPolicyChanged); len(events) > 0 {
			t.Errorf("the file with which the run began was reported: %+v", events)
		}
		events := files[1].saw(events.EventPolicyChanged)
		if len(events) != 1 {
			t.Fatalf("got %d reports, want 1: %+v", len(events), events)
		}
		ev := events[0]
		const change = "max_attempts 3 → 4"
		if ev.Step != "charge/1" || ev.Err == nil || ev.Err.Error() != `policy "charge": `+change {
			t.Errorf("got %+v, want the step charge/1 and %s", ev, change)
		}
		r := wantRun(t, files[0].Engine, "one", storage.StatusFailed)
		if got, want := r.PolicyChanges(), []string{"policy charge: " + change}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for id, s := range steps(t, files[0].Engine, "one") {
			want := "attempt 1 of 3, exponential 1s × 2"
			if (id[len(id)-1]-'0')%2 == 1 {
				want = "attempt 1 of 4, exponential 1s × 2"
			}
			if got := r.Progress(&s); got != want {
				t.Errorf("%s: got %q, want %q", id, got, want)
			}
		}
	})
}

// A step that is continued under a policy with another name is reported.
func TestPolicyRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
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
		events := second.saw(events.EventPolicyChanged)
		const want = `policy "patient", with the same settings, decides instead of "charge"`
		if len(events) != 1 || events[0].Err.Error() != want {
			t.Errorf("got %+v, want one report: %s", events, want)
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
			m := memory.New()
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
			if events := second.saw(events.EventPolicyChanged); len(events) > 0 != (name != "") {
				t.Errorf("change of %q: got %+v", name, events)
			}
		})
	}
}

// An attempt that is lost is decided about by the policy of the process that finds it,
// which is reported although the step makes no further attempt.
func TestPolicyChangedForLostAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		first, second := startProcess(t, m), startProcess(t, m)
		s := careful("charge", 3, time.Minute)
		s.OnLost = genapi.OnLostFail
		_ = first.run("one", oneStep(s, func(context.Context) (int, error) { first.kill(); return 0, nil }))
		other, policy := *s, *s.Policy
		policy.MaxElapsed = time.Hour
		other.Policy = &policy
		var j journal
		wantError(t, second.run("one", oneStep(&other, failing(&j, 0))), retry.ErrLost)
		events := second.saw(events.EventPolicyChanged)
		if len(events) != 1 || events[0].Err.Error() != `policy "charge": max_elapsed none → 1h` {
			t.Errorf("got %+v, want one report", events)
		}
	})
}

// Nothing is said about the policies of a run that an older version has executed: it
// has recorded digests.
func TestPolicyOfOlderVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var j journal
		first, second := startProcess(t, m), startProcess(t, m)
		s := careful("charge", 3, time.Minute)
		first.killAfter(time.Second)
		_ = first.run("one", oneStep(s, failing(&j, 1)))
		key := []storage.Key{{Kind: storage.KindRun, Run: "one"}}
		err := m.Update(t.Context(), storage.Select{Keys: key}, func(tx storage.Tx) (storage.Writes, error) {
			r := tx.Records[0]
			recorded, _ := json.Marshal(s.Policy.Settings())
			r.Body = bytes.Replace(r.Body, recorded, []byte(`"a77041a81f2830d4"`), 1)
			return storage.Writes{Put: []storage.Record{r}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r := wantRun(t, second.Engine, "one", storage.StatusOpen)
		charge := wantStep(t, second.Engine, "one", "charge", storage.StatusWaiting)
		if r.Policies["charge"][0] != "a77041a81f2830d4" || r.Settings(&charge) != "" || r.Progress(&charge) != "" {
			t.Errorf("got %+v", r)
		}
		if err := second.run("one", oneStep(s, failing(&j, 1))); err != nil {
			t.Fatal(err)
		}
		r = wantRun(t, second.Engine, "one", storage.StatusSucceeded)
		charge = wantStep(t, second.Engine, "one", "charge", storage.StatusSucceeded)
		if len(second.saw(events.EventPolicyChanged)) > 0 || len(r.PolicyChanges()) > 0 {
			t.Errorf("a change was reported: %+v", r)
		}
		if got, want := r.Progress(&charge), "attempt 2 of 3, "+r.Settings(&charge).Schedule(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A group that goes on under another policy reports what has changed, once.
func TestGroupPolicyChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, job.GroupPolicy{Workers: 1, MaxFailures: 2}, "a b c", "b")
		s.want(t, "a b c", "a c", "all_dcs_reported")
		s.policy.MaxFailures, s.policy.Timeout, s.policy.OnUnitFailure = 3, time.Hour, job.FailureDeadLetter
		s.policy.Budget = &job.BudgetPolicy{Retries: 10}
		for range 2 {
			if err := s.p.Admin().Requeue(t.Context(), "one", "/import/b"); err != nil {
				t.Fatal(err)
			}
			_, _ = s.run(t)
		}
		events := s.p.saw(events.EventPolicyChanged)
		const want = `group "import": timeout 0s → 1h0m0s, budget none → {retries 10}, ` +
			`on_unit_failure skip → dead_letter, max_failures 2 → 3`
		if len(events) != 1 || events[0].Err.Error() != want {
			t.Errorf("got %+v\nwant one report: %s", events, want)
		}
	})
}
