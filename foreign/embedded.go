package foreign

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

// An embedded file is a text in a document that is a file itself.
type embedded struct {
	name  string // of the file, as far as the document has one
	text  *syntax.Node
	patch *Patch // nil: it changes no other document
}

// embeddedIn returns the files in a document: the texts of a ConfigMap, the patches of a
// Kustomization, and state machines in the text of a template. Other texts are examples
// or descriptions.
func embeddedIn(doc *syntax.Node) (list []embedded) {
	switch {
	case describes(doc):
	case isResource(doc, "v1", "ConfigMap"):
		list = filesIn(at(doc, "data"))
	case isResource(doc, "v1", "Secret"):
		list = filesIn(at(doc, "stringData"))
	case kustomizationOf(doc) != nil:
		patchesIn(doc, func(text, _ *syntax.Node, p *Patch) {
			list = append(list, embedded{text: text, patch: p})
		})
	default:
		list = machinesIn(doc)
	}
	return slices.DeleteFunc(list, func(e embedded) bool { return !looksLikeFile(e.text) })
}

func filesIn(data *syntax.Node) (list []embedded) {
	for _, e := range data.Entries {
		switch filepath.Ext(e.Key) {
		case "", ".yaml", ".yml", ".json", ".properties", ".conf", ".cfg":
			list = append(list, embedded{name: e.Key, text: e.Value})
		}
	}
	return list
}

// looksLikeFile reports whether a text has the form of a map or a list. An alias repeats a text
// that is read where it is written.
func looksLikeFile(n *syntax.Node) bool {
	text, isText := n.Value.(string)
	return isText && !n.Form.Alias &&
		(strings.IndexAny(strings.TrimSpace(text), "{[-") == 0 || strings.ContainsAny(text, "\n="))
}

// machineKeys are the names of properties that have a state machine as text, folded: of
// CloudFormation, of Terraform in JSON, and of Kubernetes resources for AWS.
var machineKeys = []string{"definitionstring", "definition"}

// machinesIn returns the state machines that are texts in a document.
func machinesIn(doc *syntax.Node) (list []embedded) {
	for _, e := range doc.Entries {
		if !slices.Contains(machineKeys, folded(e.Key)) {
			list = append(list, machinesIn(e.Value)...)
			continue
		}
		if text := textIn(e.Value); strings.Contains(text.Text, "StartAt") {
			list = append(list, embedded{text: text})
		}
	}
	for _, item := range doc.Items {
		list = append(list, machinesIn(item)...)
	}
	return list
}

// textIn returns a text, or the one in the argument of a function of CloudFormation, as
// Fn::Sub.
func textIn(n *syntax.Node) *syntax.Node {
	if n.IsMap() && len(n.Entries) == 1 && strings.HasPrefix(n.Entries[0].Key, "Fn::") {
		n = n.Entries[0].Value
	}
	if n.IsList() && len(n.Items) > 0 {
		n = n.Items[0] // the text of Fn::Sub with its variables
	}
	return n
}

// describes reports whether a document describes the form of others: their fields are no
// values of a policy.
func describes(doc *syntax.Node) bool {
	return isResource(doc, "apiextensions.k8s.io", "CustomResourceDefinition") ||
		doc.Get("openapi") != nil || doc.Get("swagger") != nil ||
		strings.Contains(at(doc, "$schema").Text, "json-schema.org") && at(doc, "properties").IsMap()
}
