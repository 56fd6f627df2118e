package policy_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/internal/docpages"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// needMore are the rules that need more than a policy file: the Go code, or a file
// of another system.
var needMore = []string{"P111", "P906", "P910", "P911", "P912", "P913", "P914", "P916", "P917", "P920", "P921",
	"P925", "P926", "P927", "P929", "P930"}

// TestLanguage: each rule about the file reports the example of its page with its
// severity, and nothing in the fixed one.
func TestLanguage(t *testing.T) {
	for _, r := range policy.Language {
		if rules.ByID(r.ID) != nil {
			t.Errorf("%s is described twice", r.ID)
		}
		page := docs.Rule(r.ID)
		_, problems := policy.Check("retry.yaml", []byte(docpages.Code(page, "Example")))
		if !slices.Contains(needMore, r.ID) &&
			!slices.ContainsFunc(problems, func(p policy.Problem) bool { return p.Rule == r.ID && p.Severity == r.Severity }) {
			t.Errorf("%s: the example gives %v", r.ID, problems)
		}
		_, problems = policy.Check("retry.yaml", []byte(docpages.Code(page, "Fixed")))
		if problems = policy.AtLeast(rules.Warning, problems); len(problems) > 0 {
			t.Errorf("%s: the fixed example gives %v", r.ID, problems)
		}
	}
}

// TestReportedRulesAreDescribed: what a message names in brackets can be
// explained.
func TestReportedRulesAreDescribed(t *testing.T) {
	ids := regexp.MustCompile(`\[(P[0-9]{3})\]\n`)
	for _, name := range glob(t, "err/*.out") {
		for _, m := range ids.FindAllSubmatch(read(t, name), -1) {
			if id := string(m[1]); policy.RuleByID(id) == nil {
				t.Errorf("%s: %s is not described: add it to policy.Language", name, id)
			}
		}
	}
}
