package format

import (
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
)

// A rewriter turns the spellings of a file into changes of its text.
type rewriter struct {
	*syntax.Source
	durations map[*syntax.Node]string // their canonical spellings
}

func newRewriter(text []byte, s *syntax.Spellings) *rewriter {
	w := &rewriter{syntax.NewSource(text), make(map[*syntax.Node]string, len(s.Durations))}
	for _, d := range s.Durations {
		if d.Node.IsMap() {
			w.durations[d.Node] = duration.Canonical(duration.Format(d.Value))
		} else {
			w.durations[d.Node] = duration.Canonical(d.Node.Text)
		}
	}
	return w
}

// A change rewrites one spelling. It is applied completely or not at all.
type change struct {
	edits   []edit
	removed []removal
}

// A removal is an entry of a map that repeats another one.
type removal struct {
	from *syntax.Node
	key  string
}

// replace adds an edit of text[start:end] to a change.
func (w *rewriter) replace(c *change, start, end int, text string) {
	if string(w.Text[start:end]) != text {
		c.edits = append(c.edits, edit{start, end, text})
	}
}

// with returns the text with changes applied.
func (w *rewriter) with(changes []change) []byte {
	var edits []edit
	cut := cuts{Source: w.Source, removed: map[removal]bool{}}
	for _, change := range changes {
		edits = append(edits, change.edits...)
		for _, r := range change.removed {
			cut.removed[r] = true
		}
	}
	return apply(w.Text, append(edits, cut.all()...))
}

// respelled returns the changes that rewrite keys and values in place.
func (w *rewriter) respelled(s *syntax.Spellings) (changes []change) {
	for _, name := range s.Names {
		changes = append(changes, w.name(name))
	}
	for _, d := range s.Durations {
		changes = append(changes, w.duration(d.Node))
	}
	for _, n := range s.Rates {
		changes = append(changes, w.rate(n))
	}
	return nonempty(changes)
}

// moved returns the changes that move a setting to another key.
func (w *rewriter) moved(s *syntax.Spellings) (changes []change) {
	for _, b := range s.Backoffs {
		changes = append(changes, w.backoff(b))
	}
	for _, j := range s.Jitters {
		changes = append(changes, w.jitter(j))
	}
	return nonempty(changes)
}

func nonempty(changes []change) []change {
	return slices.DeleteFunc(changes, func(c change) bool { return len(c.edits)+len(c.removed) == 0 })
}

// origin returns the map in which an entry of n is written, and the entry there:
// another map than n if << merged the entry.
func origin(n *syntax.Node, e *syntax.Entry) (*syntax.Node, *syntax.Entry) {
	if e.From == nil {
		return n, e
	}
	return e.From, e.From.Get(e.Key)
}

// name rewrites an entry to its canonical key and value. It removes the entry if
// the same map has the canonical key, too.
func (w *rewriter) name(s syntax.Name) (c change) {
	in, e := origin(s.Map, s.Entry)
	if have := s.Map.Get(s.Key); have != nil && s.Key != e.Key {
		if has, _ := origin(s.Map, have); has == in {
			c.removed = append(c.removed, removal{in, e.Key})
			return c
		}
	}
	if start, end, ok := w.Key(e); ok {
		w.replace(&c, start, end, s.Key)
	}
	if s.Word != "" {
		if start, end, ok := w.Word(e.Value); ok {
			w.replace(&c, start, end, s.Word)
		}
	}
	return c
}

// duration rewrites a duration to its canonical spelling.
func (w *rewriter) duration(n *syntax.Node) (c change) {
	if n.IsMap() {
		w.replaceMap(&c, n, w.durations[n])
	} else if start, end, ok := w.Word(n); ok {
		w.replace(&c, start, end, w.durations[n])
	}
	return c
}

// rate rewrites a rate to its canonical spelling.
func (w *rewriter) rate(n *syntax.Node) (c change) {
	if start, end, ok := w.Word(n); ok {
		w.replace(&c, start, end, duration.CanonicalRate(n.Text))
	}
	return c
}

// replaceMap replaces a map by a scalar. It returns false for a map with comments,
// which would be lost, and for one that shares text with other parts.
func (w *rewriter) replaceMap(c *change, n *syntax.Node, text string) bool {
	start, ok := w.Start(n)
	end, ok2 := w.End(n)
	if !ok || !ok2 || len(w.Comments(start, end)) > 0 || sharesText(n) {
		return false
	}
	if !n.Form.Flow {
		if n.Form.Anchor {
			return false
		}
		// The scalar goes on the line of its key, unless a comment is between.
		for start > 0 && syntax.IsBlank(w.Text[start-1]) {
			start--
		}
		if w.Text[max(start-1, 0)] != ':' {
			start, _ = w.Start(n)
		} else {
			text = " " + text
		}
	}
	w.replace(c, start, end, text)
	return true
}

// sharesText reports whether any part of a node is an alias, a merged entry, or has
// an anchor, so that its text is shared with other parts of the file.
func sharesText(n *syntax.Node) bool {
	for _, e := range n.Entries {
		if e.From != nil || e.Value.Form.Alias || e.Value.Form.Anchor || sharesText(e.Value) {
			return true
		}
	}
	return slices.ContainsFunc(n.Items, func(item *syntax.Node) bool {
		return item.Form.Alias || item.Form.Anchor || sharesText(item)
	})
}

// spell returns the canonical spelling of a scalar, a list or a duration.
func (w *rewriter) spell(n *syntax.Node) string {
	if text, ok := w.durations[n]; ok {
		return text
	}
	if !n.IsList() {
		return n.Text
	}
	items := make([]string, len(n.Items))
	for i, item := range n.Items {
		items[i] = w.spell(item)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// jitter rewrites jitter and jitter_factor to one scalar: false, true, a factor or
// a mode. It writes a map only for a mode with a factor.
func (w *rewriter) jitter(s syntax.Jitter) (c change) {
	if s.Entry.Value.Form.Alias {
		return change{}
	}
	in, e := origin(s.Map, s.Entry)
	if f := s.Factor; f != nil {
		if has, _ := origin(s.Map, f); has != in || f.Value.Form.Alias || f.Value.Form.Anchor {
			return change{} // the two keys are not in the same map
		}
	}
	text := jitterText(s.Mode, s.Width)
	if e.Value.IsMap() {
		if strings.HasPrefix(text, "{") && s.Factor == nil || !w.replaceMap(&c, e.Value, text) {
			return change{}
		}
	} else {
		start, end, ok := w.Word(e.Value)
		if !ok {
			return change{}
		}
		if w.Text[start-1] == '"' || w.Text[start-1] == '\'' { // "full" is text, true and {…} are not
			start, end = start-1, end+1
		}
		w.replace(&c, start, end, text)
	}
	if s.Factor != nil {
		c.removed = append(c.removed, removal{in, s.Factor.Key})
	}
	return c
}

func jitterText(mode, width string) string {
	factor, err := strconv.ParseFloat(width, 64)
	switch {
	case mode == "none" || err == nil && factor == 0:
		return "false"
	case width == "" && mode == "proportional":
		return "true"
	case width == "":
		return mode
	case mode == "proportional":
		return width
	}
	return "{mode: " + mode + ", factor: " + width + "}"
}
