package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOneMistakeOneViolation: unions are written flat, so that a mistake is
// reported once, where it is, in the schema's own words.
func TestOneMistakeOneViolation(t *testing.T) {
	tests := []struct {
		text string
		want []Violation
	}{
		{`{"version": 1}`, nil},
		{`{"version": 1, "policies": {"p": {"max_attempts": 3, "backoff": {"linear": {"increment": "1s"}}}}}`, nil},
		{`{"version": 2}`, []Violation{{Path: []string{"version"}, Message: "This language is version: 1."}}},
		{`{"version": 1, "polices": {}}`, []Violation{{Property: "polices", Message: `unknown key "polices"`}}},
		{`{"version": 1, "policies": {"p": {"timeout": 5}}}`, []Violation{{
			Path: []string{"policies", "p", "timeout"}, Message: "This is a number with a unit, such as 2s or 1m30s, or none.",
		}}},
		{`{"version": 1, "policies": {"p": {"backoff": {"fibonaci": {}}}}}`, []Violation{{
			Path: []string{"policies", "p", "backoff"}, Property: "fibonaci",
			Message: "backoff is fixed, exponential or fibonacci, or one strategy with its settings, as {linear: {increment: " +
				"1s}}.",
		}}},
		{`{"version": 1, "policies": {"p": {"backoff": {"linear": {"increment": null}}}}}`, []Violation{{
			Path:    []string{"policies", "p", "backoff", "linear", "increment"},
			Message: "A duration is a number with a unit: 500ms, 2s, 1m30s.",
		}}},
		{`{"version": 1, "policies": {"p": {"backoff": {"custom": {"delays": ["1s", null]}}}}}`, []Violation{{
			Path:    []string{"policies", "p", "backoff", "custom", "delays", "1"},
			Message: "A duration is a number with a unit: 500ms, 2s, 1m30s.",
		}}},
		{`{"version": 1, "policies": {"p": {"per_error": {"timeout": {"backoff": {"linear": null}}}}}}`, []Violation{{
			Path:    []string{"policies", "p", "per_error", "timeout", "backoff", "linear"},
			Message: "linear has initial and increment, as {linear: {increment: 2s}}.",
		}}},
		{`{"version": 1, "policies": {"p": {"durable": {"on_lost": "retry"}}, "q": {"durable": false}}}`, nil},
		{`{"version": 1, "policies": {"p": {"durable": {"on_lost": "again"}}}}`, []Violation{{
			Path: []string{"policies", "p", "durable", "on_lost"}, Message: "on_lost is retry, fail or pause.",
		}}},
		{`{"version": 1, "policies": {"p": {"durable": {"retain": "1d"}}}}`, []Violation{{
			Path: []string{"policies", "p", "durable"}, Property: "retain",
			Message: "durable is true, false or {record: attempts, on_lost: pause}.",
		}}},
		{`{"version": 1, "bind": {"Charge": {"policy": "p", "id": ["a", 3]}}}`, []Violation{{
			Path: []string{"bind", "Charge", "id"}, Message: "The name of a parameter, or a list of names.",
		}}},
		{`{"version": 1, "groups": {"g": {"collect": {"every": 2}, "breaker": null, "failure_rate": 0.2}}}`, nil},
		{`{"version": 1, "groups": {"g": {"collect": "last"}}}`, []Violation{{
			Path: []string{"groups", "g", "collect"}, Message: "collect is all, first or {every: 10}.",
		}}},
		{`{"version": 1, "groups": {"g": {"breaker": "upstream"}}}`, []Violation{{
			Path: []string{"groups", "g", "breaker"}, Message: "breaker of a group has failures, open_for and successes.",
		}}},
		{`{"version": 1, "groups": {"g": {"failure_rate": 1}}}`, []Violation{{
			Path: []string{"groups", "g", "failure_rate"}, Message: "A share above 0 and below 1.",
		}}},
		{`{"version": 1, "policies": {"p": {"jitter": 2}}}`, []Violation{{
			Path: []string{"policies", "p", "jitter"},
			Message: "jitter is full, equal, decorrelated, proportional, additive or none, true or false, " +
				"a factor such as 0.3, or {mode: additive, factor: 0.5}.",
		}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Validate(parse(t, tt.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestMessagesOfAlternatives: an editor prints what is wrong with the first alternative
// of an anyOf. That one has the message of them all, and a list as its type: of types
// that are words, yaml-language-server prints the names, as "string | null".
func TestMessagesOfAlternatives(t *testing.T) {
	root := parse(t, string(JSON())).(map[string]any)
	var visit func(node any, at string)
	visit = func(node any, at string) {
		switch node := node.(type) {
		case map[string]any:
			if alternatives, ok := node["anyOf"].([]any); ok {
				first, message := alternatives[0].(map[string]any), node["errorMessage"]
				if name, ok := first["$ref"].(string); ok { // the definition has a message for all its uses
					name = strings.TrimPrefix(name, "#/definitions/")
					first = root["definitions"].(map[string]any)[name].(map[string]any)
					message = first["errorMessage"]
				}
				_, isWord := first["type"].(string)
				if message == nil || first["errorMessage"] != message || isWord {
					t.Errorf("%s: the first alternative needs the errorMessage %q, and a list as its type", at, message)
				}
			}
			for key, value := range node {
				if !slices.Contains([]string{"default", "examples", "enum", "const", "defaultSnippets"}, key) {
					visit(value, at+"/"+key)
				}
			}
		case []any:
			for i, value := range node {
				visit(value, at+"/"+strconv.Itoa(i))
			}
		}
	}
	visit(root, "")
}

func TestJSON(t *testing.T) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, JSON(), "", "  "); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(indented.Bytes(), JSON()) {
		t.Error("the schema is not indented by two spaces")
	}
	if id := parse(t, string(JSON())).(map[string]any)["$id"]; id != ID {
		t.Errorf("$id is %v, want %v", id, ID)
	}
}

var update = flag.Bool("update", false, "rewrite the descriptions of the schema")

var markdown = regexp.MustCompile(`(?m)^( *)"markdownDescription": (".*")(,?)$`)

// TestDescriptions: next to each markdownDescription there is the same text for
// editors that do not show Markdown.
func TestDescriptions(t *testing.T) {
	before := regexp.MustCompile(`(?m)^ *"description": ".*",\n( *"markdownDescription")`)
	want := markdown.ReplaceAllFunc(before.ReplaceAll(JSON(), []byte("$1")), func(line []byte) []byte {
		m := markdown.FindSubmatch(line)
		return fmt.Appendf(nil, "%s\"description\": %s,\n%s", m[1], bytes.ReplaceAll(m[2], []byte("`"), nil), line)
	})
	if *update {
		if err := os.WriteFile("policy.schema.json", want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(want, JSON()) {
		t.Error("descriptions of the schema are stale: go test ./schema -update, and once more")
	}
}

// withoutDefault are the settings that are absent by default, and have no value
// that means so.
var withoutDefault = strings.Fields(`
	action adaptive after as best_effort bind breaker breakers budget budgets ceiling check concurrency count custom
	default defaults delay_budget delays description errors every exponential extends failure_rate fallback
	fibonacci fixed formerly from group groups grpc http id idempotent increment is limit limits linear max
	max_attempts max_delay max_failures methods nanos on_lost pattern per_error policies policy queue rate rates
	release resume_spread retry_on retryable scope scopes secs shared slow_call slow_rate step target throttle throttles
	timeout type unit units window_calls within workers
	attempts class clients code codes off packages response retry_after status test text types`) // of clients

// TestProperties: each property is described, and has examples and a default that
// are valid.
func TestProperties(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft7
	if err := c.AddResource(ID, bytes.NewReader(JSON())); err != nil {
		t.Fatal(err)
	}
	properties := map[string]map[string]any{} // by JSON pointer
	collectProperties(parse(t, string(JSON())), "", properties)
	if len(properties) == 0 {
		t.Fatal("the schema has no properties")
	}
	for at, p := range properties {
		s, err := c.Compile(ID + "#" + at)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"description", "markdownDescription"} {
			if text, _ := p[key].(string); text == "" {
				t.Errorf("%s has no %s", at, key)
			}
		}
		if p["anyOf"] != nil && p["errorMessage"] == nil {
			t.Errorf("%s has no errorMessage: an editor would print what is wrong with its first alternative", at)
		}
		examples, _ := p["examples"].([]any)
		if len(examples) == 0 {
			t.Errorf("%s has no examples", at)
		}
		byDefault, ok := p["default"]
		if ok {
			examples = append(examples, byDefault)
		} else if !slices.Contains(withoutDefault, path.Base(at)) {
			t.Errorf("%s has no default", at)
		}
		for _, value := range examples {
			if err := s.Validate(value); err != nil {
				t.Errorf("%s: %v is not valid: %v", at, value, err)
			}
		}
	}
}

// collectProperties adds the properties of all objects in a schema.
func collectProperties(node any, at string, to map[string]map[string]any) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			switch key {
			case "default", "examples", "enum", "const", "defaultSnippets":
				continue
			case "properties":
				for name, p := range value.(map[string]any) {
					to[at+"/properties/"+name] = p.(map[string]any)
					collectProperties(p, at+"/properties/"+name, to)
				}
				continue
			}
			collectProperties(value, at+"/"+key, to)
		}
	case []any:
		for i, value := range node {
			collectProperties(value, at+"/"+strconv.Itoa(i), to)
		}
	}
}

// TestKnownEntries: entries that are not validated again have no violations, and others
// have the same ones each time.
func TestKnownEntries(t *testing.T) {
	valid.entries = nil
	for _, text := range []string{
		`{"version": 1, "policies": {"p": {"max_attempts": 3}, "q": {"timeout": 5}, "r": {"jitter": "full"}}}`,
		`{"version": 1, "policies": {"p": {"max_attempts": 3}, "q": {"timeout": "5s"}, "r": {"jitter": "ful"}}}`,
		`{"version": 1, "policies": {"P": {"max_attempts": 3}, "r": {"jitter": "full"}}, "bind": {"F": "p", "G": 3}}`,
		`{"version": 1, "policies": {"p": {"max_attempts": 0}}, "breakers": {"p": {"max_attempts": 3}}}`,
		`{"version": 1, "policies": [], "bind": null, "scopes": "x"}`,
		`[]`,
	} {
		value := parse(t, text)
		want := policies().validate(value)
		for range 2 {
			if diff := cmp.Diff(want, Validate(value)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	}
	if !valid.entries["policies\np\n{\"max_attempts\":3}"] {
		t.Error("no entry is known")
	}
}
