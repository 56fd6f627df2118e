package policy_test

import (
	"slices"
	"testing"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// TestLanguage: each rule about the file reports its wrong example and no
// error in the right one.
func TestLanguage(t *testing.T) {
	for _, r := range policy.Language {
		_, problems := policy.Check("retry.yaml", []byte(r.Wrong+"\n"))
		if !slices.ContainsFunc(problems, func(p policy.Problem) bool { return p.Rule == r.ID }) {
			t.Errorf("%s: the wrong example gives %v", r.ID, problems)
		}
		_, problems = policy.Check("retry.yaml", []byte(r.Right+"\n"))
		if problems = policy.AtLeast(rules.Warning, problems); len(problems) > 0 {
			t.Errorf("%s: the right example gives %v", r.ID, problems)
		}
	}
}
