package lint

import (
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
)

// What is not listed is a warning.
var (
	grave = []string{
		"RL101", "RL104", "RL105", "RL106", "RL107", "RL113", "RL201", "RL207", "RL301", "RL302", "RL502",
		"P106", "P201", "P300", "P301", "P401", "P404", "P702", // of literals
	}
	onRequest = []string{"RL110", "RL112", "RL403", "P302", "P303"}
)

// SeverityOf returns how grave the findings of a rule in Go code are. Any
// finding fails a run.
func SeverityOf(rule string) rules.Severity {
	switch {
	case slices.Contains(grave, rule):
		return rules.Error
	case slices.Contains(onRequest, rule):
		return rules.Info
	}
	return rules.Warning
}
