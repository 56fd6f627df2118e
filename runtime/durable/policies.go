package durable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
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
	before, old := s.Policy, record.SettingsAt(v.runBody.Policies[s.Policy], s.PolicyAt)
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
