package policy

import (
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/internal/spelling"
	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
)

// foreignKeys maps keys of other systems' files to what to write instead.
var foreignKeys = map[string]string{
	"timeouts":         "time limits by scope are written scopes: {step: {timeout: 15m}}",
	"timeout_override": "write timeout under the policy, as timeout: 15m",
	"steps":            "steps belong to a workflow: write a policy under policies, and bind it to what runs the step",
	"map": "a workflow is not a policy file: put its retry_config under policies, as policies: {agent: " +
		"{max_attempts: 5}}",
	"reduce": "a workflow is not a policy file: put its retry_config under policies, as policies: {agent: " +
		"{max_attempts: 5}}",
	"mode": "a workflow is not a policy file: put its retry_config under policies, as policies: {agent: " +
		"{max_attempts: 5}}",
	"name": "a policy file has no name of its own: policies are named under policies",
	"error_policy": "put its retry_config under policies, as policies: {agent: {max_attempts: 5}}, and the rest under " +
		"groups",
	"retry_config":  "give it a name under policies, as policies: {agent: {max_attempts: 5}}",
	"retry":         "give it a name under policies, as policies: {agent: {max_attempts: 5}}",
	"retryPolicy":   "this is gRPC's: write policies: {call: {max_attempts: 4, initial_delay: 100ms}}",
	"methodConfig":  "this is gRPC's: write policies and bind",
	"hedgingPolicy": "this is gRPC's: write policies: {call: {hedge: {after: 50ms}}}",
}

// groupWords maps Prodigy's keys of an error policy to what to write in a group.
var groupWords = map[string]string{
	"on_item_failure":     "write on_unit_failure: dead_letter, skip or stop",
	"continue_on_failure": "write on_unit_failure: stop if it is false, and remove it if it is true",
	"failure_threshold":   "write failure_rate",
	"error_collection":    "write collect: all, first or {every: 10}",
	"circuit_breaker":     "write breaker: {failures: 5, open_for: 30s, successes: 3}",
	"dlq":                 "write on_unit_failure: dead_letter",
	"max_parallel":        "write workers",
}

// breakerWords maps keys of other systems' circuit breakers to our keys.
var breakerWords = map[string]string{
	"failure_threshold":   "failures",
	"recovery_timeout":    "open_for",
	"success_threshold":   "successes",
	"half_open_max_calls": "half_open_calls",
	"half_open_requests":  "half_open_calls",
}

// jobWords maps the settings of a job in AD-44 to where a policy file has them.
var jobWords = map[string]string{
	"retry_budget": "budget of a group, as budgets: {job: {retries: 20}} and " +
		"groups: {import: {budget: job}}",
	"retry_budget_per_workflow":    "per_unit of a budget, as budgets: {job: {retries: 20, per_unit: 3}}",
	"best_effort_min_dcs":          "min_success of best_effort, as best_effort: {min_success: 1}",
	"best_effort_deadline_seconds": "deadline of best_effort, as best_effort: {deadline: 5m}",
	"min_dcs":                      "min_success",
	"deadline_seconds":             "deadline, as deadline: 5m",
	"late_result_policy":           "late",
	"check_interval_seconds":       "check_every, as check_every: 5s",
	"per_workflow":                 "per_unit",
	"per_workflow_max":             "per_unit",
	"total_budget":                 "retries",
}

// foreignHint returns the setting of ours that a key of another system's breaker or
// job means, or "". where and known are as for unknownKeys.
func foreignHint(key, where string, known []string) string {
	breaker, job := breakerWords[key], jobWords[key]
	word, _, _ := strings.Cut(job, ",")
	switch {
	case breaker != "" && slices.Contains(known, breaker):
		return spelling.Question(breaker)
	case breaker != "" && where == "policy":
		return "did you mean " + breaker + " of a breaker? Write breakers: {upstream: {" + breaker + ": …}}"
	case job != "" && slices.Contains(known, word):
		return "did you mean " + job + "?"
	case job != "" && where == "group", job != "" && where == "file":
		return "did you mean " + job + "?"
	}
	return ""
}

// retryWords are keys that count retries in some systems and attempts in others.
var retryWords = []string{"max_retries", "retries", "limit", "num_retries", "maxRetries", "retry_limit"}

// unknownKeys reports the keys of n that are not in known, each with what to
// write instead. It returns whether there are any. where is the kind of the map:
// "file", "policy", "per_error", "limits", "group", "binding", "method", or "" for
// others.
func (r reporter) unknownKeys(n *syntax.Node, where string, known ...string) (found bool) {
	for i, e := range n.Entries {
		if slices.Contains(known, e.Key) || where == "file" && len(e.Key) > 2 && e.Key[:2] == "x-" {
			continue
		}
		found = true
		hint := foreignKeys[e.Key]
		if where == "group" && hint == "" {
			hint = groupWords[e.Key]
		}
		if hint == "" {
			hint = foreignHint(e.Key, where, known)
		}
		if hint == "" {
			hint = unitHint(&n.Entries[i], known)
		}
		if hint == "" {
			hint = r.misplaced(&n.Entries[i], where)
		}
		switch {
		case r.full():
		case (where == "policy" || where == "per_error") && slices.Contains(retryWords, e.Key):
			r.problem(e.At, "P107",
				"%s counts retries in one system and attempts in another: write %s, with all attempts counted",
				e.Key, attemptsFor(e.Value))
		case hint != "":
			r.problem(e.At, "P101", "unknown key %q: %s", e.Key, hint)
		default:
			r.problem(e.At, "P101", "unknown key %q%s", e.Key, didYouMean(e.Key, known))
		}
	}
	return found
}

var capital = regexp.MustCompile(`[A-Z]+`)

// unitHint returns how to write a setting whose unit is part of its key, as
// initial_delay: 500ms for initial_delay_ms: 500, or "".
func unitHint(e *syntax.Entry, known []string) string {
	words := strings.ToLower(capital.ReplaceAllString(e.Key, "_$0"))
	i := strings.LastIndex(words, "_")
	if i <= 0 || len(words) > 100 {
		return ""
	}
	key, unit := words[:i], duration.Unit(words[i+1:])
	if !slices.Contains(known, key) {
		key = spelling.Nearest(key, known)
	}
	if key == "" || unit == "" {
		return ""
	}
	value := "500" + unit
	if _, err := duration.Parse(e.Value.Text + unit); err == nil {
		value = duration.Canonical(e.Value.Text + unit)
	}
	return "write " + key + ": " + value
}

// misplaced returns where to write a key of the language that is in the wrong
// map, or "".
func (r reporter) misplaced(e *syntax.Entry, where string) string {
	value := "…"
	if text := e.Value.Text; 0 < len(text) && len(text) < 20 {
		value = text
	}
	ofPolicy := slices.Contains(r.policyKeys, e.Key)
	switch where {
	case "file":
		section := slices.Contains(sections, e.Key+"s") // as budget: that is meant
		switch {
		case e.Key == "policy":
			return "policies have names: write policies: {read: {max_attempts: 4}}"
		case ofPolicy && !section:
			return "write it under a policy, or under defaults for all"
		}
	case "policy", "per_error":
		strategies := map[string]string{
			"base": "exponential: {base: ", "multiplier": "exponential: {base: ", "increment": "linear: {increment: ",
			"delays": "custom: {delays: ",
		}
		switch {
		case strategies[e.Key] != "":
			return "write it under its strategy, as backoff: {" + strategies[e.Key] + value + "}}"
		case slices.Contains(durableKeys, e.Key):
			return "write it under durable, as durable: {" + e.Key + ": " + value + "}"
		case e.Key == "policy":
			return "write extends for the settings of another policy"
		case slices.Contains(bindingKeys, e.Key):
			return "write it where the policy is bound, as bind: {Client.Fetch: {policy: NAME, " + e.Key + ": " + value + "}}"
		case ofPolicy:
			return "it applies to all errors: write it under the policy"
		}
	case "binding", "method":
		if where == "binding" && token.IsExported(e.Key) {
			return "methods are written under methods, as methods: {" + e.Key + ": " + value + "}"
		}
		if ofPolicy {
			return "write it under policies, and the policy's name here"
		}
	}
	return ""
}

// attemptsFor returns the setting max_attempts for a number of retries.
func attemptsFor(n *syntax.Node) string {
	if retries, ok := n.Value.(int64); ok && retries >= 0 {
		return "max_attempts: " + strconv.FormatInt(retries+1, 10)
	}
	return "max_attempts: N+1"
}

// didYouMean returns a hint that names the nearest candidate, or lists all
// candidates if they are few. It returns "" for very long words and lists, since a
// comparison takes time proportional to the product of the lengths.
func didYouMean(word string, candidates []string) string {
	const maxListed = 8
	if len(word) > 100 || len(candidates) > 1000 {
		return ""
	}
	if best := spelling.Nearest(word, candidates); best != "" {
		return ": " + spelling.Question(best)
	}
	if len(candidates) == 0 || len(candidates) > maxListed {
		return ""
	}
	return ": write " + strings.Join(slices.Sorted(slices.Values(candidates)), ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
