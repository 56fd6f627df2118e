package main

import (
	"bytes"
	"io"
	"os"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/internal/atomicfile"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/sarif"
	"github.com/retrygen/retrygen/policy/rules"
)

// writeSARIF writes the findings as SARIF to a file, or to stdout if name is -.
// Paths are relative to dir. It writes a log without findings, too, so that
// consumers close earlier ones.
func writeSARIF(name string, stdout io.Writer, findings []finding, dir string) error {
	l := sarif.Log{Tool: "retrylint", Version: cli.Version(), Dir: dir, Rules: sarifRules(), Sources: map[string][]byte{}}
	for _, f := range findings {
		if _, read := l.Sources[f.at.Filename]; !read {
			// A file that cannot be read is reported without columns.
			l.Sources[f.at.Filename], _ = os.ReadFile(f.at.Filename)
		}
		l.Findings = append(l.Findings, sarif.Finding{
			Rule: f.rule, Level: level(f.severity), Text: f.text, Properties: map[string]string{"evidence": f.evidence.String()},
			File: f.at.Filename, Line: f.at.Line, Col: f.at.Column, Width: f.width(),
		})
	}
	if name == "-" {
		return l.Write(stdout)
	}
	var out bytes.Buffer
	if err := l.Write(&out); err != nil {
		return err
	}
	return atomicfile.Write(name, out.Bytes())
}

// level returns the SARIF level of a severity.
func level(s rules.Severity) string {
	return [...]string{"note", "warning", "error"}[s]
}

// sarifRules returns the rules with their documentation.
func sarifRules() (list []sarif.Rule) {
	for _, r := range allRules() {
		page := docs.Rule(r.ID)
		list = append(list, sarif.Rule{ID: r.ID, Title: page.Title(), Text: page.Text(), Markdown: string(page)})
	}
	return list
}
