package policy_test

import (
	"slices"
	"testing"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// needGo are rules that only the generator can judge.
var needGo = []string{"P906", "P910"}

// TestLanguage: each rule about the file reports its wrong example and nothing
// in the right one.
func TestLanguage(t *testing.T) {
	for _, r := range policy.Language {
		_, problems := policy.Check("retry.yaml", []byte(r.Wrong+"\n"))
		if !slices.Contains(needGo, r.ID) && !slices.ContainsFunc(problems, func(p policy.Problem) bool { return p.Rule == r.ID }) {
			t.Errorf("%s: the wrong example gives %v", r.ID, problems)
		}
		_, problems = policy.Check("retry.yaml", []byte(r.Right+"\n"))
		if problems = policy.AtLeast(rules.Warning, problems); len(problems) > 0 {
			t.Errorf("%s: the right example gives %v", r.ID, problems)
		}
	}
}
