package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/policy/duration"
)

// A rewriter turns the spellings of a file into changes of its text.
type rewriter struct {
	*source
	durations map[*node]string // their canonical spellings
}

func newRewriter(text []byte, s *Spellings) *rewriter {
	w := &rewriter{newSource(text), make(map[*node]string, len(s.Durations))}
	for _, d := range s.Durations {
		if d.Node.isMap() {
			w.durations[d.Node] = duration.Canonical(duration.Format(d.Value))
		} else {
			w.durations[d.Node] = duration.Canonical(d.Node.text)
		}
	}
	return w
}

// A change rewrites one spelling. It is made completely or not at all.
type change struct {
	edits   []edit
	removed []removal
}

// A removal is an entry of a map that repeats another one.
type removal struct {
	from *node
	key  string
}

// replace adds an edit of text[start:end] to a change.
func (w *rewriter) replace(c *change, start, end int, text string) {
	if string(w.text[start:end]) != text {
		c.edits = append(c.edits, edit{start, end, text})
	}
}

// with returns the text with changes made.
func (w *rewriter) with(changes []change) []byte {
	var edits []edit
	cut := cuts{source: w.source, removed: map[removal]bool{}}
	for _, change := range changes {
		edits = append(edits, change.edits...)
		for _, r := range change.removed {
			cut.removed[r] = true
		}
	}
	return apply(w.text, append(edits, cut.all()...))
}

// respelled returns the changes of keys and values where they are.
func (w *rewriter) respelled(s *Spellings) (changes []change) {
	for _, name := range s.Names {
		changes = append(changes, w.name(name))
	}
	for _, d := range s.Durations {
		changes = append(changes, w.duration(d.Node))
	}
	return nonempty(changes)
}

// moved returns the changes that move a setting to another key.
func (w *rewriter) moved(s *Spellings) (changes []change) {
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

// home returns the map that contains an entry of n, and the entry there.
func home(n *node, e *entry) (*node, *entry) {
	if e.from == nil {
		return n, e
	}
	return e.from, e.from.get(e.key)
}

// name writes the canonical key and value of an entry, or removes the entry
// where the canonical key is next to it.
func (w *rewriter) name(s Name) (c change) {
	in, e := home(s.Map, s.Entry)
	if have := s.Map.get(s.Key); have != nil && s.Key != e.key {
		if has, _ := home(s.Map, have); has == in {
			c.removed = append(c.removed, removal{in, e.key})
			return c
		}
	}
	if start, end, ok := w.key(e); ok {
		w.replace(&c, start, end, s.Key)
	}
	if s.Word != "" {
		if start, end, ok := w.word(e.value); ok {
			w.replace(&c, start, end, s.Word)
		}
	}
	return c
}

// duration writes a duration canonically.
func (w *rewriter) duration(n *node) (c change) {
	if n.isMap() {
		w.whole(&c, n, w.durations[n])
	} else if start, end, ok := w.word(n); ok {
		w.replace(&c, start, end, w.durations[n])
	}
	return c
}

// whole writes a scalar in place of a map in either style. A map with comments
// is not replaced: they would be lost.
func (w *rewriter) whole(c *change, n *node, text string) bool {
	start, ok := w.start(n)
	end, ok2 := w.end(n)
	if !ok || !ok2 || len(w.comments(start, end)) > 0 || inUse(n) {
		return false
	}
	if !n.form.flow {
		if n.form.anchor {
			return false
		}
		// On the line of its key, unless a comment stands between.
		for start > 0 && isBlank(w.text[start-1]) {
			start--
		}
		if w.text[max(start-1, 0)] != ':' {
			start, _ = w.start(n)
		} else {
			text = " " + text
		}
	}
	w.replace(c, start, end, text)
	return true
}

// inUse reports whether the text of a node has parts that are written elsewhere, or
// that have a name.
func inUse(n *node) bool {
	for _, e := range n.entries {
		if e.from != nil || e.value.form.alias || e.value.form.anchor || inUse(e.value) {
			return true
		}
	}
	return slices.ContainsFunc(n.items, func(item *node) bool { return item.form.alias || item.form.anchor || inUse(item) })
}

// spell returns the canonical spelling of a scalar, a list or a duration.
func (w *rewriter) spell(n *node) string {
	if text, ok := w.durations[n]; ok {
		return text
	}
	if !n.isList() {
		return n.text
	}
	items := make([]string, len(n.items))
	for i, item := range n.items {
		items[i] = w.spell(item)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// jitter writes jitter and jitter_factor as one scalar: false, true, a factor or
// a mode; a map only for a mode with a factor.
func (w *rewriter) jitter(s Jitter) (c change) {
	if s.Entry.value.form.alias {
		return change{}
	}
	in, e := home(s.Map, s.Entry)
	if f := s.Factor; f != nil {
		if has, _ := home(s.Map, f); has != in || f.value.form.alias || f.value.form.anchor {
			return change{} // one of them may stay where the other goes
		}
	}
	text := jitterText(s.Mode, s.Width)
	if e.value.isMap() {
		if strings.HasPrefix(text, "{") && s.Factor == nil || !w.whole(&c, e.value, text) {
			return change{}
		}
	} else {
		start, end, ok := w.word(e.value)
		if !ok {
			return change{}
		}
		if w.text[start-1] == '"' || w.text[start-1] == '\'' { // "full" is text, true and {…} are not
			start, end = start-1, end+1
		}
		w.replace(&c, start, end, text)
	}
	if s.Factor != nil {
		c.removed = append(c.removed, removal{in, s.Factor.key})
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
