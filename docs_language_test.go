package retrygen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/schema"
)

// TestLanguagePage keeps docs/language.md the same as what the schema says.
func TestLanguagePage(t *testing.T) {
	page(t, filepath.Join("docs", "language.md"), languagePage(t))
}

// page compares a page with what it should be, or rewrites it.
func page(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale: go test . -update (-want +got):\n%s", name, diff)
	}
}

// object is a JSON object whose members keep their order.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

func (o *object) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	o.values = map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		o.keys = append(o.keys, key.(string))
		o.values[key.(string)] = value
	}
	return nil
}

// setting is what the page needs of a schema.
type setting struct {
	Description string          `json:"markdownDescription"`
	Default     json.RawMessage `json:"default"`
	Deprecated  string          `json:"deprecationMessage"`
	Examples    json.RawMessage `json:"examples"`
	Properties  object          `json:"properties"`
	Additional  json.RawMessage `json:"additionalProperties"`
}

// entries returns the name of the definition that all entries of a map have.
func (s setting) entries() string {
	var ref struct {
		Ref string `json:"$ref"`
	}
	if json.Unmarshal(s.Additional, &ref) != nil { // false: no others
		return ""
	}
	return strings.TrimPrefix(ref.Ref, "#/definitions/")
}

const languageIntro = `# The policy language

One file, usually ` + "`retry.yaml`" + ` beside the Go package that it serves. This page is made from the JSON Schema that editors use
(` + "`go test . -update`" + `); [the rules](rules/README.md) say what makes a policy wrong.

` + "```yaml" + `
version: 1

scopes:
  step: {timeout: 10m, hard_limit: 15m}
  call: {timeout: 2m, hard_limit: 3m, within: step}

errors:
  busy: {http: [409, 425], grpc: [ABORTED]}
  not_sent: {is: [net.ErrClosed], unprocessed: true}
  denied: {http: [401, 403], retryable: false, action: escalate}

breakers:
  upstream: {failures: 5, failure_rate: 0.5, min_calls: 20, window: 10s, open_for: 30s, count: [network, timeout, server_error]}

budgets:
  client: {ratio: 0.2, min_per_second: 10, burst: 100}

defaults: {max_attempts: 4, initial_delay: 200ms, jitter: full}

policies:
  read:
    scope: call
    attempt_timeout: 20s
    retry_on: [transient, busy]
    retry_after: {max: 20s}
    breaker: upstream
    budget: client
  pay: {extends: read, retry_on: [not_sent], on_exhausted: escalate}

bind:
  Client.Fetch: {policy: read, idempotent: true}
  Client.Pay: {policy: pay, idempotent: false}
` + "```" + `

- Unknown keys are errors, and so is everything that would have to be guessed, clamped or ignored: a file with an error generates nothing.
- A duration is a number with a unit, or several: ` + "`500ms`, `1m30s`, `1h 30m`, `2 minutes`" + `. A number alone is refused.
- ` + "`extends`" + ` takes over what another policy says, field by field; lists, ` + "`backoff` and `jitter`" + ` are replaced whole. ` + "`defaults`" + ` lies under all policies.
  ` + "`null`" + ` goes back to the default, and under ` + "`per_error`" + ` to the policy's own schedule; what has to be written cannot be null. Keys that begin with ` + "`x-`" + ` at the top are free, for YAML anchors.
- Older spellings of a setting are read as well, and rewritten by ` + "`retrygen fmt`" + `: they stand in the second column.
- ` + "`durable` and `on_exhausted: dead_letter`" + ` are words of the language that this version does not carry out: it refuses them (P909).
`

func languagePage(t *testing.T) string {
	t.Helper()
	var root struct {
		Properties  object `json:"properties"`
		Definitions object `json:"definitions"`
	}
	if err := json.Unmarshal(schema.JSON(), &root); err != nil {
		t.Fatal(err)
	}
	decode := func(raw json.RawMessage) (s setting) {
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	b := new(strings.Builder)
	b.WriteString(languageIntro)
	for _, key := range root.Properties.keys {
		s := decode(root.Properties.values[key])
		fmt.Fprintf(b, "\n## %s\n", key)
		if s.Description != "" {
			fmt.Fprintf(b, "\n%s\n", s.Description)
		}
		properties := s.Properties
		if name := s.entries(); name != "" {
			properties = decode(root.Definitions.values[name]).Properties
		}
		if len(properties.keys) == 0 {
			continue
		}
		b.WriteString("\n| key | | default | |\n|---|---|---|---|\n")
		for _, name := range properties.keys {
			row(t, b, name, decode(properties.values[name]), decode)
		}
		if key == "errors" {
			b.WriteString(classesSection(t))
		}
	}
	return b.String()
}

// row writes a setting, and below it those of its map.
func row(t *testing.T, b *strings.Builder, name string, s setting, decode func(json.RawMessage) setting) {
	older := ""
	if s.Deprecated != "" {
		older = "older: " + strings.TrimSuffix(strings.ToLower(s.Deprecated[:1])+s.Deprecated[1:], ".")
	}
	byDefault := string(s.Default)
	if byDefault != "" {
		byDefault = "`" + strings.Trim(byDefault, `"`) + "`"
	}
	if s.Description == "" {
		t.Errorf("%s has no markdownDescription in the schema", name)
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, older, byDefault, strings.ReplaceAll(s.Description, "\n", " "))
	for _, inner := range s.Properties.keys {
		row(t, b, name+"."+inner, decode(s.Properties.values[inner]), decode)
	}
}

// TestRuleIndex keeps docs/rules/README.md the same as the rules.
func TestRuleIndex(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Rules\n\nP rules check policies: in policy files, and in `retry.Policy` literals of Go. RL rules check Go code. `retrygen explain P301` and\n`retrylint explain RL101` print them on the command line.\n\n| rule | |\n|---|---|\n")
	titles := map[string]string{}
	for _, r := range rules.All {
		titles[r.ID] = r.Title
	}
	for _, r := range policy.Language {
		titles[r.ID] = r.Title
	}
	pages, err := filepath.Glob(filepath.Join("docs", "rules", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pages {
		id := strings.TrimSuffix(filepath.Base(name), ".md")
		if id == "README" {
			continue
		}
		title := titles[id]
		if title == "" {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			title = strings.TrimPrefix(first, "# "+id+": ")
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", id, id, title)
	}
	page(t, filepath.Join("docs", "rules", "README.md"), b.String())
}
