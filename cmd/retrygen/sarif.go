package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/internal/atomicfile"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/sarif"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// writeSARIF writes the problems as SARIF to a file, or to stdout if name is -. It
// writes a log without problems, too, so that consumers close earlier ones.
func writeSARIF(name string, stdout io.Writer, found []policy.Problem, sources map[string][]byte) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	l := sarif.Log{Tool: "retrygen", Version: cli.Version(), Dir: dir, Sources: sources}
	for _, r := range slices.Concat(policy.Language, rules.All) {
		page := docs.Rule(r.ID)
		l.Rules = append(l.Rules, sarif.Rule{ID: r.ID, Title: page.Title(), Text: page.Text(), Markdown: string(page)})
	}
	level := map[rules.Severity]string{rules.Info: "note", rules.Warning: "warning", rules.Error: "error"}
	for _, p := range found {
		l.Findings = append(l.Findings, sarif.Finding{
			Rule: p.Rule, Level: level[p.Severity], Text: strings.TrimSuffix(p.Text+"\n"+p.Paste, "\n"),
			File: p.File, Line: p.Line, Col: p.Col, Width: p.Width,
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
