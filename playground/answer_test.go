package playground

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy"
)

// answer asks a question, and decodes the answer. It fails if the answer has other keys.
func answer[T any](t *testing.T, q request) T {
	t.Helper()
	question, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var a T
	d := json.NewDecoder(strings.NewReader(string(Answer(question))))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		t.Fatalf("%s: %v: %s", question, err, Answer(question))
	}
	return a
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const mistaken = `version: 1
policies:
  fetch:
    max_atempts: 3
    timeout: 5
`

func TestCheck(t *testing.T) {
	got := answer[checkAnswer](t, request{Method: "check", Text: mistaken})
	if len(got.Problems) != 2 {
		t.Fatalf("problems: %+v", got.Problems)
	}
	p := got.Problems[0]
	if p.Line != 4 || p.Column != 5 || p.Width != len("max_atempts") || p.Rule != "P101" || p.Severity != "error" ||
		!strings.Contains(p.Text, "max_attempts") {
		t.Errorf("the first problem: %+v", p)
	}
	want := &fix{"Write max_attempts", []edit{{textRange{4, 5, 4, 16}, "max_attempts"}}}
	if diff := cmp.Diff(want, p.Fix, cmp.AllowUnexported(edit{})); diff != "" {
		t.Errorf("its fix (-want +got):\n%s", diff)
	}
	if got.Summary != "2 errors" || got.System != "" || got.Policies[0] != "fetch" {
		t.Errorf("%q, %q, %v", got.Summary, got.System, got.Policies)
	}
}

// TestCheckFiles: the problems are those that the command check finds.
func TestCheckFiles(t *testing.T) {
	for _, pattern := range []string{"ok/*.yaml", "err/*.yaml"} {
		names, err := filepath.Glob("../testdata/policies/" + pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(err, "no files")
		}
		for _, name := range names {
			switch filepath.Base(name) {
			case "mapreduce.yaml", "timeouts.yaml": // files of other systems, which check takes for retry.yaml by their name
				continue
			case "not_utf8.yaml": // no JSON has that
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, want, _ := policy.Read("retry.yaml", text)
			got := answer[checkAnswer](t, request{Method: "check", Text: string(text)})
			if got.System != "" || len(got.Problems) != len(want) {
				t.Errorf("%s: system %q, %d problems, want %d", name, got.System, len(got.Problems), len(want))
				continue
			}
			for i, p := range got.Problems {
				w := want[i]
				if p.Line != w.Line || p.Column != w.Col || p.Rule != w.Rule || p.Text != w.Text || p.Paste != w.Paste {
					t.Errorf("%s: %+v, want %v", name, p, w)
				}
			}
		}
	}
}

func TestCheckForeign(t *testing.T) {
	for name, system := range map[string]string{
		"foreign/testdata/envoy/targets.yaml":         "Envoy route configuration",
		"foreign/testdata/resilience4j/backends.yaml": "resilience4j configuration",
	} {
		q := request{Method: "check", Name: filepath.Base(name), Text: read(t, name)}
		if got := answer[checkAnswer](t, q); got.System != system || len(got.Policies) == 0 {
			t.Errorf("%s: the system is %q, want %q; policies %v", name, got.System, system, got.Policies)
		}
		q.Method = "convert"
		converted := answer[convertAnswer](t, q)
		if file, problems := policy.Check("retry.yaml", []byte(converted.Text)); file == nil {
			t.Errorf("%s: what it is converted to has %v", name, problems)
		}
		q.Method = "explain"
		if got := answer[textAnswer](t, q); !strings.Contains(got.Text, "retry.yaml") {
			t.Errorf("%s is explained as %q", name, got.Text)
		}
	}
}

func TestShow(t *testing.T) {
	q := request{Text: read(t, "examples/quickstart/retry.yaml"), Policy: "flush"}
	q.Method = "explain"
	if got := answer[textAnswer](t, q); !strings.HasPrefix(got.Text, "policy flush (retry.yaml:") {
		t.Errorf("explained as %q", got.Text)
	}
	q.Method = "picture"
	if got := answer[pictureAnswer](t, q); !strings.HasPrefix(got.SVG, "<svg") {
		t.Errorf("drawn as %q", got.SVG)
	}
	q.Method, q.Policy, q.Storm = "simulate", "fetch", "capacity"
	storm := answer[stormAnswer](t, q)
	if len(storm.Verdicts) != 1 || storm.Verdicts[0].Result != "never recovers" || len(storm.Verdicts[0].Helps) == 0 {
		t.Errorf("simulated as %+v", storm.Verdicts)
	}
	if !strings.Contains(storm.Text, "never recovers") || !strings.HasPrefix(storm.SVG, "<svg") {
		t.Errorf("simulated as %q, %q", storm.Text, storm.SVG)
	}
	q.Method, q.Kind = "convert", "grpc"
	q.Text = "version: 1\npolicies:\n  read: {max_attempts: 3, initial_delay: 100ms, jitter: full, retry_on: [network]}\n"
	if got := answer[convertAnswer](t, q); !strings.Contains(got.Text, `"maxAttempts": 3`) {
		t.Errorf("converted to %q", got.Text)
	}
}

func TestWrite(t *testing.T) {
	q := request{Method: "complete", Text: "version: 1\npolicies:\n  fetch:\n    max_a\n", Line: 4, Column: 10}
	var labels []string
	for _, c := range answer[completeAnswer](t, q).Completions {
		labels = append(labels, c.Label)
		want := edit{textRange{4, 5, 4, 10}, "max_attempts: "}
		if c.Label == "max_attempts" && (c.Kind != "key" || c.edit != want) {
			t.Errorf("completed by %+v", c)
		}
	}
	if !strings.Contains(strings.Join(labels, " "), "max_attempts") {
		t.Errorf("completions: %v", labels)
	}
	q = request{Method: "hover", Text: mistaken, Line: 5, Column: 6}
	if got := answer[hoverAnswer](t, q); !strings.HasPrefix(got.Doc, "**timeout**") || got.Column != 5 {
		t.Errorf("hover: %+v", got)
	}
	q = request{Method: "format", Text: "version: 1\npolicies:\n    a:   {timeout: {secs: 60, nanos: 0}}\n"}
	if got := answer[formatAnswer](t, q); len(got.Edits) != 1 || !strings.Contains(got.Edits[0].Text, "timeout: 1m") {
		t.Errorf("formatted by %+v", got.Edits)
	}
	if got := answer[ruleAnswer](t, request{Method: "rule", Rule: "p301"}); got.Title == "" || got.Text == "" {
		t.Errorf("rule: %+v", got)
	}
}

func TestFailures(t *testing.T) {
	const broken = "version: 1\npolicies: {a: {timeout: 5}}\n"
	for question, want := range map[string]string{
		"":                      "the request: unexpected end of JSON input",
		`{"method": "delete"}`:  `there is no method "delete"`,
		`{"method": "explain"}`: "the file is not YAML: see its problems",
		`{"method": "explain", "text": "version: 1"}`:                                 "the file has no policies",
		`{"method": "rule", "rule": "RL101"}`:                                         `there is no rule "RL101"`,
		`{"method": "convert", "text": "version: 1", "kind": "cobol"}`:                `"cobol" is not a kind of document that is written`,
		`{"method": "simulate", "seeds": 21}`:                                         "seeds is a number from 1 to 20",
		`{"method": "format", "text": "version: 2"}`:                                  "a file with errors is not formatted",
		`{"method": "picture", "text": ` + quoted(t, broken) + `}`:                    "the policy a, or what it refers to, has an error: see the problems",
		`{"method": "picture", "text": "version: 1\npolicies: {a: }", "policy": "b"}`: `the file has no policy "b"`,
	} {
		var got failure
		if err := json.Unmarshal(Answer([]byte(question)), &got); err != nil || got.Error != want {
			t.Errorf("%s: %q, %v; want %q", question, got.Error, err, want)
		}
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	q, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(q)
}

// FuzzAnswer: no method panics, whatever the text is, and every answer is a JSON object.
func FuzzAnswer(f *testing.F) {
	maxEvents = 20_000
	for _, folder := range []string{"../testdata/policies", "../foreign/testdata"} {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, ".want") || strings.HasSuffix(name, ".out") {
				return err
			}
			text, err := os.ReadFile(name)
			f.Add(filepath.Base(name), string(text), "", 3, 7)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add("", mistaken, "fetch", 4, 9)
	f.Fuzz(func(t *testing.T, name, text, policy string, line, column int) {
		for method := range methods {
			q, err := json.Marshal(request{
				Method: method, Name: name, Text: text, Policy: policy, Kind: "dapr", Rule: policy, Line: line, Column: column,
			})
			if err != nil {
				t.Fatal(err)
			}
			var a map[string]any
			if err := json.Unmarshal(Answer(q), &a); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}
		Answer([]byte(text))
	})
}
