// Package results explains, converts and simulates policies, and reports the results as text
// and as JSON. The commands of retrygen print them, and the playground shows them: it must
// not import more than a browser has to load.
package results

import (
	"encoding/json"
	"io"

	"github.com/retrygen/retrygen/policy"
)

// A Problem is a problem of a policy file, in JSON.
type Problem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Paste    string `json:"paste,omitempty"`
}

// Problems returns problems in their form in JSON. The list is not nil.
func Problems(list []policy.Problem) []Problem {
	out := make([]Problem, 0, len(list))
	for _, p := range list {
		out = append(out, Problem{p.File, p.Line, p.Col, p.Rule, p.Severity.String(), p.Text, p.Paste})
	}
	return out
}

// WriteJSON writes a value, indented.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
