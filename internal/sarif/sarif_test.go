package sarif_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/retrygen/retrygen/internal/sarif"
)

var update = flag.Bool("update", false, "rewrite testdata/log.sarif")

// official is the schema of the standard.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	s, err := c.Compile(filepath.Join("testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// written returns the log as it is written, which must follow the standard.
func written(t *testing.T, l sarif.Log) document {
	t.Helper()
	var out bytes.Buffer
	if err := l.Write(&out); err != nil {
		t.Fatal(err)
	}
	var raw any
	var doc document
	for _, to := range []any{&raw, &doc} {
		if err := json.Unmarshal(out.Bytes(), to); err != nil {
			t.Fatal(err)
		}
	}
	if err := official(t).Validate(raw); err != nil {
		t.Errorf("%#v\n%s", err, out.Bytes())
	}
	return doc
}

// A document is what the tests look at in a log.
type document struct {
	Runs []struct {
		Tool struct {
			Driver struct{ Rules []struct{ ID string } }
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Locations []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           struct{ StartLine, StartColumn, EndColumn int }
				}
			}
			PartialFingerprints map[string]string
		}
	}
}

const dir = "/src/shop"

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	l := sarif.Log{
		Tool: "retrygen", Version: "v0.1.0", Dir: dir,
		Rules: []sarif.Rule{
			{ID: "P301", Title: "budget smaller than the first delay", Text: "Text.", Markdown: "**Text**"},
			{ID: "P302", Title: "only described"},
		},
		Findings: []sarif.Finding{
			{Rule: "P301", Level: "error", Text: "budget < delay", File: "a b/retry.yaml", Line: 2, Col: 3, Width: 6},
			{Rule: "P999", Level: "note", Text: "of an id that nobody described", File: dir + "/retry.yaml", Line: 1, Col: 1},
		},
		Sources: map[string][]byte{"a b/retry.yaml": []byte("version: 1\n  budget: 1s\n")},
	}
	if err := l.Write(&out); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "log.sarif")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	written(t, l)
}

func TestNothingFound(t *testing.T) {
	doc := written(t, sarif.Log{Tool: "retrygen", Dir: dir})
	if r := doc.Runs[0]; r.Results == nil || len(r.Results) != 0 {
		t.Errorf("results are %v, want an empty list", r.Results)
	}
}

func TestPlace(t *testing.T) {
	const file = "retry.yaml"
	source := "plain: x\n\"für 🎉\": {x: 1}\r\nbroken: \xff x\n"
	type at struct{ line, col, end int }
	tests := []struct {
		name             string
		source           string
		line, col, width int
		want             at
	}{
		{"ASCII", source, 1, 8, 1, at{1, 8, 9}},
		{"ü is one unit, the emoji two", source, 2, 14, 6, at{2, 11, 17}},
		{"not UTF-8", source, 3, 11, 1, at{3, 11, 12}},
		{"the end of a line", source, 1, 9, 1, at{1, 9, 9}},
		{"wider than the line", source, 1, 8, 99, at{1, 8, 9}},
		{"no width", source, 1, 2, 0, at{1, 2, 0}},
		{"no column", source, 1, 0, 0, at{1, 0, 0}},
		{"beyond the line", source, 1, 11, 1, at{1, 0, 0}},
		{"beyond the file", source, 9, 4, 1, at{9, 0, 0}},
		{"no source", "", 1, 8, 1, at{1, 0, 0}},
		{"no line", source, 0, 0, 0, at{}},
	}
	for _, tt := range tests {
		l := sarif.Log{
			Tool: "t", Dir: dir,
			Findings: []sarif.Finding{{Rule: "P1", Level: "error", Text: "x", File: file, Line: tt.line, Col: tt.col,
				Width: tt.width}},
		}
		if tt.source != "" {
			l.Sources = map[string][]byte{file: []byte(tt.source)}
		}
		got := written(t, l).Runs[0].Results[0].Locations[0].PhysicalLocation.Region
		if got := (at{got.StartLine, got.StartColumn, got.EndColumn}); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"retry.yaml":              {"retry.yaml", "%SRCROOT%"},
		"./a/../b/retry.yaml":     {"b/retry.yaml", "%SRCROOT%"},
		dir + "/ü #1%/retry.yaml": {"%C3%BC%20%231%25/retry.yaml", "%SRCROOT%"},
		"a:b.yaml":                {"./a:b.yaml", "%SRCROOT%"},
		"../other/retry.yaml":     {"file:///src/other/retry.yaml", ""},
		"/etc/retry.yaml":         {"file:///etc/retry.yaml", ""},
	} {
		doc := written(t,
			sarif.Log{Tool: "t", Dir: dir,
				Findings: []sarif.Finding{{Rule: "P1", Level: "note", Text: "x", File: filepath.FromSlash(name), Line: 1}}})
		got := doc.Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation
		if got.URI != want[0] || got.URIBaseID != want[1] {
			t.Errorf("%s: got %+v, want %q", name, got, want)
		}
	}
}

// TestFingerprints: a finding is known again after lines are put above it and
// after it is indented; two findings are never taken for one.
func TestFingerprints(t *testing.T) {
	of := func(source string, findings ...sarif.Finding) (prints []string) {
		for i := range findings {
			findings[i].Level, findings[i].Text, findings[i].File = "error", "x", "f"
		}
		doc := written(t, sarif.Log{Tool: "t", Dir: dir, Findings: findings, Sources: map[string][]byte{"f": []byte(source)}})
		for _, r := range doc.Runs[0].Results {
			for name, print := range r.PartialFingerprints {
				prints = append(prints, name+"="+print)
			}
		}
		return prints
	}
	first := of("x: 1\ny: 2\nx: 1\n", sarif.Finding{Rule: "P1", Line: 1}, sarif.Finding{Rule: "P1", Line: 2},
		sarif.Finding{Rule: "P1", Line: 3}, sarif.Finding{Rule: "P2", Line: 3})
	moved := of("# new\n  x:  1\n  y: 2\n\n  x: 1 \n", sarif.Finding{Rule: "P1", Line: 2},
		sarif.Finding{Rule: "P1", Line: 3}, sarif.Finding{Rule: "P1", Line: 5}, sarif.Finding{Rule: "P2", Line: 5})
	if diff := cmp.Diff(first, moved); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	seen := map[string]bool{}
	for _, print := range first {
		if seen[print] {
			t.Errorf("two findings have the fingerprint %s", print)
		}
		seen[print] = true
	}
}
