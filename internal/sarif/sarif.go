// Package sarif writes findings as SARIF 2.1.0 (OASIS), the format in which
// code hosts and editors take the results of static analysis.
package sarif

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// A Rule describes what findings of one id are about.
type Rule struct {
	ID       string
	Title    string
	Text     string // in full, as plain text
	Markdown string // the same; "": Text is all there is
}

// A Finding is one result. Lines and columns count from 1, columns in bytes.
type Finding struct {
	Rule  string
	Level string // error, warning or note
	Text  string
	File  string // a path of this system
	Line  int
	Col   int
	Width int // bytes, from Col on the same line; 0: only a place is known
}

// A Log is one run of a tool.
type Log struct {
	Tool    string
	Version string
	// Dir is the folder that relative paths stand in, and the one that consumers
	// take for the root of the sources.
	Dir      string
	Rules    []Rule
	Findings []Finding
	// Sources holds the text of the files by name. Where one is missing, columns
	// are left out: they cannot be told in UTF-16 units.
	Sources map[string][]byte
}

// Write writes the log as JSON. Findings keep their order; rules are those
// that are described and those that are only found.
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

// artifact names a file: below the root of the sources by its relative path,
// and anywhere else by its whole address, since .. leads out of a root that
// consumers put where they like.
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

// region gives the place of a finding on its line; nil if not even the line is
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

// utf16Len counts what text is long in UTF-16 code units.
func utf16Len(text []byte) (n int) {
	for _, r := range string(text) {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
