// Package sarif writes findings in SARIF 2.1.0 (OASIS), the format in which code
// hosts and editors read the results of static analysis.
package sarif

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// A Rule describes the findings with one id.
type Rule struct {
	ID       string
	Title    string
	Text     string // in full, as plain text
	Markdown string // the same text as Markdown, or ""
}

// A Finding is one result. Lines and columns count from 1, columns in bytes.
type Finding struct {
	Rule  string
	Level string // error, warning or note
	Text  string
	File  string // a path of this system
	Line  int
	Col   int
	Width int // bytes from Col, on the same line; 0: not known
	// Properties are further facts about the finding, by name.
	Properties map[string]string
}

// A Log is one run of a tool.
type Log struct {
	Tool    string
	Version string
	// Dir is the folder that relative paths refer to. Consumers use it as the root of
	// the source code.
	Dir      string
	Rules    []Rule
	Findings []Finding
	// Sources holds the text of the files by name. Findings in other files have no
	// columns, since these cannot be converted to UTF-16 code units.
	Sources map[string][]byte
}

// Write writes the log as JSON. Findings keep their order. Rules that only findings
// name are added without a description. It returns the first error of w.
func (l *Log) Write(w io.Writer) error {
	r := run{
		Tool:       tool{driver{Name: l.Tool, Version: l.Version, Rules: []descriptor{}}},
		ColumnKind: "utf16CodeUnits",
		Results:    []result{},
	}
	index := map[string]int{}
	for _, rule := range l.Rules {
		index[rule.ID] = len(r.Tool.Driver.Rules)
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rule.descriptor())
	}
	prints := fingerprints{}
	for _, f := range l.Findings {
		if _, described := index[f.Rule]; !described {
			index[f.Rule] = len(r.Tool.Driver.Rules)
			r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, descriptor{ID: f.Rule})
		}
		at, line := l.artifact(f.File), lineOf(l.Sources[f.File], f.Line)
		r.Results = append(r.Results, result{
			RuleID: f.Rule, RuleIndex: index[f.Rule], Level: f.Level, Message: message{Text: f.Text},
			Locations:           []location{{physicalLocation{at, f.region(line)}}},
			PartialFingerprints: map[string]string{fingerprintName: prints.of(f.Rule, at.URI, line)},
			Properties:          f.Properties,
		})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []run{r},
	})
}

func (r Rule) descriptor() descriptor {
	d := descriptor{ID: r.ID}
	if r.Title != "" {
		d.ShortDescription = &message{Text: r.Title}
	}
	if r.Text != "" {
		d.Help = &message{Text: r.Text, Markdown: r.Markdown}
	}
	return d
}

// artifact returns the location of a file: a path relative to Dir for a file below
// it, else an absolute URL.
func (l *Log) artifact(name string) artifactLocation {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Dir, path)
	}
	if rel, err := filepath.Rel(l.Dir, path); err == nil && filepath.IsLocal(rel) {
		u := url.URL{Path: filepath.ToSlash(rel)}
		return artifactLocation{URI: u.String(), URIBaseID: "%SRCROOT%"}
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // C:/…
		slashed = "/" + slashed
	}
	u := url.URL{Scheme: "file", Path: slashed}
	return artifactLocation{URI: u.String()}
}

// region returns the position of a finding on its line, or nil if the line is not
// known.
func (f Finding) region(line []byte) *region {
	if f.Line < 1 {
		return nil
	}
	r := &region{StartLine: f.Line}
	if f.Col < 1 || f.Col > len(line)+1 {
		return r
	}
	r.StartColumn = utf16Len(line[:f.Col-1]) + 1
	if f.Width > 0 {
		r.EndColumn = utf16Len(line[:min(f.Col-1+f.Width, len(line))]) + 1
	}
	return r
}

// utf16Len returns the length of text in UTF-16 code units.
func utf16Len(text []byte) (n int) {
	for _, r := range string(text) {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
