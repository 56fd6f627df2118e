package lint

import (
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
)

// Rules lists the rules about Go code, ordered by id. An analyzer reports one rule, or
// several that are checked together. Their pages are in package docs.
var Rules = []rules.Rule{
	{ID: "RL001", Severity: rules.Warning},
	{ID: "RL002", Severity: rules.Warning},
	{ID: "RL101", Severity: rules.Error},
	{ID: "RL102", Severity: rules.Warning},
	{ID: "RL103", Severity: rules.Warning},
	{ID: "RL104", Severity: rules.Error},
	{ID: "RL105", Severity: rules.Error},
	{ID: "RL106", Severity: rules.Error},
	{ID: "RL107", Severity: rules.Error},
	{ID: "RL109", Severity: rules.Info},
	{ID: "RL110", Severity: rules.Info},
	{ID: "RL113", Severity: rules.Error},
	{ID: "RL114", Severity: rules.Info},
	{ID: "RL115", Severity: rules.Error},
	{ID: "RL201", Severity: rules.Error},
	{ID: "RL202", Severity: rules.Warning},
	{ID: "RL204", Severity: rules.Warning},
	{ID: "RL205", Severity: rules.Warning},
	{ID: "RL207", Severity: rules.Error},
	{ID: "RL208", Severity: rules.Warning},
	{ID: "RL209", Severity: rules.Warning},
	{ID: "RL301", Severity: rules.Error},
	{ID: "RL302", Severity: rules.Error},
	{ID: "RL303", Severity: rules.Warning},
	{ID: "RL304", Severity: rules.Info},
	{ID: "RL306", Severity: rules.Warning},
	{ID: "RL401", Severity: rules.Warning},
	{ID: "RL402", Severity: rules.Warning},
	{ID: "RL501", Severity: rules.Warning},
	{ID: "RL502", Severity: rules.Error},
	{ID: "RL504", Severity: rules.Warning},
	{ID: "RL507", Severity: rules.Warning},
	{ID: "RL508", Severity: rules.Warning},
	{ID: "RL509", Severity: rules.Error},
	{ID: "RL510", Severity: rules.Warning},
	{ID: "RL511", Severity: rules.Warning},
	{ID: "RL512", Severity: rules.Warning},
	{ID: "RL513", Severity: rules.Error},
	{ID: "RL514", Severity: rules.Warning},
}

// RuleByID returns the rule about Go code or policies with the given id, or nil.
func RuleByID(id string) *rules.Rule {
	if i := slices.IndexFunc(Rules, func(r rules.Rule) bool { return r.ID == id }); i >= 0 {
		return &Rules[i]
	}
	return rules.ByID(id)
}

// SeverityOf returns the severity of a rule's findings in Go code. A finding of any
// severity fails a run.
func SeverityOf(rule string) rules.Severity {
	if rule == "P302" {
		return rules.Info // many attempts under a budget are common practice
	}
	if r := RuleByID(rule); r != nil {
		return r.Severity
	}
	return rules.Warning
}

// IsNamed reports whether all findings of a rule have the evidence Named. If so, none of
// them is reported by default.
func IsNamed(rule string) bool { return rule == "RL113" || rule == "RL306" }
