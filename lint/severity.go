package lint

import (
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
)

// SeverityOf returns the severity of the findings of a rule in Go code. Any
// finding fails a run.
func SeverityOf(rule string) rules.Severity {
	if rule == "P302" {
		return rules.Info // many attempts under a budget are an idiom
	}
	if r := RuleByID(rule); r != nil {
		return r.Severity
	}
	return rules.Warning
}

// named are the rules all of whose findings have the evidence Named.
var named = []string{"RL113", "RL304"}

// IsNamed reports whether all findings of a rule have the evidence Named, so that none is
// reported by default.
func IsNamed(rule string) bool { return slices.Contains(named, rule) }
