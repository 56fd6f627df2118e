package durable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
)

// maxPolicies is how many policies of one name are distinguished in a run.
const maxPolicies = 8

// notePolicy notes the policy of the step in its record, and the settings of the
// policy in the record of the run if that does not have them: many steps share them.
// They are a change if the run knows other ones of the same name, or the step had a
// policy of another name. A change is reported once in a run: workers with different
// policy files may execute it in turns.
func (v *stepView) notePolicy() {
	p, s := v.c.policy.Policy, &v.body
	settings, known := v.x.settingsOf(p), v.runBody.Policies[p.Name]
	before, old := s.Policy, settingsAt(v.runBody.Policies[s.Policy], s.PolicyAt)
	if s.Policy != p.Name && len(known) > 0 {
		before, old = p.Name, known[len(known)-1]
	}
	s.Policy, s.PolicyAt = p.Name, slices.Index(known, settings)
	if s.PolicyAt >= 0 {
		return
	}
	if s.PolicyAt = len(known); len(known) == maxPolicies {
		return // which settings these are is not known
	}
	v.changed = policyChange(before, p.Name, old, settings)
	policies := maps.Clone(v.runBody.Policies) // which other views share
	if policies == nil {
		policies = map[string][]retry.Settings{}
	}
	policies[p.Name] = append(slices.Clip(known), settings)
	v.runBody.Policies, v.policies = policies, true
}

// settingsOf returns the settings of a policy, which it builds once: many steps have
// the same one.
func (x *execution) settingsOf(p *retry.Policy) retry.Settings {
	if settings, ok := x.settings.Load(p); ok {
		return settings.(retry.Settings)
	}
	settings := p.Settings()
	x.settings.Store(p, settings)
	return settings
}

// settingsAt returns the settings at an index, or "" if they are not known.
func settingsAt(list []retry.Settings, at int) retry.Settings {
	if at < len(list) && list[at].Known() {
		return list[at]
	}
	return ""
}

// policyChange returns what is reported of a policy that decides instead of another
// one. It is nil if nothing is known about that.
func policyChange(before, name string, old, settings retry.Settings) error {
	if !old.Known() {
		return nil
	}
	changes := strings.Join(settings.Changes(old), ", ")
	switch {
	case before == name:
		return fmt.Errorf("policy %q: %s", name, changes)
	case changes == "":
		return fmt.Errorf("policy %q, with the same settings, decides instead of %q", name, before)
	}
	return fmt.Errorf("policy %q decides instead of %q: %s", name, before, changes)
}

// Settings returns the settings of the policy that has decided last about a step of
// the run, or "" if they are not known: the step has no policy or was imported, or an
// older version of this module has recorded it.
func (r *RunInfo) Settings(s *StepInfo) retry.Settings {
	if s.Policy == "" || s.imported {
		return ""
	}
	return settingsAt(r.Policies[s.Policy], s.policyAt)
}

// SettingsChanges returns what the policy that has decided last about a step of the run
// has other than the settings that the run had of it before, as "max_attempts 3 → 5".
func (r *RunInfo) SettingsChanges(s *StepInfo) []string {
	if s.policyAt == 0 {
		return nil
	}
	return r.Settings(s).Changes(settingsAt(r.Policies[s.Policy], s.policyAt-1))
}

// Progress describes how far a step of the run is within the limits of its policy, as
// in "attempt 3 of 5, exponential 1s × 2 to 30s", or returns "" if the settings of the
// policy are not known. Attempts that were lost or interrupted are not counted, nor
// those before [Engine.Requeue]; refusals by a breaker that the policy retries are.
func (r *RunInfo) Progress(s *StepInfo) string {
	settings := r.Settings(s)
	most := settings.MaxAttempts()
	n := s.Failures + s.Refusals
	if s.Status == StatusExecuting || s.Status == StatusSucceeded {
		n++
	}
	switch {
	case most == 0:
		return ""
	case most == retry.Unlimited:
		return fmt.Sprintf("attempt %d, without a limit, %s", n, settings.Schedule())
	}
	return fmt.Sprintf("attempt %d of %d, %s", n, most, settings.Schedule())
}

// PolicyChanges returns what has changed in the policies of the run since its start,
// by their names, as in "policy charge: max_attempts 3 → 5".
func (r *RunInfo) PolicyChanges() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Policies)) {
		var before retry.Settings
		for _, settings := range r.Policies[name] {
			if changes := settings.Changes(before); len(changes) > 0 {
				list = append(list, fmt.Sprintf("policy %s: %s", name, strings.Join(changes, ", ")))
			}
			before = settings
		}
	}
	return list
}
