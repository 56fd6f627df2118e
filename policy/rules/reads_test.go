package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// decide lists the fields that decide to which errors other fields apply. A rule need not
// list them in Reads: if one is unknown, isKnown in package lint counts the others as
// unknown.
var decide = map[rules.Field][]rules.Field{
	"retry_on":  {"retry_after"},
	"abort_on":  {"retry_after"},
	"per_error": {"retry_after", "retry_on", "abort_on"},
}

// reads reports whether a rule is silent where a field is not known.
func reads(r rules.Rule, field rules.Field) bool {
	return slices.Contains(r.Reads, field) ||
		slices.ContainsFunc(decide[field], func(f rules.Field) bool { return slices.Contains(r.Reads, f) })
}

// TestReads: a rule lists in Reads each field on which its finding depends. An analyzer
// of Go code would otherwise report a policy whose value it does not know. The test
// changes the policies of all policy files, one field at a time, to its value in
// settings.yaml and to its default.
func TestReads(t *testing.T) {
	values := policiesOf(t, filepath.Join("ok", "settings.yaml"))
	if len(values) == 0 {
		t.Fatal("settings.yaml has no policies")
	}
	reported := map[string]bool{}
	for _, p := range policiesOf(t, filepath.Join("*", "*.yaml")) {
		before := textByRule(&p)
		for _, value := range values {
			for _, from := range [...]retry.Policy{value, values[0]} {
				field, changed := rules.Field(value.Name), p
				if !setField(&changed, from, field) {
					continue
				}
				after := textByRule(&changed)
				for _, r := range rules.All {
					key := r.ID + " " + string(field)
					if before[r.ID] == after[r.ID] || reads(r, field) || reported[key] {
						continue
					}
					reported[key] = true
					t.Errorf("%s depends on %s, which is not in its Reads: add it there, or to the list schedule in policy.go "+
						"if it determines delays (%s: %q becomes %q)", r.ID, field, p.Name, before[r.ID], after[r.ID])
				}
			}
		}
	}
}

// policiesOf returns the policies of some files of testdata/policies.
func policiesOf(t *testing.T, pattern string) (list []retry.Policy) {
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "policies", pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if file, _, _ := policy.Read(name, text); file != nil {
			for _, p := range file.Policies {
				list = append(list, p.Policy)
			}
		}
	}
	return list
}

// textByRule returns the finding of each rule about a policy, as text.
func textByRule(p *retry.Policy) map[string]string {
	texts := map[string]string{}
	for _, f := range rules.Check(p, nil) {
		texts[f.Rule] = fmt.Sprintf("%s: %s at %s", f.Severity, f.Text, f.Field)
	}
	return texts
}

// setField copies the field of a setting, as MaxDelay for max_delay. It reports whether
// a policy in Go has such a field.
func setField(to *retry.Policy, from retry.Policy, key rules.Field) bool {
	same := func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(string(key), "_", "")) }
	field := reflect.ValueOf(to).Elem().FieldByNameFunc(same)
	if field.IsValid() {
		field.Set(reflect.ValueOf(from).FieldByNameFunc(same))
	}
	return field.IsValid()
}
