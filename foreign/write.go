package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/retrygen/retrygen/internal/syntax"
)

// PolicyFile returns the policies in files as a single policy file. It is formatted like
// the output of retrygen fmt and contains a comment for each loss. The same files always
// result in the same text.
func PolicyFile(files ...*File) []byte {
	doc := newDocument(merge(files))
	w := &writer{comments: map[*syntax.Node][]string{}}
	lost := map[*Policy][]Loss{}
	for _, f := range files {
		for _, l := range f.Losses {
			lost[l.Policy] = append(lost[l.Policy], l)
		}
	}
	for n, p := range doc.policies {
		w.comments[n] = policyComments(p, lost[p])
	}
	for _, f := range files {
		w.comment("", importedFrom(f))
	}
	for _, l := range lost[nil] {
		w.comment("", l.comment())
	}
	w.document(doc.root)
	return []byte(w.String())
}

func importedFrom(f *File) string {
	var titles []string
	for _, k := range f.Kinds {
		titles = append(titles, k.Title)
	}
	return fmt.Sprintf("Imported from %s: %s.", f.Name, strings.Join(titles, ", "))
}

// policyComments returns the comments before a policy.
func policyComments(p *Policy, lost []Loss) (list []string) {
	for _, b := range p.Binds {
		list = append(list, "bind: "+b)
	}
	for _, l := range lost {
		list = append(list, l.comment())
	}
	return list
}

func (l Loss) comment() string {
	return fmt.Sprintf("lost: %s:%d: %s: %s", l.File, l.Line, l.Path, l.Why)
}

// A writer writes a document as the text of a policy file, in the canonical spelling.
type writer struct {
	strings.Builder
	comments map[*syntax.Node][]string // comments before the entry with this value
}

// document writes a document with an empty line before each section.
func (w *writer) document(root *syntax.Node) {
	for _, e := range root.Entries {
		if isBlock(e.Value) {
			w.WriteString("\n")
		}
		w.entry("", e)
	}
}

// entry writes an entry of a map. It is on one line, unless its value consists of several
// lines.
func (w *writer) entry(indent string, e syntax.Entry) {
	for _, text := range w.comments[e.Value] {
		w.comment(indent, text)
	}
	if !isBlock(e.Value) {
		fmt.Fprintf(w, "%s%s: %s\n", indent, e.Key, flow(e.Value))
		return
	}
	fmt.Fprintf(w, "%s%s:\n", indent, e.Key)
	for _, e := range e.Value.Entries {
		w.entry(indent+"  ", e)
	}
}

// isBlock reports whether a value has a line for each of its entries.
func isBlock(n *syntax.Node) bool { return n.IsMap() && !n.Form.Flow && len(n.Entries) > 0 }

// comment writes a comment that consists of one line.
func (w *writer) comment(indent, text string) {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	fmt.Fprintf(w, "%s# %s\n", indent, strings.TrimSpace(text))
}

// flow returns a value on one line.
func flow(n *syntax.Node) string {
	var parts []string
	switch {
	case n.IsMap():
		for _, e := range n.Entries {
			parts = append(parts, e.Key+": "+flow(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.IsList():
		for _, item := range n.Items {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.Form.Quoted:
		return strconv.Quote(n.Text)
	}
	return n.Text
}
