package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/schema"
)

// TestTableAndSchema: a policy, an entry of per_error and a group have the same
// keys in the decoder and in the schema, from which docs/language.md is made.
func TestTableAndSchema(t *testing.T) {
	var root struct {
		Properties  map[string]any `json:"properties"`
		Definitions map[string]struct {
			Message    string `json:"errorMessage"`
			Properties map[string]struct {
				Description string
				Deprecated  string `json:"deprecationMessage"`
			} `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(schema.JSON(), &root); err != nil {
		t.Fatal(err)
	}
	for _, key := range fileKeys {
		if root.Properties[key] == nil {
			t.Errorf("the table allows %s at the top of a file, and the schema does not", key)
		}
	}
	message := root.Definitions["schedule"].Message
	description := root.Definitions["policy"].Properties["per_error"].Description
	for i := range table {
		key := string(table[i].key)
		named := strings.Contains(message, key) && strings.Contains(description, key)
		if table[i].perError && !named {
			t.Errorf("per_error may have %s: name it in the errorMessage of definitions.schedule, and in the descriptions of "+
				"definitions.policy.properties.per_error", key)
		}
	}
	for name, keys := range map[string][]string{
		"policy": policyKeys, "schedule": perErrorKeys, "group": groupKeys,
	} {
		properties := root.Definitions[name].Properties
		if diff := cmp.Diff(slices.Sorted(maps.Keys(properties)), slices.Sorted(slices.Values(keys))); diff != "" {
			t.Errorf("definitions.%s.properties of schema/policy.schema.json does not have the settings of the table "+
				"(-schema +table):\n%s", name, diff)
		}
		for i := range table {
			older, has := properties[table[i].older]
			if has && older.Deprecated == "" {
				t.Errorf("%s: %s is an older spelling, but the schema has no deprecationMessage", name, table[i].older)
			}
		}
	}
}

// TestTableAndRules: the fields that rules read are settings, so that a finding
// has a place.
func TestTableAndRules(t *testing.T) {
	var keys []rules.Field
	for i := range table {
		s := &table[i]
		if slices.Contains(keys, s.key) {
			t.Errorf("%s is in the table twice", s.key)
		}
		keys = append(keys, s.key)
		if s.within != "" && !slices.Contains(policyKeys, string(s.within)) {
			t.Errorf("%s is within %s, which is not a key", s.key, s.within)
		}
	}
	for _, r := range rules.All {
		for _, field := range r.Reads {
			if !slices.Contains(keys, field) {
				t.Errorf("%s reads %s, which is not in the table", r.ID, field)
			}
		}
	}
}

// judged maps each setting to a rule that judges it together with others, or to the
// reason why nothing next to it can contradict it. A rule of [Language] is in this
// package, the others are in package rules.
var judged = map[rules.Field]string{
	"description":     "a comment",
	"extends":         "P901",
	"max_attempts":    "P300",
	"backoff":         "P209",
	"base":            "P106",
	"increment":       "P209",
	"delays":          "P207",
	"initial_delay":   "P201",
	"max_delay":       "P201",
	"jitter":          "P210",
	"jitter_factor":   "P109",
	"delay_budget":    "P301",
	"max_elapsed":     "P301",
	"attempt_timeout": "P401",
	"timeout":         "P404",
	"scope":           "P403",
	"retry_on":        "P702",
	"unknown":         "P703",
	"abort_on":        "P702",
	"match_text":      "any classes may be next to it: they are tested by types, too",
	"retry_after":     "P409",
	"per_error":       "P410",
	"breaker":         "P501",
	"budget":          "P804",
	"concurrency":     "P613",
	"rate":            "P615",
	"throttle":        "P619",
	"hedge":           "P611",
	"nested":          "P601",
	"reload":          "it changes nothing that the file says",
	"durable":         "P919",
	"record":          "P602",
	"on_lost":         "P602",
	"lost_max":        "P109",
	"result":          "there is only one value",
	"park_after":      "P603",
	"resume_spread":   "runs are also resumed after a crash, whatever waits",
	"on_changed":      "P919",
	"on_exhausted":    "P919",
}

// TestEverySetting: a setting is decided on wherever a new one is easily forgotten.
// The policies of settings.yaml are also what gen/internal/emit and foreign test
// their decisions with.
func TestEverySetting(t *testing.T) {
	name := filepath.Join("..", "testdata", "policies", "ok", "settings.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	language, err := os.ReadFile(filepath.Join("..", "docs", "language.md"))
	if err != nil {
		t.Fatal(err)
	}
	file, problems := Check(name, text)
	if file == nil {
		t.Fatal(problems)
	}
	examples := map[rules.Field]Policy{}
	for _, p := range file.Policies {
		examples[rules.Field(p.Name)] = p
	}
	for i := range table {
		s := &table[i]
		p, ok := examples[s.key]
		_, sets := p.Places[s.key]
		switch {
		case !ok:
			t.Errorf("%s is not in %s: add a policy %[1]s that sets it to another value than its default", s.key, name)
		case !sets && s.key != "per_error" || s.key == "per_error" && p.PerError == nil:
			t.Errorf("the policy %s in %s does not set it", s.key, name)
		}
		switch reason := judged[s.key]; {
		case reason == "":
			t.Errorf("%s is not in judged, in this file: write the id of the rule that reports what contradicts it, "+
				"or why nothing does", s.key)
		case strings.HasPrefix(reason, "P") && RuleByID(reason) == nil:
			t.Errorf("%s is judged by %s, which is no rule", s.key, reason)
		}
		if s.isKey() && !strings.Contains(string(language), "\n| `"+string(s.key)+"` |") {
			t.Errorf("%s is not in docs/language.md: describe it in schema/policy.schema.json, "+
				"then run go test . -run TestLanguagePage -update", s.key)
		}
	}
	for key := range judged {
		if !slices.ContainsFunc(table, func(s setting) bool { return s.key == key }) {
			t.Errorf("%s is in judged, and not in the table", key)
		}
	}
}

// TestSchemaDefaults: a default of the schema, if it is written, changes nothing.
func TestSchemaDefaults(t *testing.T) {
	var root struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Default json.RawMessage `json:"default"`
			} `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(schema.JSON(), &root); err != nil {
		t.Fatal(err)
	}
	// What a setting needs next to it to be valid, in both files.
	companions := map[string]string{
		"breakers.min_calls": "failure_rate: 0.5", "breakers.window": "failure_rate: 0.5",
		"groups.min_units": "failure_rate: 0.5", "errors.unprocessed": "http: [409]",
		"policies.jitter_factor": "jitter: proportional",
		"budgets.retries":        "per_unit: 3", "budgets.per_unit": "retries: 5",
		"budgets.ratio": "burst: 100", "budgets.min_per_second": "ratio: 0.2", "budgets.burst": "ratio: 0.2",
		"budgets.shared":       "ratio: 0.2",
		"concurrency.max_wait": "limit: 20",
		"rates.burst":          "rate: 9/s", "rates.max_wait": "rate: 9/s", "rates.shared": "rate: 9/s",
	}
	options := cmp.Options{
		cmpopts.IgnoreUnexported(File{}, Breaker{}, Limiter{}, Throttle{}, retry.ErrorClass{}),
		cmp.Transformer("Effective", func(r retry.RetryAfter) []any { return []any{r.Limit(), r.Default, r.FailOver} }),
	}
	for section, definition := range map[string]string{
		"policies": "policy", "scopes": "scope", "errors": "error", "breakers": "breaker", "budgets": "budget",
		"concurrency": "concurrency", "rates": "rate", "throttles": "throttle", "groups": "group",
	} {
		for key, p := range root.Definitions[definition].Properties {
			if p.Default == nil {
				continue
			}
			read := func(settings string) *File {
				f, problems, _ := Read("f", fmt.Appendf(nil, "version: 1\n%s: {x: {%s}}\n", section, settings))
				if problems = AtLeast(rules.Error, problems); len(problems) > 0 {
					t.Errorf("%s: {%s}: %v", section, settings, problems)
				}
				for i := range f.Policies {
					f.Policies[i].Places = nil
				}
				return f
			}
			with := companions[section+"."+key]
			got, want := read(strings.TrimPrefix(with+", ", ", ")+key+": "+string(p.Default)), read(with)
			if diff := cmp.Diff(want, got, options); diff != "" {
				t.Errorf("%s.%s: %s is not the default (-without +with):\n%s", section, key, p.Default, diff)
			}
		}
	}
}
