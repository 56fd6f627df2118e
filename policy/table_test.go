package policy

import (
	"encoding/json"
	"fmt"
	"maps"
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
			Properties map[string]struct {
				Deprecated string `json:"deprecationMessage"`
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
	for name, keys := range map[string][]string{
		"policy": policyKeys, "schedule": perErrorKeys, "group": groupKeys,
	} {
		properties := root.Definitions[name].Properties
		if diff := cmp.Diff(slices.Sorted(maps.Keys(properties)), slices.Sorted(slices.Values(keys))); diff != "" {
			t.Errorf("%s (-schema +table):\n%s", name, diff)
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
		"min_calls": "failure_rate: 0.5", "window": "failure_rate: 0.5", "min_units": "failure_rate: 0.5",
		"unprocessed": "http: [409]", "jitter_factor": "jitter: proportional",
		"retries": "per_unit: 3", "per_unit": "retries: 5",
		"ratio": "burst: 100", "min_per_second": "ratio: 0.2", "burst": "ratio: 0.2", "shared": "ratio: 0.2",
	}
	options := cmp.Options{
		cmpopts.IgnoreUnexported(File{}, Breaker{}, retry.ErrorClass{}),
		cmp.Transformer("Effective", func(r retry.RetryAfter) []any { return []any{r.Limit(), r.Default, r.FailOver} }),
	}
	for section, definition := range map[string]string{
		"policies": "policy", "scopes": "scope", "errors": "error", "breakers": "breaker", "budgets": "budget",
		"groups": "group",
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
			with := companions[key]
			if section != "budgets" && section != "errors" && key == "shared" {
				with = ""
			}
			got, want := read(strings.TrimPrefix(with+", ", ", ")+key+": "+string(p.Default)), read(with)
			if diff := cmp.Diff(want, got, options); diff != "" {
				t.Errorf("%s.%s: %s is not the default (-without +with):\n%s", section, key, p.Default, diff)
			}
		}
	}
}
