package durable

import (
	"fmt"
	"maps"
	"slices"
)

// maxPolicies is how many policies of one name are distinguished in a run.
const maxPolicies = 8

// notePolicy notes the policy of the step in its record and in that of the run.
// It is a change if the run knows another policy of the same name, or the step had
// a policy of another name. A change is reported once in a run: workers with
// different policy files may execute it in turns.
func (v *stepView) notePolicy() {
	p, before := v.c.policy.Policy, v.body.Policy
	digest, known := p.Digest(), v.runBody.Policies[p.Name]
	v.body.Policy = p.Name
	if slices.Contains(known, digest) || len(known) == maxPolicies {
		return
	}
	old := v.runBody.Policies[before]
	if len(known) > 0 {
		before, old = p.Name, known
	}
	if before != "" && len(old) > 0 {
		v.changed = fmt.Errorf("policy %q (%s) decides instead of %q (%s)", p.Name, digest, before, old[len(old)-1])
	}
	policies := maps.Clone(v.runBody.Policies) // which other views share
	if policies == nil {
		policies = map[string][]string{}
	}
	policies[p.Name] = append(slices.Clip(known), digest)
	v.runBody.Policies, v.policies = policies, true
}
