package retrygen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/retrygen/retrygen/policy"
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
	Description string            `json:"markdownDescription"`
	Default     json.RawMessage   `json:"default"`
	Deprecated  string            `json:"deprecationMessage"`
	Examples    []json.RawMessage `json:"examples"`
	Properties  object            `json:"properties"`
	Then        *setting          `json:"then"` // of a map, where the value need not be one
	Additional  json.RawMessage   `json:"additionalProperties"`
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

Which settings can a policy file have, and what does each of them do? This page lists all of them, section by section, in
the order of the file. [Concepts](concepts.md) explains the terms *attempt*, *backoff*, *jitter*, *scope*, *budget* and *breaker*.

A policy file is called ` + "`retry.yaml`" + ` and is in the folder of the Go package that it applies to. ` + "`retrygen check`" + `
reports what is wrong with it, and [the rules](rules/README.md) explain each problem. Here is a file with most of the sections:

` + "```yaml" + `
version: 1

scopes:
  step: {timeout: 10m, hard_limit: 15m, capture: true}
  call: {timeout: 2m, hard_limit: 3m, within: step}

errors:
  busy: {http: [409, 425], grpc: [ABORTED]}
  not_sent: {is: [net.ErrClosed], unprocessed: true}
  denied: {http: [401, 403], retryable: false, action: escalate}

breakers:
  upstream: {failures: 5, failure_rate: 0.5, min_calls: 20, window: 10s, open_for: 30s,
    count: [network, timeout, server_error]}

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

These rules apply to the whole file:

- **Errors.** An unknown key is an error, and so is a value that retrygen would have to guess, clamp or ignore. If a file contains an error, no code is generated from it.
- **Durations** have a unit: ` + "`500ms`, `1m30s`, `1h 30m`, `2 minutes`" + `. A number without a unit is an error.
- **Inheritance.** ` + "`extends`" + ` inherits the settings of another policy, one by one. A policy that sets a list, or
  ` +
	"`backoff`, `jitter`, `hedge` or `durable`" + `, replaces the whole inherited value. All policies inherit ` + "`defaults`" + `.
- **` + "`null`" + `** resets a setting to its default. Under ` + "`per_error`" + `, it resets a setting to the policy's own
  value. A required setting cannot be null.
- **Anchors.** Top-level keys that begin with ` + "`x-`" + ` are ignored. Use them to define YAML anchors.
- **Older spellings** of settings still work; ` + "`retrygen fmt`" + ` rewrites them.

## Durable policies

A call under a durable policy is a [durable step](durable.md) of the *run* that its context belongs to. Its attempts, its next wait and its result are
recorded in a store. If the process dies, start the run again with the same id: steps that have ended return their recorded results, a step that was waiting waits
for the remaining time, and the policy continues to count its attempts.

` + "```yaml" + `
version: 1

breakers:
  bank: {failures: 20, shared: store} # one for all processes

policies:
  charge:
    max_attempts: 8
    attempt_timeout: 10s
    initial_delay: 2s
    max_delay: 10m
    delay_budget: 6h
    jitter: full
    breaker: bank
    durable: {park_after: 5m}
    on_exhausted: dead_letter

bind:
  Payments.Charge: {policy: charge, id: orderID, idempotent: key, step: charge, formerly: [shop.Payments.Pay]}
` + "```" + `

- **` + "`id`" + `** names the parameters that identify a call: the order to charge, but not its amount. Calls with equal ids within
  one run are the same step, which is executed once. If the id is the same but another argument (such as the amount) differs, the call fails, unless the
  policy has ` + "`on_changed: report`" + `.
- **` + "`on_lost`" + `** decides what happens to an attempt that was executing when the process died. Such an attempt is *lost*, and may have
  taken effect. By default, it is repeated if the binding is ` + "`idempotent`" + `. Otherwise, the run is paused until somebody resolves the step.
- **` + "`step` and `formerly`" + `** let you keep recorded steps when you rename code. A step is recorded under its package and the bound symbol,
  such as ` + "`shop.billing.Payments.Charge`" + `. The package name in it starts with the last element of the module path, without a major version. If you
  rename or move the symbol, set ` + "`step`" + ` to the old name, or list the old name in ` + "`formerly`" + `.

` + "`retrygen explain POLICY`" + ` prints what is recorded at which point, and what happens after a crash at each point.
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
		if s.Then != nil {
			s.Properties, s.Additional = s.Then.Properties, s.Then.Additional
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
			c := section{t: t}
			if example := c.example(s); example != "" {
				fmt.Fprintf(b, "\n```yaml fragment\n%s: %s\n```\n", key, example)
			}
			continue
		}
		b.WriteString("\n| setting | sample | default | meaning |\n|---|---|---|---|\n")
		format := key + ": {%s}"
		if s.entries() != "" {
			format = key + ": {x: {%s}}"
		}
		if key == "clients" {
			format = key + ": {minio: {%s}}" // a preset, so that each key may be alone
		}
		switch key {
		case "policies":
		case "concurrency": // half of the attempt_timeout is the target
			format += "\npolicies: {read: {concurrency: x, attempt_timeout: 1s}}"
		default:
			format += "\npolicies: {read: {}}"
		}
		c := section{t, b, key, "version: 1\n" + format, decode}
		for _, name := range properties.keys {
			c.row(name, decode(properties.values[name]), "", "", "")
		}
		switch key {
		case "errors":
			b.WriteString(classesSection(t))
		case "clients":
			b.WriteString(presetsSection(t))
		}
	}
	return b.String()
}

// presetsSection lists the presets of clients.
func presetsSection(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`
` + "`codes`, `is`, `test`, `text` and `class`" + ` classify an error as one of these outcomes:

| outcome | an error with this outcome |
|---|---|
| ` + "`network`, `timeout`, `server_error`, `rate_limit`" + ` | belongs to the class, whatever its status is |
| ` + "`permanent`" + ` | would occur again. Like an error with the status 400, it is not retried |
| ` + "`conflict`" + ` | is treated like the status 409: the data that was read is out of date, so the whole transaction has to be repeated, not just the call |

### Presets

retrygen has presets for many clients; [the guide](guides/presets.md#all-presets) lists them. A preset reads the same information as the client's own
retries. The generator looks up the preset's fields, methods and functions in the version of the client that your module uses. The generated code imports
the client only if your module already requires it.
`)
	return b.String()
}

// companions are what a sample of one setting lacks to be valid. A name that sections share
// begins with the section.
var companions = map[string]string{
	"concurrency.max_wait": ", limit: 20",
	"queue":                ", limit: 20",
	"rates.burst":          ", rate: 100/s",
	"rates.max_wait":       ", rate: 100/s",
	"rates.shared":         ", rate: 100/s",
	"retryable":            ", http: [409]",
	"unprocessed":          ", http: [409]",
	"action":               ", http: [409]",
	"slow_rate":            ", slow_call: 2s",
	"idempotent":           ", policy: read",
	"fallback":             ", policy: read",
	"check":                ", policy: read",
	"release":              ", policy: read",
	"group":                ", policy: read, unit: shard",
	"unit":                 ", policy: read, group: import",
	"id":                   ", policy: read",
	"step":                 ", policy: read",
	"formerly":             ", policy: read",
	"repeat":               ", policy: read",
}

// A section writes the settings of a part of a policy file.
type section struct {
	t      *testing.T
	b      *strings.Builder
	key    string // of the section
	format string // a policy file with the settings of the section
	decode func(json.RawMessage) setting
}

// row writes a setting, and below it those of its map. before and after are the
// YAML around its sample, whole is the sample of the map that it is a part of.
func (c section) row(name string, s setting, before, after, whole string) {
	key := name[strings.LastIndex(name, ".")+1:]
	meaning, sample := strings.ReplaceAll(s.Description, "\n", " "), whole
	if own := c.example(s); sample == "" && own != "" {
		sample = before + key + ": " + own + after
	}
	switch {
	case meaning == "":
		c.t.Errorf("%s has no markdownDescription in the schema", name)
	case s.Deprecated != "":
		meaning, sample = "Older spelling: "+strings.ToLower(s.Deprecated[:1])+s.Deprecated[1:], ""
	case sample == "":
		c.t.Errorf("%s has no example in the schema", name)
	default:
		c.check(name, sample)
	}
	byDefault := c.inYAML(s.Default)
	fmt.Fprintf(c.b, "| `%s` | %s | %s | %s |\n", name, code(sample), code(byDefault), meaning)
	for _, inner := range s.Properties.keys {
		whole := sample
		if s.Then != nil && !strings.Contains(sample, inner+": ") {
			whole = "" // the value need not be a map: the example may be another one
		}
		c.row(name+"."+inner, c.decode(s.Properties.values[inner]), before+key+": {", "}"+after, whole)
	}
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// example returns the example of a setting as YAML: of a map, those of its
// settings.
func (c section) example(s setting) string {
	if len(s.Examples) > 0 {
		return c.inYAML(s.Examples[len(s.Examples)-1])
	}
	var all []string
	for _, key := range s.Properties.keys {
		inner := c.decode(s.Properties.values[key])
		if text := c.example(inner); text != "" && inner.Deprecated == "" {
			all = append(all, key+": "+text)
		}
	}
	if len(all) > 0 {
		return "{" + strings.Join(all, ", ") + "}"
	}
	return ""
}

// inYAML returns a JSON value as YAML, or "" for no value.
func (c section) inYAML(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	var n yaml.Node
	if err := yaml.Unmarshal(value, &n); err != nil {
		c.t.Fatal(err)
	}
	plain(&n)
	text, err := yaml.Marshal(&n)
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// check reads a sample in a policy file.
func (c section) check(name, sample string) {
	with, own := companions[c.key+"."+name]
	if !own {
		with = companions[name]
	}
	sample += with
	_, problems := policy.Check("sample", fmt.Appendf(nil, c.format, sample))
	for _, p := range problems {
		if slices.Contains([]string{"P100", "P101", "P102", "P103"}, p.Rule) {
			c.t.Errorf("the example of %s: %v", name, p)
		}
	}
}

// plain writes JSON as YAML of one line, with quotes only where they are
// necessary.
func plain(n *yaml.Node) {
	n.Style &= yaml.FlowStyle
	for _, inner := range n.Content {
		plain(inner)
	}
}
