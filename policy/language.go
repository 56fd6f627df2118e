package policy

import (
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
)

// Language lists the rules about the text of a policy file and its names, by id.
// [rules.All] lists those about the meaning of its policies. Wrong and Right are
// whole files.
var Language = slices.Concat(textRules, nameRules)

// textRules lists the rules about keys and values.
var textRules = []rules.Rule{
	{
		ID: "P001", Title: "ignore comment without effect", Severity: rules.Error,
		Reports: "A `# retrygen:ignore` comment names a rule that reports nothing on its line.",
		Why: "The policy has changed since the comment was written. A leftover comment hides the " +
			"next real problem on that line.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  read: {max_attempts: 4} # retrygen:ignore P405 it never takes that long",
		Right: "version: 1\npolicies:\n  read: {max_attempts: 4}",
		NotReported: []string{
			"Files with an error, which may keep the rule from running.",
		},
		Fix:     "Remove the comment.",
		Related: []string{"P002", "RL001"},
	},
	{
		ID: "P002", Title: "invalid ignore comment", Severity: rules.Error,
		Reports: "A `# retrygen:ignore` comment gives no reason, names more than one rule, or names a rule " +
			"that cannot be ignored.",
		Why: "Without a reason nobody can decide later whether the exception still holds. Errors in the " +
			"language cannot be ignored, because no policy results from them.",
		Wrong: "version: 1\n" +
			"policies:\n" +
			"  # retrygen:ignore P405\n" +
			"  read: {max_attempts: 4, attempt_timeout: 5s, timeout: 15s}",
		Right: "version: 1\n" +
			"policies:\n" +
			"  # retrygen:ignore P405 the service answers within 1s or never\n" +
			"  read: {max_attempts: 4, attempt_timeout: 5s, timeout: 15s}",
		NotReported: []string{
			"P2… to P8…, P913 and P914 with a reason: these are about what a policy means.",
		},
		Fix:     "Write one rule and the reason: `# retrygen:ignore P405 the service answers within 1s or never`.",
		Related: []string{"P001", "RL002"},
	},
	{
		ID: "P100", Title: "not a policy file", Severity: rules.Error,
		Reports: "The file is empty, larger than 4 MiB, not one YAML document in UTF-8, or has more errors " +
			"than are shown.",
		Why: "A file that is read only in part would run with other limits than the ones in it. Nothing is " +
			"generated from it.",
		Wrong: "{version: 1",
		Right: "{version: 1}",
		NotReported: []string{
			"Comments, anchors and merge keys (`<<`), which are read as YAML defines them.",
		},
		Fix:     "Correct the YAML at the reported place, and split several documents into several files.",
		Related: []string{"P101", "P907"},
	},
	{
		ID: "P101", Title: "unknown key", Severity: rules.Error,
		Reports: "A key is not part of the policy language.",
		Why: "An ignored key is a limit that does not exist: a misspelt `max_atempts: 2` would run with the " +
			"default.",
		Wrong: "version: 1\npolicies:\n  read: {max_atempts: 4}",
		Right: "version: 1\npolicies:\n  read: {max_attempts: 4}",
		NotReported: []string{
			"Keys at the top of the file that begin with `x-`, which may hold YAML anchors.",
			"Older spellings of a setting: `retrygen fmt` rewrites them.",
		},
		Fix:     "Use the spelling that the message suggests, or see the language reference.",
		Related: []string{"P102", "P107"},
	},
	{
		ID: "P102", Title: "invalid value", Severity: rules.Error,
		Reports: "A value has another type than its key takes, is out of range, or contradicts another " +
			"setting; or a key appears twice.",
		Why: "Other systems clamp or drop such values silently, and production runs with a limit that nobody " +
			"wrote.",
		Wrong: "version: 1\npolicies:\n  read: {max_attempts: 0}",
		Right: "version: 1\npolicies:\n  read: {max_attempts: 1}",
		NotReported: []string{
			"Values that are valid but have no effect: P109 reports them.",
		},
		Fix:     "Write a value of the kind that the message names.",
		Related: []string{"P101", "P103", "P104"},
	},
	{
		ID: "P103", Title: "invalid duration", Severity: rules.Error,
		Reports: "A duration has no unit, an unknown unit, or another spelling than numbers with units; months " +
			"and years are a warning.",
		Why: "Half of the world reads `20` as seconds, the other half as milliseconds. The difference is a " +
			"factor of 1000 in a timeout.",
		Wrong: "version: 1\npolicies:\n  read: {timeout: 20}",
		Right: "version: 1\npolicies:\n  read: {timeout: 20s}",
		NotReported: []string{
			"0, which is the same in every unit, where the setting allows it.",
			"Spellings such as `1m30s`, `1h 30m` and `2 minutes`.",
		},
		Fix:     "Write a number with ns, us, ms, s, m, h, d or w.",
		Related: []string{"P102", "RL207"},
	},
	{
		ID: "P104", Title: "two spellings of one setting that differ", Severity: rules.Error,
		Reports: "A setting is written under two of its names with different values.",
		Why:     "Which of them wins depends on the reader. The file must be unambiguous.",
		Wrong:   "version: 1\npolicies:\n  read: {max_attempts: 4, attempts: 5}",
		Right:   "version: 1\npolicies:\n  read: {max_attempts: 4}",
		NotReported: []string{
			"Two spellings with equal values.",
		},
		Fix:     "Keep the spelling that the message names.",
		Related: []string{"P101", "P102"},
	},
	{
		ID: "P105", Title: "more than one backoff strategy", Severity: rules.Error,
		Reports: "`backoff` names more than one strategy.",
		Why: "A policy has one schedule. Ignoring one of the strategies would make delays that somebody did " +
			"not expect.",
		Wrong: "version: 1\npolicies:\n  read: {backoff: {fixed: {}, fibonacci: {}}}",
		Right: "version: 1\npolicies:\n  read: {backoff: fibonacci}",
		NotReported: []string{
			"A strategy under `per_error`, which is the schedule of one class.",
		},
		Fix:     "Keep one strategy.",
		Related: []string{"P109"},
	},
	{
		ID: "P107", Title: "count of retries instead of attempts", Severity: rules.Error,
		Reports: "A policy has a key such as `retries` or `max_retries`, which counts retries in some systems " +
			"and attempts in others.",
		Why:   "A file that is moved from another system would silently make one attempt more or less.",
		Wrong: "version: 1\npolicies:\n  read: {max_retries: 3}",
		Right: "version: 1\npolicies:\n  read: {max_attempts: 4}",
		NotReported: []string{
			"`retries` of a budget, which counts retries and nothing else.",
		},
		Fix:     "Write `max_attempts`, which counts all attempts including the first.",
		Related: []string{"P101"},
	},
	{
		ID: "P108", Title: "empty list", Severity: rules.Error,
		Reports: "`retry_on` is an empty list (an error), or `delays` is (a warning).",
		Why: "An empty `retry_on` would retry nothing, and empty `delays` make every delay `max_delay`. Both " +
			"usually are leftovers of an edit.",
		Wrong: "version: 1\npolicies:\n  read: {retry_on: []}",
		Right: "version: 1\npolicies:\n  read: {max_attempts: 1}",
		NotReported: []string{
			"An empty `abort_on`, which excludes nothing.",
		},
		Fix:     "List what is meant, remove the key for the default, or write `max_attempts: 1` to retry nothing.",
		Related: []string{"P207"},
	},
	{
		ID: "P109", Title: "setting that is not read", Severity: rules.Error,
		Reports: "The backoff strategy, the jitter mode, the breaker or the error policy of a group does not read a " +
			"setting that is written for it.",
		Why: "The author expects an effect, such as growing delays from an `increment`, and production runs " +
			"without it.",
		Wrong: "version: 1\npolicies:\n  read: {backoff: {fixed: {increment: 2s}}}",
		Right: "version: 1\npolicies:\n  read: {backoff: {linear: {increment: 2s}}}",
		NotReported: []string{
			"Settings that are inherited: they are checked where they are written.",
		},
		Fix:     "Remove the setting, or use the strategy or mode that reads it.",
		Related: []string{"P101", "P105", "P504"},
	},
	{
		ID: "P111", Title: "setting of another system without counterpart", Severity: rules.Info,
		Reports: "A field in a policy of another system has no counterpart in the policy language, so no rule reads it.",
		Why: "The policy may behave differently than the other findings assume. After an import the setting is " +
			"missing, unless somebody replaces it.",
		Wrong: "methodConfig:\n  - name: [{service: echo.Echo}]\n    waitForReady: true\n    timeout: 5s",
		Right: "version: 1\npolicies:\n  echo: {max_attempts: 1, timeout: 5s}",
		NotReported: []string{
			"Fields that have nothing to do with retries, such as the name of a resource.",
			"Unknown fields that resemble a known one: P101 reports them.",
		},
		Fix:     "Read what the message says about the field. `retrygen import` writes it as a comment at the policy.",
		Related: []string{"P101"},
	},
	{
		ID: "P305", Title: "over a limit of the file", Severity: rules.Error,
		Reports: "A policy or scope exceeds a ceiling that `limits` sets for the file, or lacks the limit that " +
			"has a ceiling.",
		Why: "`limits` states what a team allows, such as a timeout that fits the load balancer. One policy " +
			"over it breaks the promise to all callers.",
		Wrong: "version: 1\nlimits: {timeout: 1m}\npolicies:\n  read: {timeout: 2m}",
		Right: "version: 1\nlimits: {timeout: 1m}\npolicies:\n  read: {timeout: 30s}",
		NotReported: []string{
			"Policies that get their timeout from a scope: the scope is checked.",
			"`per_error` schedules with the attempts and `max_delay` of their policy.",
		},
		Fix:     "Lower the setting, or raise the limit of the file.",
		Related: []string{"P402", "P403", "P806"},
	},
	{
		ID: "P707", Title: "cancellation retried", Severity: rules.Error,
		Reports: "`retry_on` names `canceled`.",
		Why:     "The caller that canceled the call no longer waits for it. Retries would only use connections and time.",
		Wrong:   "version: 1\npolicies:\n  read: {retry_on: [network, canceled]}",
		Right:   "version: 1\npolicies:\n  read: {retry_on: [network]}",
		NotReported: []string{
			"`any`: the end of the caller's own context is never retried.",
			"`canceled` in the `count` of a breaker: P508 reports it.",
		},
		Fix:     "Remove `canceled`.",
		Related: []string{"P508", "P701", "RL104"},
	},
	{
		ID: "P709", Title: "invalid pattern", Severity: rules.Error,
		Reports: "A `pattern` is not a regular expression of Go (RE2), or matches the empty text and so every " +
			"error.",
		Why: "An invalid pattern would match nothing and leave errors without a retry; one that matches " +
			"everything retries permanent errors.",
		Wrong: "version: 1\npolicies:\n  read: {retry_on: [{pattern: '(?!x)'}]}",
		Right: "version: 1\npolicies:\n  read: {retry_on: [{pattern: 'busy'}]}",
		NotReported: []string{
			"Patterns that match more than intended, but not the empty text.",
		},
		Fix:     "Write a pattern without look-ahead and back references, or a class by type or status.",
		Related: []string{"P102"},
	},
}

// Rules returns all rules about policy files: those of Language, then those of
// package rules, each in the order of their ids.
func Rules() []rules.Rule { return slices.Concat(Language, rules.All) }

// RuleByID returns the rule with that id, as "P102", or nil.
func RuleByID(id string) *rules.Rule {
	all := Rules()
	i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}
