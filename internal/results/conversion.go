package results

import (
	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/policy"
)

// A Conversion describes what import or export did, in JSON.
type Conversion struct {
	Policies []Converted `json:"policies,omitempty"`
	Losses   []Loss      `json:"losses"`
	Problems []Problem   `json:"problems"`
}

// A Converted is a converted policy, in JSON.
type Converted struct {
	Name  string   `json:"name"`
	File  string   `json:"file"`
	Line  int      `json:"line"`
	Binds []string `json:"binds,omitempty"`
}

// A Loss is a setting without counterpart, in JSON.
type Loss struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Policy string `json:"policy,omitempty"`
	Path   string `json:"path"`
	Why    string `json:"why"`
}

// ConversionOf returns the report about files that were imported.
func ConversionOf(files []*foreign.File, found []policy.Problem) Conversion {
	r := Conversion{Losses: []Loss{}, Problems: Problems(found)}
	for _, f := range files {
		for _, p := range f.Policies {
			r.Policies = append(r.Policies, Converted{Name: p.Name, File: f.Name, Line: p.Pos().Line, Binds: p.Binds})
		}
		r.Losses = append(r.Losses, Losses(f.Losses)...)
	}
	return r
}

// Losses returns losses in their form in JSON. The list is not nil.
func Losses(list []foreign.Loss) []Loss {
	out := make([]Loss, 0, len(list))
	for _, l := range list {
		o := Loss{File: l.File, Line: l.Line, Column: l.Col, Path: l.Path, Why: l.Why}
		if l.Policy != nil {
			o.Policy = l.Policy.Name
		}
		out = append(out, o)
	}
	return out
}
