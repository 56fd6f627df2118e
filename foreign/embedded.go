package foreign

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

// An embedded file is a string in a document that is a file itself.
type embedded struct {
	name  string // name of the file, if the document contains it
	text  *syntax.Node
	patch *Patch // nil: the file does not change other documents
}

// embeddedIn returns the files in a document: the strings of a ConfigMap, the patches of a
// Kustomization, and the state machines that are strings in a template. Other strings are
// examples or descriptions.
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

// looksLikeFile reports whether a string has the form of a map or list. It returns false for an
// alias, because its text is read where it is written.
func looksLikeFile(n *syntax.Node) bool {
	text, isText := n.Value.(string)
	return isText && !n.Form.Alias &&
		(strings.IndexAny(strings.TrimSpace(text), "{[-") == 0 || strings.ContainsAny(text, "\n="))
}

// machineKeys lists the folded names of properties whose strings are state machines, in
// CloudFormation, in Terraform JSON, and in Kubernetes resources for AWS.
var machineKeys = []string{"definitionstring", "definition"}

// machinesIn returns the state machines that are strings in a document.
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

// textIn returns a string. If n is a CloudFormation function such as Fn::Sub, it returns the
// string in the function's argument.
func textIn(n *syntax.Node) *syntax.Node {
	if n.IsMap() && len(n.Entries) == 1 && strings.HasPrefix(n.Entries[0].Key, "Fn::") {
		n = n.Entries[0].Value
	}
	if n.IsList() && len(n.Items) > 0 {
		n = n.Items[0] // the string of Fn::Sub; its variables follow
	}
	return n
}

// describes reports whether a document describes the form of other documents. The fields of
// such a document are not values of a policy.
func describes(doc *syntax.Node) bool {
	return isResource(doc, "apiextensions.k8s.io", "CustomResourceDefinition") ||
		doc.Get("openapi") != nil || doc.Get("swagger") != nil ||
		strings.Contains(at(doc, "$schema").Text, "json-schema.org") && at(doc, "properties").IsMap()
}
