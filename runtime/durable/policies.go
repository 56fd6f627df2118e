package durable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// maxPolicies is the maximum number of policies with the same name that a run distinguishes.
const maxPolicies = 8

// notePolicy records the policy of a step in the step's record. If the record of the run does
// not contain the policy's settings yet, notePolicy adds them there, because many steps share
// them. The settings are a change if the run knows other settings of the same name, or if the
// step had a policy with another name. A change is reported once per run, because workers with
// different policy files may execute the run in turns.
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
		return // it is unknown which settings these are
	}
	v.changed = policyChange(before, p.Name, old, settings)
	policies := maps.Clone(v.runBody.Policies) // other views share the map
	if policies == nil {
		policies = map[string][]retry.Settings{}
	}
	policies[p.Name] = append(slices.Clip(known), settings)
	v.runBody.Policies, v.policies = policies, true
}

// settingsOf returns the settings of a policy. It computes them only once, because many steps
// have the same policy.
func (x *execution) settingsOf(p *retry.Policy) retry.Settings {
	if settings, ok := x.settings.Load(p); ok {
		return settings.(retry.Settings)
	}
	settings := p.Settings()
	x.settings.Store(p, settings)
	return settings
}

// policyChange returns the error to report if a policy has replaced another one. It is nil if
// the earlier settings are unknown.
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
