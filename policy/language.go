package policy

import (
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
)

// Language lists the rules about the text of a policy file and the names in it, ordered
// by id. [rules.All] lists the rules about the meaning of its policies.
var Language = []rules.Rule{
	{ID: "P001", Severity: rules.Error},
	{ID: "P002", Severity: rules.Error},
	{ID: "P100", Severity: rules.Error},
	{ID: "P101", Severity: rules.Error},
	{ID: "P102", Severity: rules.Error},
	{ID: "P103", Severity: rules.Error},
	{ID: "P104", Severity: rules.Error},
	{ID: "P105", Severity: rules.Error},
	{ID: "P107", Severity: rules.Error},
	{ID: "P108", Severity: rules.Error},
	{ID: "P109", Severity: rules.Error},
	{ID: "P111", Severity: rules.Info},
	{ID: "P305", Severity: rules.Error},
	{ID: "P707", Severity: rules.Error},
	{ID: "P709", Severity: rules.Error},
	{ID: "P901", Severity: rules.Error},
	{ID: "P903", Severity: rules.Error},
	{ID: "P904", Severity: rules.Error},
	{ID: "P906", Severity: rules.Error},
	{ID: "P907", Severity: rules.Error},
	{ID: "P910", Severity: rules.Error},
	{ID: "P911", Severity: rules.Error},
	{ID: "P912", Severity: rules.Error},
	{ID: "P913", Severity: rules.Warning},
	{ID: "P914", Severity: rules.Warning},
	{ID: "P916", Severity: rules.Error},
	{ID: "P917", Severity: rules.Error},
	{ID: "P920", Severity: rules.Warning},
	{ID: "P921", Severity: rules.Info},
	{ID: "P925", Severity: rules.Error},
	{ID: "P926", Severity: rules.Warning},
	{ID: "P927", Severity: rules.Error},
	{ID: "P929", Severity: rules.Error},
	{ID: "P930", Severity: rules.Warning},
}

// IsNote reports whether the findings of a rule are notes that the generator prints when
// its output changes. Notes have the severity Info. Other findings with this severity are
// printed only on request.
func IsNote(rule string) bool { return rule == "P921" }

// Rules returns all rules about policy files: the rules in Language, followed by the
// rules in package rules, each list ordered by id.
func Rules() []rules.Rule { return slices.Concat(Language, rules.All) }

// RuleByID returns the rule with the given id, such as "P102", or nil.
func RuleByID(id string) *rules.Rule {
	all := Rules()
	i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}
