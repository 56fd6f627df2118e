package foreign

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// A reader reads one file.
type reader struct {
	file     *File
	problems []policy.Problem

	policyNames, breakerNames, classNames names
	scopeNames, groupNames                names
	classes                               map[string]retry.Class // by their tests
}

func newReader(file *File) *reader {
	r := &reader{file: file, policyNames: names{}, breakerNames: names{}, classNames: names{},
		scopeNames: names{}, groupNames: names{}}
	r.classes = map[string]retry.Class{}
	for _, name := range policy.BuiltinClasses() {
		r.classNames[name] = 1
	}
	return r
}

func (r *reader) problem(at syntax.Span, rule string, severity rules.Severity, text string) {
	r.problems = append(r.problems, policy.Problem{
		File: r.file.Name, Pos: policy.Pos{Line: at.Line, Col: at.Col}, Width: at.Width,
		Rule: rule, Severity: severity, Text: text,
	})
}

// documents returns the documents of a file, with Kubernetes lists replaced by
// their items. It returns nil if the file cannot be read.
func (r *reader) documents(text []byte) []*syntax.Node {
	var problems []syntax.Problem
	docs := syntax.Documents(text, func(p syntax.Problem) { problems = append(problems, p) })
	if at, found := template(text); found && len(problems) > 0 { // valid YAML may have templates in texts
		r.problem(at, "P100", rules.Error,
			"this is a Helm template, which has no values yet: run helm template and check what it prints")
		return nil
	}
	for _, p := range problems {
		r.problem(p.Span, p.Rule, rules.Error, p.Text)
	}
	return flatten(docs)
}

// templateAction matches an action of a Helm template: one with a value of the
// chart, or one at the start of a line. Other systems have {{…}} inside of values.
var templateAction = regexp.MustCompile(
	`(?m)^[ \t]*\{\{-?[ \t]*(?:/\*|[a-z.$])|\{\{-?[^}\n]*\.(?:Values|Release|Chart|Capabilities)\b`)

// template returns the place of the first action of a Helm template.
func template(text []byte) (at syntax.Span, found bool) {
	if len(text) > syntax.MaxBytes || !bytes.Contains(text, []byte("{{")) {
		return at, false
	}
	m := templateAction.FindIndex(text)
	if m == nil {
		return at, false
	}
	i := m[0] + bytes.Index(text[m[0]:m[1]], []byte("{{"))
	return syntax.Span{
		Line: 1 + bytes.Count(text[:i], []byte("\n")), Col: i - bytes.LastIndexByte(text[:i], '\n'), Width: 2,
	}, true
}

// flatten replaces lists, including lists of Kubernetes, by their items.
func flatten(docs []*syntax.Node) []*syntax.Node {
	var flat []*syntax.Node
	for _, doc := range docs {
		items := doc.Child("items")
		switch {
		case isResource(doc, "v1", "List") && items != nil && items.IsList():
			flat = append(flat, flatten(items.Items)...)
		case doc.IsList():
			flat = append(flat, flatten(doc.Items)...)
		default:
			flat = append(flat, doc)
		}
	}
	if docs != nil && flat == nil {
		flat = []*syntax.Node{}
	}
	return flat
}

// isResource reports whether a document is a Kubernetes resource of a kind. group
// is its API group without version; "v1" is the core group.
func isResource(doc *syntax.Node, group string, kinds ...string) bool {
	version, kind := doc.Child("apiVersion"), doc.Child("kind")
	if version == nil || kind == nil || !slices.Contains(kinds, kind.Text) {
		return false
	}
	return version.Text == group || strings.HasPrefix(version.Text, group+"/")
}

// resource skips the fields that every Kubernetes resource has, and returns its
// name.
func resource(doc *value) (name string) {
	name = doc.get("metadata").get("name").text()
	doc.get("metadata").skip()
	doc.skip("apiVersion", "kind", "status")
	return name
}

// unknownKind reports that no document has a policy.
func (r *reader) unknownKind(docs []*syntax.Node, from *Kind) {
	if len(docs) == 0 {
		r.problem(syntax.Span{Line: 1, Col: 1, Width: 1}, "P100", rules.Error,
			"the file is empty: a policy file begins with version: 1")
		return
	}
	at := docs[0].Span
	if from != nil {
		r.problem(at, "P100", rules.Error, fmt.Sprintf("this is no %s, which is a map of fields", from.Title))
		return
	}
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	r.problem(at, "P100", rules.Error, fmt.Sprintf(
		"no retry policy of a known kind is here: retrygen reads its own and %s", strings.Join(names, ", ")))
}

// decode converts one document.
func (r *reader) decode(kind *Kind, doc *syntax.Node) {
	if !slices.Contains(r.file.Kinds, kind) {
		r.file.Kinds = append(r.file.Kinds, kind)
	}
	d := &decoder{reader: r, kind: kind, first: len(r.file.Policies), firstLoss: len(r.file.Losses),
		firstScope: len(r.file.scopes)}
	root := &value{d: d, n: doc, at: doc.Span}
	kind.decode(d, root)
	d.unread(root)
	d.assign()
	d.finish()
}
