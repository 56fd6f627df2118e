package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/diagnostic"
	"github.com/retrygen/retrygen/lint"
)

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

// width returns the number of bytes to underline: 1 if the finding ends on another
// line or its end is not known, 0 for the word at its position.
func (f finding) width() int {
	if f.end.Line != f.at.Line {
		return 1
	}
	return f.end.Column - f.at.Column
}

// annotate prints the finding as a workflow command, which GitHub shows next to the
// line.
func (f finding) annotate(w io.Writer, dir string) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	command, text := [...]string{"notice", "warning", "error"}[f.severity], f.text
	if f.evidence == lint.Named {
		text += " [named]"
	}
	fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", command,
		property.Replace(f.path(dir)), f.at.Line, f.at.Column, f.rule, message.Replace(text))
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

// without returns the findings except those of the listed rules.
func without(findings []finding, rules string) []finding {
	disabled := splitIDs(rules)
	return slices.DeleteFunc(findings, func(f finding) bool { return slices.Contains(disabled, f.rule) })
}

// splitIDs splits a list of rules at commas and spaces.
func splitIDs(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// A baseline counts known findings by their key. The key contains the text of the
// line, not its number, so that code may move.
type baseline map[string]int

// key returns the line of a baseline for a finding.
func (f finding) key(dir string) string {
	line := ""
	if text, err := os.ReadFile(f.at.Filename); err == nil {
		if lines := bytes.Split(text, []byte("\n")); f.at.Line <= len(lines) {
			line = string(bytes.TrimSpace(lines[f.at.Line-1]))
		}
	}
	return f.path(dir) + "\t" + f.rule + "\t" + line
}

// newFindings returns the findings that are not in the baseline file. If the file
// does not exist, it writes all findings to it, reports that on stderr and returns
// none.
func newFindings(name string, findings []finding, dir string, stderr io.Writer) ([]finding, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		var b strings.Builder
		for _, f := range findings {
			b.WriteString(f.key(dir) + "\n")
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "retrylint: wrote the new baseline %s; findings in it: %d\n", name, len(findings))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := baseline{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.Count(line, "\t") < 2 {
			return nil,
				fmt.Errorf("%s:%d: this is not a line of a baseline: name a file that retrylint wrote, or a new one", name, n)
		}
		known[line]++
	}
	return slices.DeleteFunc(findings, func(f finding) bool {
		key := f.key(dir)
		known[key]--
		return known[key] >= 0
	}), nil
}
