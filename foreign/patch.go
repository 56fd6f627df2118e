package foreign

import (
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

// A Patch reports that a kustomization.yaml lists a file as a patch for other documents.
// The file contains either documents to be merged with the others, or a list of
// operations, which is a JSON patch (RFC 6902).
type Patch struct {
	targets []target
}

// A target selects the resources that a patch changes. Each string may be empty.
type target struct{ group, version, kind, name string }

// kustomizationOf returns the part of a document that contains patches, or nil. This part is a
// kustomization.yaml, which may omit its kind, or the spec of a Flux resource.
func kustomizationOf(doc *syntax.Node) *syntax.Node {
	switch {
	case isResource(doc, "kustomize.config.k8s.io", "Kustomization", "Component"):
		return doc
	case isResource(doc, "kustomize.toolkit.fluxcd.io", "Kustomization"):
		return at(doc, "spec")
	case doc.Get("kind") == nil && slices.ContainsFunc(patchLists, func(key string) bool { return at(doc, key).IsList() }):
		return doc
	}
	return nil
}

// patchLists lists the keys whose values are patches.
var patchLists = []string{"patches", "patchesJson6902", "patchesStrategicMerge"}

// patchesIn calls add for each patch in a document. It passes either the text of the patch or a
// node with the name of its file. Only a Kustomization contains patches.
func patchesIn(doc *syntax.Node, add func(text, file *syntax.Node, p *Patch)) {
	kustomization := kustomizationOf(doc)
	if kustomization == nil {
		return
	}
	for _, key := range patchLists {
		for _, item := range at(kustomization, key).Items {
			switch {
			case item.IsMap():
				p, t := new(Patch), at(item, "target")
				if t.IsMap() {
					p.targets = []target{{at(t, "group").Text, at(t, "version").Text, at(t, "kind").Text, at(t, "name").Text}}
				}
				add(at(item, "patch"), at(item, "path"), p)
			case strings.Contains(item.Text, "\n"):
				add(item, new(syntax.Node), new(Patch))
			default:
				add(new(syntax.Node), item, new(Patch))
			}
		}
	}
}

// PatchFiles returns the files that a kustomization.yaml applies as patches, keyed by
// their names relative to its folder. If the text is not a kustomization.yaml, it returns
// nothing.
func PatchFiles(text []byte) map[string]*Patch {
	files := map[string]*Patch{}
	for _, doc := range syntax.File(text).Documents() {
		if doc.Root == nil {
			continue
		}
		patchesIn(doc.Root, func(_, file *syntax.Node, p *Patch) {
			if known := files[file.Text]; known != nil {
				known.targets = append(known.targets, p.targets...)
			} else if file.Text != "" {
				files[file.Text] = p
			}
		})
	}
	return files
}

// isJSONPatch reports whether a document is a list of operations.
func isJSONPatch(doc *syntax.Node) bool {
	return len(doc.Items) > 0 && !slices.ContainsFunc(doc.Items, func(op *syntax.Node) bool {
		return at(op, "op").Text == "" || op.Get("path") == nil
	})
}

// documents returns a document for each target of a JSON patch. The document only contains what
// the patch adds or replaces.
func (p *Patch) documents(operations *syntax.Node) (docs []*syntax.Node) {
	root := new(written)
	for _, op := range operations.Items {
		path, value := at(op, "path"), op.Get("value")
		name := at(op, "op").Text
		if value == nil || name != "add" && name != "replace" || !strings.HasPrefix(path.Text, "/") {
			continue
		}
		w := root
		for step := range strings.SplitSeq(path.Text[1:], "/") {
			w = w.step(escapes.Replace(step))
		}
		*w = written{value: value.Value, at: path.Span}
	}
	for _, t := range p.targets {
		doc := root.node(t.document())
		doc.Place(operations.Items[0].Span)
		docs = append(docs, doc)
	}
	return docs
}

// escapes replaces the escapes of a JSON pointer.
var escapes = strings.NewReplacer("~1", "/", "~0", "~")

// anyGroup is the API group of a resource that a patch selects only by its kind.
const anyGroup = "*"

// document returns a resource with the fields that the target selects.
func (t target) document() *syntax.Node {
	version := strings.TrimPrefix(t.group+"/"+t.version, "/")
	if t.group == "" {
		version = anyGroup
	}
	entries := []syntax.Entry{
		{Key: "metadata", Value: syntax.Map(syntax.Entry{Key: "name", Value: syntax.Text(t.name)})},
	}
	if t.kind != "" {
		entries = append(entries, syntax.Entry{Key: "apiVersion", Value: syntax.Text(version)},
			syntax.Entry{Key: "kind", Value: syntax.Text(t.kind)})
	}
	return syntax.Map(entries...)
}

// A written describes what a JSON patch writes at a place of a document, and below that place.
type written struct {
	value *syntax.Node // nil: the patch only writes below the place
	at    syntax.Span  // of the path to the value
	steps []string     // steps to the places below, in the order of the patch
	below map[string]*written
}

// step returns the place below for a key or an index. The index - means a new item.
func (w *written) step(name string) *written {
	if name == "-" {
		name += strconv.Itoa(len(w.steps))
	}
	if w.below[name] == nil {
		if w.below == nil {
			w.below = map[string]*written{}
		}
		w.steps, w.below[name] = append(w.steps, name), new(written)
	}
	return w.below[name]
}

// node returns the new value at a place. base is its previous value, or nil. If the patch does
// not write a list itself, the list only contains the items that the patch writes.
func (w *written) node(base *syntax.Node) *syntax.Node {
	if w.value != nil {
		base = w.value
	}
	switch {
	case len(w.steps) == 0:
		return base
	case base == nil:
		base = new(syntax.Node)
	}
	if base.IsList() || !base.IsMap() && !slices.ContainsFunc(w.steps, isNoIndex) {
		return w.list(base)
	}
	entries := slices.Clone(base.Entries)
	for _, key := range w.steps {
		e := syntax.Entry{Key: key, At: w.below[key].at, Value: w.below[key].node(base.Child(key))}
		if i := slices.IndexFunc(entries, func(e syntax.Entry) bool { return e.Key == key }); i >= 0 {
			entries[i] = e
		} else {
			entries = append(entries, e)
		}
	}
	n := syntax.Map(entries...)
	n.Span = base.Span
	return n
}

func (w *written) list(base *syntax.Node) *syntax.Node {
	items := slices.Clone(base.Items)
	for _, step := range w.steps {
		item := w.below[step].node(base.Child(step))
		if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < len(base.Items) {
			items[i] = item
		} else {
			items = append(items, item)
		}
	}
	n := syntax.List(items...)
	n.Span = base.Span
	return n
}

// isNoIndex reports whether a step is a key, and not the index of an item.
func isNoIndex(step string) bool { return strings.Trim(step, "-0123456789") != "" }
