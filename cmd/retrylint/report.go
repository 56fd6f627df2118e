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
)

// placed returns the path of the file of a finding from dir, if it is below dir.
func (f finding) placed(dir string) string { return placed(f.at.Filename, dir) }

func placed(file, dir string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// diagnostic returns the finding in the form in which it is printed as text.
func (f finding) diagnostic(dir string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		File: f.placed(dir), Line: f.at.Line, Col: f.at.Column, Width: f.width(), // no column after a line comment
		Severity: f.severity, Text: f.text, Rule: f.rule, Fixable: len(f.edits) > 0,
	}
}

// printText prints the findings, and how many there are.
func printText(findings []finding, dir string, color bool, stdout, stderr io.Writer) {
	if len(findings) == 0 {
		return
	}
	var list []diagnostic.Diagnostic
	out := diagnostic.Printer{W: stdout, Color: color, Source: func(file string) []byte {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, filepath.FromSlash(file))
		}
		text, _ := os.ReadFile(file) // without it, the finding is printed without its line
		return text
	}}
	for _, f := range findings {
		d := f.diagnostic(dir)
		out.Print(d)
		list = append(list, d)
	}
	fmt.Fprintln(stderr, "retrylint:", diagnostic.Summary(list))
}

// width returns the length of a finding in bytes: 1 if it ends on another line
// or its end is not known, 0 if it is a word.
func (f finding) width() int {
	if f.end.Line != f.at.Line {
		return 1
	}
	return f.end.Column - f.at.Column
}

// annotate writes a workflow command, which GitHub shows next to the line.
func (f finding) annotate(w io.Writer, dir string) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	command := [...]string{"notice", "warning", "error"}[f.severity]
	fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", command,
		property.Replace(f.placed(dir)), f.at.Line, f.at.Column, f.rule, message.Replace(f.text))
}

// printJSON writes all findings as one array.
func printJSON(w io.Writer, findings []finding, dir string) error {
	type record struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Rule   string `json:"rule"`

		Severity string `json:"severity"`
		Text     string `json:"text"`
		Fixable  bool   `json:"fixable"` // by -fix
	}
	records := make([]record, 0, len(findings))
	for _, f := range findings {
		records = append(records,
			record{f.placed(dir), f.at.Line, f.at.Column, f.rule, f.severity.String(), f.text, len(f.edits) > 0})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(records)
}

// without returns the findings of all rules but the named.
func without(findings []finding, rules string) []finding {
	disabled := splitIDs(rules)
	return slices.DeleteFunc(findings, func(f finding) bool { return slices.Contains(disabled, f.rule) })
}

// splitIDs splits a list of rules, with or without blanks.
func splitIDs(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// A baseline holds findings that were there before. It knows them by the text
// of their lines, so that code may move.
type baseline map[string]int

func (f finding) key(dir string) string {
	line := ""
	if text, err := os.ReadFile(f.at.Filename); err == nil {
		if lines := bytes.Split(text, []byte("\n")); f.at.Line <= len(lines) {
			line = string(bytes.TrimSpace(lines[f.at.Line-1]))
		}
	}
	return f.placed(dir) + "\t" + f.rule + "\t" + line
}

// beyond returns the findings that the baseline in a file does not hold. A file
// that is not there yet is written, and holds all of them; stderr says so.
func beyond(name string, findings []finding, dir string, stderr io.Writer) ([]finding, error) {
	given := name
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		var b strings.Builder
		for _, f := range findings {
			b.WriteString(f.key(dir) + "\n")
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "retrylint: wrote the new baseline %s; findings in it: %d\n", given, len(findings))
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
