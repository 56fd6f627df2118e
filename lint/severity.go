package lint

import "github.com/retrygen/retrygen/policy/rules"

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
