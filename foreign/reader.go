package foreign

import (
	"cmp"
	"path/filepath"
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
	partial  bool // the document is partial: missing settings are decided elsewhere

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

// read reads the documents of a text, and the files that they contain. patch is not nil if the
// text changes other documents.
func (r *reader) read(name string, text *syntax.Excerpt, from *Kind, patch *Patch) {
	for _, doc := range documentsOf(name, text, from) {
		if doc.Root == nil {
			doc.Place()
			r.file.Template = r.file.Template || doc.Template
			for _, p := range doc.Problems {
				r.file.Unread = append(r.file.Unread, r.problemOf(p))
			}
			continue
		}
		items := flatten([]*syntax.Node{doc.Root})
		var inner []embedded
		for _, item := range items {
			inner = append(inner, embeddedIn(item)...)
		}
		texts := make([]*syntax.Excerpt, len(inner))
		for i, e := range inner { // before the nodes are moved
			texts[i] = doc.Embedded(e.text)
		}
		doc.Place()
		if patch != nil && isJSONPatch(doc.Root) {
			items = patch.documents(doc.Root)
		}
		r.partial = patch != nil || doc.Partial
		if r.items(items, from) {
			for _, p := range doc.Problems {
				r.problems = append(r.problems, r.problemOf(p))
			}
		}
		for i, e := range inner {
			unread, template := r.file.Unread, r.file.Template
			if doc.Partial {
				e.patch = cmp.Or(e.patch, patch, new(Patch))
			}
			r.read(e.name, texts[i], nil, cmp.Or(e.patch, patch))
			r.file.Unread, r.file.Template = unread, template // a string does not have to be a file
		}
	}
}

// documentsOf returns the documents of a text. Their format depends on from, or else on the
// name of the file.
func documentsOf(name string, text *syntax.Excerpt, from *Kind) []syntax.Document {
	if from != nil && from.language != nil {
		return from.language(text)
	}
	switch filepath.Ext(name) {
	case ".properties":
		return text.Properties()
	case ".tf":
		return text.Terraform()
	case ".conf":
		return text.Nginx()
	case ".cfg":
		return text.HAProxy()
	}
	return text.Documents()
}

// items decodes the documents that contain policies. It reports whether there is any.
func (r *reader) items(items []*syntax.Node, from *Kind) (found bool) {
	for _, item := range items {
		switch {
		case !item.IsMap():
		case from != nil:
			r.decode(from, item)
			found = true
		default:
			found = r.systems(item) || found
		}
	}
	return found
}

// systems decodes a document with each kind that recognizes it. For example, a CloudFormation
// template may contain both state machines and queues. The parts from which the policies of a
// kind were converted are omitted for the following kinds, so that no part is checked twice.
func (r *reader) systems(doc *syntax.Node) (found bool) {
	for _, k := range Kinds() {
		if !k.isIn(doc) {
			continue
		}
		found = true
		if doc = r.decode(k, doc); doc == nil {
			break
		}
	}
	return found
}

func (r *reader) problemOf(p syntax.Problem) policy.Problem {
	return policy.Problem{
		File: r.file.Name, Pos: policy.Pos{Line: p.Span.Line, Col: p.Span.Col}, Width: p.Span.Width,
		Rule: p.Rule, Severity: rules.Error, Text: p.Text,
	}
}

// flatten replaces lists, including Kubernetes lists, with their items.
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
	return flat
}

// isResource reports whether a document is a Kubernetes resource of one of the given kinds.
// group is its API group without the version. "v1" is the core group.
func isResource(doc *syntax.Node, group string, kinds ...string) bool {
	version, kind := doc.Child("apiVersion"), doc.Child("kind")
	if version == nil || kind == nil || !slices.Contains(kinds, kind.Text) {
		return false
	}
	return version.Text == group || strings.HasPrefix(version.Text, group+"/") || version.Text == anyGroup
}

// resource skips the fields that every Kubernetes resource has, and returns the name of the
// resource.
func resource(doc *value) (name string) {
	name = doc.get("metadata").get("name").text()
	doc.get("metadata").skip()
	doc.skip("apiVersion", "kind", "status")
	return name
}

// decode converts one document. It returns the document without the parts that the policies
// consist of. A kind may have replaced it with one that has nested maps for dotted keys.
func (r *reader) decode(kind *Kind, doc *syntax.Node) (rest *syntax.Node) {
	if !slices.Contains(r.file.Kinds, kind) {
		r.file.Kinds = append(r.file.Kinds, kind)
	}
	d := &decoder{reader: r, kind: kind, partial: r.partial, first: len(r.file.Policies), firstLoss: len(r.file.Losses),
		firstScope: len(r.file.scopes)}
	root := &value{d: d, n: doc, at: doc.Span}
	kind.decode(d, root)
	d.repeated(root)
	d.unread(root)
	d.assign()
	d.open()
	d.finish()
	return root.n.WithoutAll(d.parts())
}

// parts returns the parts of the document that have been converted.
func (d *decoder) parts() (parts []*syntax.Node) {
	for _, p := range d.file.Policies[d.first:] {
		for _, v := range p.roots {
			parts = append(parts, v.n)
		}
	}
	for _, s := range d.file.scopes[d.firstScope:] {
		parts = append(parts, s.at.n)
	}
	if d.job != nil {
		parts = append(parts, d.job.at.n)
	}
	return parts
}

// open marks the fields of policies whose values are not known yet: fields whose value is an
// expression, and all fields that a partial document does not write.
func (d *decoder) open() {
	for _, p := range d.file.Policies[d.first:] {
		p.partial = d.partial
	}
	for _, l := range d.file.Losses[d.firstLoss:] {
		if l.Policy == nil || !l.open {
			continue
		}
		for field, name := range l.Policy.words {
			if folded(name) != folded(l.key) {
				continue
			}
			if field == countsRetries {
				field = "max_attempts"
			}
			l.Policy.unknown = append(l.Policy.unknown, field)
		}
	}
}
