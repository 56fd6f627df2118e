package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy/rules"
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
