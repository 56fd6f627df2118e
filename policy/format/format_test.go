package format_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/internal/vectors"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/format"
	"github.com/retrygen/retrygen/policy/rules"
)

var update = flag.Bool("update", false, "rewrite the .want files")

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "policies", pattern))
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

func decode(t *testing.T, raw json.RawMessage, to any) {
	t.Helper()
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
}

// TestFormat: each file in testdata becomes the .want next to it.
func TestFormat(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		got := checkFormat(t, name, read(t, name))
		if got == nil {
			_, problems := format.Source(name, read(t, name))
			t.Errorf("%s is refused: %v", name, problems)
			continue
		}
		want := strings.TrimSuffix(name, ".yaml") + ".want"
		if *update {
			if err := os.WriteFile(want, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(read(t, want)), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFormatAll: what must be true of any file is true of every one that there
// is.
func TestFormatAll(t *testing.T) {
	for _, pattern := range []string{"ok/*.yaml", "err/*.yaml"} {
		for _, name := range glob(t, pattern) {
			checkFormat(t, name, read(t, name))
		}
	}
}

// TestFormatVectors: the forms and durations of other systems are formatted to
// what they mean, in a map of each kind.
func TestFormatVectors(t *testing.T) {
	format := func(t *testing.T, settings string) {
		flow := fmt.Appendf(nil, "version: 1\npolicies: {p: %s}\n", settings)
		checkFormat(t, settings, flow)
		block := blockOf(t, flow)
		checkFormat(t, settings+", in block style", block)
	}
	duration := func(t *testing.T, input, _ json.RawMessage) { format(t, "{timeout: "+string(input)+"}") }
	vectors.Walk(t, "policy/format", map[string]any{
		"duration_parse": duration, "duration_parse_documented": duration,
		"form_equivalence": func(t *testing.T, input, _ json.RawMessage) { format(t, string(input)) },
	})
}

// blockOf writes settings in JSON one to a line.
func blockOf(t *testing.T, flow []byte) []byte {
	_, settings, _ := bytes.Cut(bytes.TrimSuffix(flow, []byte("}\n")), []byte("{p: "))
	settings = regexp.MustCompile(`(\w+): `).ReplaceAll(settings, []byte(`"$1": `))
	var value any
	decode(t, settings, &value)
	var b bytes.Buffer
	b.WriteString("version: 1\npolicies:\n  p:")
	var write func(value any, indent string)
	write = func(value any, indent string) {
		m, ok := value.(map[string]any)
		if !ok || len(m) == 0 {
			text, _ := json.Marshal(value)
			fmt.Fprintf(&b, " %s # a comment\n", text)
			return
		}
		b.WriteString(" # a comment\n")
		for key, value := range m {
			fmt.Fprintf(&b, "%s%s:", indent, key)
			write(value, indent+"  ")
		}
	}
	write(value, "    ")
	return b.Bytes()
}

// checkFormat holds what must be true of formatting any text, and returns the
// result.
func checkFormat(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	got, problems := format.Source("f", text)
	if len(problems) > 0 {
		if got != nil {
			t.Errorf("%s: formatted with problems %v", name, problems)
		}
		for _, p := range problems {
			if p.Severity != rules.Error || p.Line < 1 || p.Col < 1 {
				t.Errorf("%s: refused because of %v", name, p)
			}
		}
		return nil
	}
	before, _ := policy.Check("f", text)
	after, problems := policy.Check("f", got)
	options := []cmp.Option{
		cmp.Exporter(func(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[policy.File]().PkgPath() }),
		cmpopts.IgnoreTypes(policy.Pos{}, syntax.Span{}, map[rules.Field]policy.Pos{}),
		cmp.Comparer(func(a, b *regexp.Regexp) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
	}
	if diff := cmp.Diff(before, after, options...); diff != "" {
		t.Errorf("%s: formatting changed the meaning: %v\n%s\n%s", name, problems, diff, got)
	}
	again, problems := format.Source("f", got)
	if diff := cmp.Diff(string(got), string(again)); diff != "" {
		t.Errorf("%s: formatted twice: %v\n%s", name, problems, diff)
	}
	if was, is := bytes.Count(text, []byte("#")), bytes.Count(got, []byte("#")); was != is {
		t.Errorf("%s: of %d comments %d are left:\n%s", name, was, is, got)
	}
	return got
}

func FuzzFormat(f *testing.F) {
	for _, pattern := range []string{"ok/*.yaml", "err/*.yaml", "../../policy/format/testdata/*.yaml"} {
		for _, name := range glob(f, pattern) {
			f.Add(read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkFormat(t, "the text", text) })
}
