package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/diagnostic"
	"github.com/retrygen/retrygen/lint"
)

// A printer says in which forms findings are printed.
type printer struct {
	sarif  string // file for the findings as SARIF; -: standard output, instead of text
	json   bool
	github bool // as annotations of GitHub
	color  *cli.Color
}

// print prints the findings in the forms that the flags select.
func (p printer) print(r result, stdout, stderr io.Writer, dir string) error {
	findings := r.findings
	if p.sarif != "" {
		if err := writeSARIF(p.sarif, stdout, findings, dir); err != nil || p.sarif == "-" {
			return err
		}
	}
	if p.json {
		return printJSON(stdout, findings, dir)
	}
	if !p.github {
		printText(findings, dir, p.color.On(stdout), stdout, stderr)
		printWithheld(stderr, r)
		return nil
	}
	for _, f := range findings {
		f.diagnostic(dir).Annotate(stdout)
	}
	return nil
}

// path returns the path of the file of a finding, relative to dir if it is below
// dir.
func (f finding) path(dir string) string { return relative(f.at.Filename, dir) }

func relative(file, dir string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// diagnostic converts the finding for printing as text.
func (f finding) diagnostic(dir string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		File: f.path(dir), Line: f.at.Line, Col: f.at.Column, Width: f.width(), // Col may be 0 after a line comment
		Severity: f.severity, Text: f.text, Rule: f.rule, Fixable: len(f.edits) > 0,
		Named: f.evidence == lint.Named,
	}
}

// printText prints the findings to stdout, and a summary to stderr.
func printText(findings []finding, dir string, color bool, stdout, stderr io.Writer) {
	if len(findings) == 0 {
		return
	}
	var list []diagnostic.Diagnostic
	out := diagnostic.Printer{W: stdout, Color: color, Source: func(file string) []byte {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, filepath.FromSlash(file))
		}
		text, _ := os.ReadFile(file) // nil: the finding is printed without its line
		return text
	}}
	for _, f := range findings {
		d := f.diagnostic(dir)
		out.Print(d)
		list = append(list, d)
	}
	fmt.Fprintln(stderr, "retrylint:", diagnostic.Summary(list))
}

// printWithheld prints how many findings are not reported, and how to see them.
func printWithheld(stderr io.Writer, r result) {
	weaker, ids := 0, map[string]bool{}
	for _, f := range r.withheld {
		if informs(f.rule) {
			ids[f.rule] = true
		} else {
			weaker++
		}
	}
	var hints []string
	if weaker > 0 {
		hints = append(hints, fmt.Sprintf("%d with weaker evidence (-confidence named)", weaker))
	}
	if n := len(r.withheld) - weaker; n > 0 {
		hints = append(hints, fmt.Sprintf("%d for information (-enable %s)", n,
			strings.Join(slices.Sorted(maps.Keys(ids)), ",")))
	}
	if len(hints) == 0 {
		return
	}
	found := "not reported"
	if len(r.findings) == 0 {
		found = "no findings; not reported"
	}
	fmt.Fprintf(stderr, "retrylint: %s: %s\n", found, strings.Join(hints, ", "))
}

// width returns the number of bytes to underline: 1 if the finding ends on another
// line or its end is not known, 0 for the word at its position.
func (f finding) width() int {
	if f.end.Line != f.at.Line {
		return 1
	}
	return f.end.Column - f.at.Column
}

// printJSON writes all findings as one array.
func printJSON(w io.Writer, findings []finding, dir string) error {
	type record struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Rule   string `json:"rule"`

		Severity string `json:"severity"`
		Evidence string `json:"evidence"` // proven, library or named
		Text     string `json:"text"`
		Fixable  bool   `json:"fixable"` // by -fix
	}
	records := make([]record, 0, len(findings))
	for _, f := range findings {
		records = append(records, record{
			File: f.path(dir), Line: f.at.Line, Column: f.at.Column, Rule: f.rule,
			Severity: f.severity.String(), Evidence: f.evidence.String(), Text: f.text, Fixable: len(f.edits) > 0,
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(records)
}
