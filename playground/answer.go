// Package playground answers requests from a web page on which a user writes a policy
// file. Requests and answers are JSON. The page can therefore use this package in the
// browser, compiled to WebAssembly, or through the server of the command retrygen ui,
// which serves the same page and gives the same answers.
//
// Positions are as in package policy: lines and columns start at 1, and columns count
// bytes.
package playground

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/assist"
)

// A request is a question. Each method reads the fields that it needs.
type request struct {
	Method string `json:"method"`
	Name   string `json:"name"` // name of the file; its extension may say which format the text has
	Text   string `json:"text"`
	Policy string `json:"policy"` // "": the first one
	Kind   string `json:"kind"`   // to which the file is exported
	Rule   string `json:"rule"`
	Storm  string `json:"storm"` // "": all default storms
	Seeds  int    `json:"seeds"` // 0: one
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// methods are what can be asked.
var methods = map[string]func(*request) (any, error){
	"check":    check,
	"complete": complete,
	"convert":  convert,
	"explain":  explain,
	"format":   formatted,
	"hover":    hover,
	"kinds":    kinds,
	"picture":  picture,
	"rule":     rule,
	"simulate": simulate,
}

// A failure is the answer to a request that has no other.
type failure struct {
	Error string `json:"error"`
}

// Answer answers a request. The answer is a JSON object. If the request cannot be
// answered, the object contains only the key error. Answer may be called concurrently.
func Answer(question []byte) []byte {
	answer, err := ask(question)
	if err == nil {
		var text []byte
		if text, err = json.Marshal(answer); err == nil {
			return text
		}
	}
	text, _ := json.Marshal(failure{err.Error()}) // a string is always encoded
	return text
}

func ask(question []byte) (any, error) {
	r := new(request)
	if err := json.Unmarshal(question, r); err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	method := methods[r.Method]
	if method == nil {
		return nil, fmt.Errorf("there is no method %q", r.Method)
	}
	r.Name = cmp.Or(r.Name, "retry.yaml")
	return method(r)
}

// document returns the text as a policy file.
func (r *request) document() *assist.Document { return assist.New(r.Name, []byte(r.Text)) }

// foreign returns the text as a file of another system, with its problems, or nil if it is
// none: then it is a policy file, even if it does not look like one yet.
func (r *request) foreign() (*foreign.File, []policy.Problem) {
	if policy.Recognize([]byte(r.Text)) {
		return nil, nil
	}
	f, problems := foreign.Check(r.Name, []byte(r.Text), foreign.Options{})
	if len(f.Kinds) == 0 {
		return nil, nil
	}
	return f, append(problems, f.Unread...)
}

// converted returns the policy file that the text is, or to which it is converted.
func (r *request) converted() (*policy.File, error) {
	f, _ := r.foreign()
	if f == nil {
		if file := r.document().File(); file != nil {
			return file, nil
		}
		return nil, errors.New("the file is not YAML: see its problems")
	}
	file, _, _ := policy.Read("retry.yaml", foreign.PolicyFile(f))
	if file == nil {
		return nil, errors.New("the file cannot be converted to a policy file")
	}
	return file, nil
}

// policy returns the policy that the request names, and its file.
func (r *request) policy() (*policy.File, *policy.Policy, error) {
	file, err := r.converted()
	if err != nil {
		return nil, nil, err
	}
	if len(file.Policies) == 0 {
		return nil, nil, errors.New("the file has no policies")
	}
	p := file.Policy(cmp.Or(r.Policy, file.Policies[0].Name))
	switch {
	case p == nil:
		return nil, nil, fmt.Errorf("the file has no policy %q", r.Policy)
	case p.Broken:
		return nil, nil, fmt.Errorf("the policy %s, or what it refers to, has an error: see the problems", p.Name)
	}
	return file, p, nil
}

// titles returns the names of the systems of a file.
func titles(f *foreign.File) string {
	var names []string
	for _, k := range f.Kinds {
		names = append(names, k.Title)
	}
	return strings.Join(names, ", ")
}

// A ruleAnswer is the page of a rule.
type ruleAnswer struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// rule returns the page of a rule about policy files.
func rule(r *request) (any, error) {
	found := policy.RuleByID(strings.ToUpper(r.Rule))
	if found == nil {
		return nil, fmt.Errorf("there is no rule %q", r.Rule)
	}
	page := docs.Rule(found.ID)
	return ruleAnswer{page.Title(), page.Text()}, nil
}
