package playground

import (
	"errors"

	"github.com/retrygen/retrygen/internal/results"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/assist"
	"github.com/retrygen/retrygen/policy/rules"
)

// A checkAnswer has the problems of the text.
type checkAnswer struct {
	System   string    `json:"system"` // of a file of another system, or ""
	Policies []string  `json:"policies"`
	Problems []problem `json:"problems"`
	Summary  string    `json:"summary"` // the number of problems by severity, or ""
}

// A problem has the part of its line that is underlined, and how it is corrected.
type problem struct {
	results.Problem
	Width int  `json:"width"`
	Fix   *fix `json:"fix,omitempty"`
}

type fix struct {
	Title string `json:"title"`
	Edits []edit `json:"edits"`
}

// An edit replaces a part of the text.
type edit struct {
	textRange
	Text string `json:"text"`
}

// A textRange is a part of the text.
type textRange struct {
	Line      int `json:"line"`
	Column    int `json:"column"`
	EndLine   int `json:"endLine"`
	EndColumn int `json:"endColumn"`
}

func rangeOf(r assist.Range) textRange {
	return textRange{r.Start.Line, r.Start.Col, r.End.Line, r.End.Col}
}

// check returns the problems of a policy file or of a file of another system.
func check(r *request) (any, error) {
	doc := r.document()
	f, found := r.foreign()
	answer := checkAnswer{Policies: []string{}}
	if f != nil {
		answer.System = titles(f)
		for _, p := range f.Policies {
			answer.Policies = append(answer.Policies, p.Name)
		}
		policy.Sort(found)
	} else {
		found = doc.Problems()
		if file := doc.File(); file != nil {
			for _, p := range file.Policies {
				answer.Policies = append(answer.Policies, p.Name)
			}
		}
	}
	answer.Summary = policy.Summary(found)
	answer.Problems = make([]problem, len(found))
	for i, shown := range results.Problems(found) {
		p := problem{Problem: shown}
		if at := doc.Underlined(found[i]); at.Start.Line == at.End.Line {
			p.Width = at.End.Col - at.Start.Col
		}
		if c, ok := doc.Fix(found[i]); ok && f == nil {
			p.Fix = &fix{Title: c.Title}
			for _, e := range c.Edits {
				p.Fix.Edits = append(p.Fix.Edits, edit{rangeOf(e.Range), e.Text})
			}
		}
		answer.Problems[i] = p
	}
	return answer, nil
}

// A completion is a text that may be written at the place of the request.
type completion struct {
	Label  string `json:"label"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Doc    string `json:"doc"` // in Markdown
	edit
}

type completeAnswer struct {
	Completions []completion `json:"completions"`
}

var kindNames = map[assist.Kind]string{assist.Key: "key", assist.Value: "value", assist.Name: "name"}

// complete returns what may be written at the place of the request.
func complete(r *request) (any, error) {
	answer := completeAnswer{[]completion{}}
	if f, _ := r.foreign(); f != nil {
		return answer, nil
	}
	for _, c := range r.document().Complete(policy.Pos{Line: r.Line, Col: r.Column}, nil) {
		answer.Completions = append(answer.Completions, completion{
			c.Label, kindNames[c.Kind], c.Detail, c.Doc, edit{rangeOf(c.Range), c.Insert},
		})
	}
	return answer, nil
}

type hoverAnswer struct {
	textRange
	Doc string `json:"doc"` // in Markdown; "": there is nothing to describe
}

// hover describes what is written at the place of the request.
func hover(r *request) (any, error) {
	if f, _ := r.foreign(); f != nil {
		return hoverAnswer{}, nil
	}
	h, ok := r.document().Hover(policy.Pos{Line: r.Line, Col: r.Column}, nil)
	if !ok {
		return hoverAnswer{}, nil
	}
	return hoverAnswer{rangeOf(h.Range), h.Text}, nil
}

type formatAnswer struct {
	Edits []edit `json:"edits"`
}

// formatted returns the edits that write the policy file in its canonical spelling.
func formatted(r *request) (any, error) {
	if f, _ := r.foreign(); f != nil {
		return nil, errors.New("only policy files of retrygen are formatted")
	}
	doc := r.document()
	if len(policy.AtLeast(rules.Error, doc.Problems())) > 0 {
		return nil, errors.New("a file with errors is not formatted")
	}
	answer := formatAnswer{[]edit{}}
	for _, e := range doc.Canonical() {
		answer.Edits = append(answer.Edits, edit{rangeOf(e.Range), e.Text})
	}
	return answer, nil
}
