package foreign

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// nested returns lists in lists.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// TestHostile: files that are nested too deep or full of aliases get one problem, as
// policy files do, and large ones are read, all in a short time.
func TestHostile(t *testing.T) {
	config := `{"methodConfig": [{"name": [{}], "retryPolicy": %s}]}`
	bomb := "methodConfig:\n- name: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("- name: &%c [%s*a]\n", 'b'+i, strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 9))
	}
	file := "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: &a |\n" + strings.Repeat("    - {retries: 1}\n", 20_000) +
		"    - {methodConfig: [{retryPolicy: {}}]}\n"
	for i := range 2000 {
		file += fmt.Sprintf("  a%d: *a\n", i)
	}
	actions := "a: " + strings.Repeat("{{ .Values.x }}", 20_000) + "\nspec: {policies: {retries: {a: }}}"
	endless := "kind: VirtualService\napiVersion: networking.istio.io/v1\nspec:\n  http:\n" + strings.Repeat(
		"  - {timeout: 1s, retries: {attempts: 1, perTryTimeout: 2s, retryOn: 5xx}}\n", 1001)
	many := strings.Repeat(`{"name": [{"service": "a.B"}], "unknown": 1, "retryPolicy": {"maxAttempts": 3}}, `, 2000)
	for name, tt := range map[string]struct{ text, want string }{
		"many policies":    {`{"methodConfig": [` + many + `{}]}`, "unknown: gRPC service config has no"},
		"many errors":      {endless, "only the first 1000 errors are shown"},
		"no settings":      {"spec: {policies: {retries: {a: , b: {maxRetries: -1}}}}", "nothing ends these retries"},
		"large":            {strings.Repeat("# a long comment\n", 1<<20) + "spec: {policies: {retries: {a: }}}", "1048577:"},
		"large JSON":       {`["` + strings.Repeat("x", 5<<20) + `", ` + fmt.Sprintf(config, "{}") + `]`, "1:5242"},
		"deep YAML":        {"methodConfig:\n- " + nested(1000), "this is nested deeper than 64 levels"},
		"deep JSON":        {fmt.Sprintf(config, nested(5000)), "this is nested deeper than 64 levels"},
		"deepest JSON":     {nested(2 << 20), "P100"},
		"aliases":          {bomb, "the file has more than 500000 values"},
		"aliases of files": {file, "20005:"},
		"actions":          {actions, "2:"},
		"self":             {"methodConfig: &a [*a]", "*a contains itself"},
		"not UTF-8":        {"methodConfig: [\xff]", "1:16: error: the file is not UTF-8 here"},
		"empty":            {"", ""},
		"null":             {"null\n---\n---\n~\n", ""},
		"a number":         {"42", ""},
		"second document":  {"kind: Other\n---\n{a: [", "3:1: error: this is not YAML"},
		"duplicate keys":   {`{"methodConfig": [], "methodConfig": []}`, "1:22: error: methodConfig is a duplicate key"},
		"wrong types":      {fmt.Sprintf(config, `[1, {"maxAttempts": {}}]`), "error"},
		"infinite": {"{retryableStatusCodes: [14], maxAttempts: 2, backoffMultiplier: .inf}",
			"grpc-go refuses the text \".inf\" as backoffMultiplier"},
		"huge": {fmt.Sprintf(config, `{"maxAttempts": 1e300}`), "grpc-go refuses the number 1e300 as maxAttempts"},
		"long": {fmt.Sprintf(config, `{"maxBackoff": "99999999999s"}`), `"99999999999s" is longer than 292 years`},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var all strings.Builder
			f, problems := Check("f", []byte(tt.text), Options{})
			for _, p := range append(problems, f.Unread...) {
				fmt.Fprintln(&all, p)
			}
			if got := all.String(); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got %.300s; want %s", all.String(), tt.want)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("the check took %v", took)
			}
		})
	}
}

// TestNullValues: each sample can be checked with null in place of any one of its values.
func TestNullValues(t *testing.T) {
	for _, name := range samples(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewDecoder(strings.NewReader(string(text)))
		for doc := new(yaml.Node); decoder.Decode(doc) == nil; doc = new(yaml.Node) {
			withNulls(doc, doc.Content[0], func(text []byte) { checkNull(t, name, text) })
		}
	}
}

// withNulls calls check with the text of a document for each part of a value, which is null
// in it.
func withNulls(doc, n *yaml.Node, check func(text []byte)) {
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 { // a key
			continue
		}
		n.Content[i] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
		if text, err := yaml.Marshal(doc); err == nil { // or else an anchor is missing
			check(text)
		}
		n.Content[i] = part
		withNulls(doc, part, check)
	}
}

func checkNull(t *testing.T, name string, text []byte) {
	defer func() {
		if failure := recover(); failure != nil {
			t.Errorf("%s: %v in\n%s", name, failure, text)
		}
	}()
	Check(name, text, Options{})
}
