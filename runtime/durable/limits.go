package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	retry "github.com/retrygen/retrygen/runtime"
)

// digestOf returns a digest of everything in a policy that decides what is
// retried, when, and how often.
func digestOf(p *retry.Policy) string {
	h := sha256.New()
	fmt.Fprintf(h, "%+v %v %v %v %v", p.Schedule, p.DelayBudget, p.MaxElapsed, p.AttemptTimeout, p.Timeout)
	fmt.Fprintf(h, " %q %q %v", p.RetryOn, p.AbortOn, p.MatchText)
	for _, o := range p.PerError {
		fmt.Fprintf(h, " %+v", o)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// maxPolicies is how many policies of one name are told apart in a run.
const maxPolicies = 8

// notePolicy notes the policy of the step in its record and in that of the run.
// It is a change if the run knows another policy of the same name, or the step had
// a policy of another name. A change is reported once in a run: workers with
// different policy files may execute it in turns.
func (v *stepView) notePolicy() {
	p, before := v.c.policy.Policy, v.body.Policy
	digest, known := digestOf(p), v.runBody.Policies[p.Name]
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
