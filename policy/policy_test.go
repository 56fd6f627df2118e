package policy_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/format"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

var update = flag.Bool("update", false, "rewrite the .out files")

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "policies", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return files
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOK checks that the files in ok have no problems.
func TestOK(t *testing.T) {
	for _, name := range glob(t, "ok/*.yaml") {
		file, problems := policy.Check(filepath.Base(name), read(t, name))
		if problems = policy.AtLeast(rules.Warning, problems); file == nil || len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// TestErr checks that the files in err have exactly the problems in their .out files.
func TestErr(t *testing.T) {
	for _, name := range glob(t, "err/*.yaml") {
		text, base := read(t, name), filepath.Base(name)
		_, problems := policy.Check(base, text)
		if len(problems) == 0 {
			t.Errorf("%s: no problem", name)
		}
		var got bytes.Buffer
		policy.Print(&got, problems, map[string][]byte{base: text}, false)
		out := strings.TrimSuffix(name, ".yaml") + ".out"
		if *update {
			if err := os.WriteFile(out, got.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(read(t, out)), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDocumentedDelays: the settings that Prodigy's documentation shows give
// the delays that it states.
func TestDocumentedDelays(t *testing.T) {
	name := filepath.Join("..", "testdata", "policies", "err", "documented.yaml")
	file, problems := policy.Check(name, read(t, name))
	if file == nil {
		t.Fatal(problems)
	}
	const s, ms = time.Second, time.Millisecond
	want := map[string][]time.Duration{
		"fixed_simple":       {2 * s, 2 * s, 2 * s},
		"fixed_explicit":     {5 * s, 5 * s, 5 * s},
		"linear_v2":          {1 * s, 3 * s, 5 * s},
		"linear_policy":      {1 * s, 3 * s, 5 * s},
		"exponential_v2":     {1 * s, 2 * s, 4 * s, 8 * s, 16 * s},
		"exponential_policy": {1 * s, 2 * s, 4 * s, 8 * s, 16 * s},
		"fibonacci_v2":       {1 * s, 1 * s, 2 * s, 3 * s, 5 * s, 8 * s},
		"fibonacci_policy":   {1 * s, 1 * s, 2 * s, 3 * s, 5 * s, 8 * s},
		"custom":             {500 * ms, 1 * s, 2 * s, 5 * s, 10 * s, 30 * s},
		"budget_first":       {1 * s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s},
		"attempts_first":     {5 * s, 5 * s},
	}
	for _, p := range file.Policies {
		for i, d := range want[p.Name] {
			if _, got, _ := p.Bounds(i+1, 0); got != d {
				t.Errorf("%s: delay before retry %d is %v, want %v", p.Name, i+1, got, d)
			}
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in the file: %v", want)
	}
}

// TestResolve: defaults lie under every policy, null goes back to them, and
// every field is written out.
func TestResolve(t *testing.T) {
	file, problems := policy.Check("retry.yaml", []byte(`version: 1
defaults: {max_attempts: 5, jitter: full, timeout: 1m, retry_on: [transient]}
policies:
  inherits: {}
  overrides: {jitter: additive, timeout: none, retry_on: [{pattern: busy}], initial_delay: 0s, max_delay: none}
  resets: {max_attempts: null, jitter: null, timeout: null, retry_on: null}
`))
	if file == nil {
		t.Fatal(problems)
	}
	want := []retry.Policy{
		{
			Name: "inherits",
			Schedule: retry.Schedule{
				MaxAttempts:  5,
				InitialDelay: time.Second,
				Base:         2,
				MaxDelay:     30 * time.Second,
				Jitter:       retry.JitterFull,
			},
			Timeout: time.Minute,
			RetryOn: []retry.Class{retry.ClassTransient},
		},
		{
			Name: "overrides",
			Schedule: retry.Schedule{
				MaxAttempts:  5,
				InitialDelay: retry.None,
				Base:         2,
				MaxDelay:     retry.None,
				Jitter:       retry.JitterAdditive,
				JitterFactor: 0.5,
			},
			RetryOn: []retry.Class{"pattern:busy"},
		},
		{Name: "resets",
			Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second, Base: 2, MaxDelay: 30 * time.Second}},
	}
	for i, p := range file.Policies {
		for _, c := range p.Classes {
			if "pattern:"+c.Pattern.String() != string(c.Class) {
				t.Errorf("class %s has pattern %v", c.Class, c.Pattern)
			}
		}
		p.Classes = nil
		if diff := cmp.Diff(want[i], p.Policy); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestMatchText checks that policies override defaults, which override the top of
// the file.
func TestMatchText(t *testing.T) {
	const policies = `
policies:
  silent: {}
  reads: {match_text: true}
  ignores: {match_text: false}
  resets: {extends: ignores, match_text: null}
  inherits: {extends: ignores}
`
	type names = []string
	for top, want := range map[string]names{
		"":                              {"ignores", "inherits"},
		"match_text: true":              {"ignores", "inherits"},
		"match_text: false":             {"silent", "ignores", "inherits"},
		"match_text: null":              {"ignores", "inherits"},
		"defaults: {match_text: false}": {"silent", "ignores", "inherits"},
		"match_text: false\ndefaults: {match_text: true}": {"ignores", "inherits"},
		"match_text: true\ndefaults: {match_text: false}": {"silent", "ignores", "inherits"},
		"match_text: false\ndefaults: {match_text: null}": {"ignores", "inherits"},
	} {
		file, problems := policy.Check("retry.yaml", []byte("version: 1\n"+top+policies))
		if file == nil {
			t.Fatal(problems)
		}
		var got names
		for _, p := range file.Policies {
			if p.MatchText == retry.MatchNone {
				got = append(got, p.Name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", top, diff)
		}
	}
}

// checkProblems holds what must be true of any problem of any input.
func checkProblems(t *testing.T, text []byte, file *policy.File, problems []policy.Problem) {
	lines := bytes.Count(text, []byte("\n")) + 1
	failed := false
	for _, p := range problems {
		failed = failed || p.Severity == rules.Error
		if p.Rule == "" || p.Text == "" || p.Line < 1 || p.Line > lines || p.Col < 1 {
			t.Errorf("problem %v has no rule, text or place in a file of %d lines", p, lines)
		}
	}
	if failed != (file == nil) {
		t.Errorf("file %v with problems %v", file, problems)
	}
	var out bytes.Buffer
	policy.Print(&out, problems, map[string][]byte{"f": text}, true)
}

// TestExplainInBrokenFile: policies without a problem in their settings can be
// explained although their file has problems.
func TestExplainInBrokenFile(t *testing.T) {
	explained := 0
	for _, name := range glob(t, "err/*.yaml") {
		file, _, _ := policy.Read(filepath.Base(name), read(t, name))
		if file == nil {
			continue
		}
		for i := range file.Policies {
			p := &file.Policies[i]
			if p.Broken {
				continue
			}
			explained++
			var out strings.Builder
			p.Explain(&out, file.Name)
			file.ExplainSteps(&out, p)
			if want := "policy " + p.Name + " ("; !strings.HasPrefix(out.String(), want) {
				t.Errorf("%s: the explanation of %s begins %.40q, want %q", name, p.Name, out.String(), want)
			}
			if err := p.Picture(&out); err != nil {
				t.Errorf("%s: the picture of %s: %v", name, p.Name, err)
			}
		}
	}
	if explained == 0 {
		t.Error("nothing was explained")
	}
}

// TestHostile: what is made to take long or much does not.
func TestHostile(t *testing.T) {
	var laughs, merges strings.Builder
	laughs.WriteString("version: 1\nx-a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	merges.WriteString("version: 1\nx-a0: &a0 {a: {b: c}}\n")
	for i := 1; i < 12; i++ {
		prev, next := "*a"+string(rune('a'+i-1)), "&a"+string(rune('a'+i))
		if i == 1 {
			prev = "*a0"
		}
		laughs.WriteString("x-" + next[1:] + ": " + next + " [" + strings.Repeat(prev+", ", 9) + "]\n")
		merges.WriteString("x-" + next[1:] + ": " + next + " {<<: [" + strings.Repeat(prev+", ", 9) + "]}\n")
	}
	const head = "version: 1\npolicies:\n"
	lines := func(line string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line+"\n", i, i+1)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"chain":        head + lines("  p%d: {extends: p%d}", 2000) + "  p2000: {max_attempts: 0}\n",
		"circle":       head + lines("  p%d: {extends: p%d}", 2000) + "  p2000: {extends: p0}\n",
		"scopes":       head + "  p: {scope: s0, timeout: 2m}\nscopes:\n" + lines("  s%d: {timeout: 1m, within: s%d}", 2000),
		"unknown keys": head + "  p:\n" + lines("    k%d: %d", 20_000),
		"misspelt":     head + lines("  p%d: {max_atempts: %d}", 10_000),
		"no such":      head + lines("  p%d: {extends: q%d}", 10_000),
		"unused":       head + "breakers:\n" + lines("  b%d: {} # %d", 5000),
		"classes": head + lines("  p%d: {retry_on: [e%[1]d]} # %[2]d", 400) + "errors:\n" +
			lines("  e%d: {pattern: x%d}", 401),
		"laughs": laughs.String(),
		"merges": merges.String(),
		"large":  "version: 1\nx-a: " + strings.Repeat("x", 10<<20),
		"flow":   "version: 1\nx-a: " + strings.Repeat("[", 20000),
		"attempts": "version: 1\npolicies: {p: {max_attempts: 2147483647, initial_delay: 1ns, max_delay: 1ns, timeout: " +
			"100h}}",
		"long line":  "version: 1\npolicies: {" + strings.Repeat("pp: {max_atempts: 1}, ", 1000) + "}",
		"long digit": "version: 1\npolicies: {p: {timeout: " + strings.Repeat("9", 100000) + "s}}",
	} {
		file, problems := policy.Check("f", []byte(text))
		checkProblems(t, []byte(text), file, problems)
		if len(problems) == 0 {
			t.Errorf("%s: no problem", name)
		}
		format.Source("f", []byte(text))
	}
}

func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"ok/*.yaml", "err/*.yaml"} {
		for _, name := range glob(f, pattern) {
			f.Add(read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, problems := policy.Check("f", text)
		checkProblems(t, text, file, problems)
	})
}

func BenchmarkCheck1000(b *testing.B) {
	bench := func(name, line string) {
		var text bytes.Buffer
		text.WriteString("version: 1\npolicies:\n")
		for i := range 1000 {
			text.WriteString("  p" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) +
				string(rune('a'+i/676)) + line)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if file, problems := policy.Check("f", text.Bytes()); file == nil {
					b.Fatal(problems[0])
				}
			}
		})
	}
	bench("lines", ": {max_attempts: 4, timeout: 20s}\n")
	bench("full",
		": {description: a policy, max_attempts: 4, backoff: {exponential: {base: 2}}, initial_delay: 200ms, max_delay: "+
			"10s, "+
			"jitter: full, delay_budget: 30s, max_elapsed: 90s, attempt_timeout: 5s, timeout: 2m, retry_on: [network, "+
			"timeout], abort_on: [rate_limit]}\n")
}
